"""Runner of pyrevm: one `EVM` whose journal stays open between calls.

A message call keeps its writes in the journal, so writing calls are undone with pyrevm's snapshot and revert. Warm
slots stay warm, and its gas figures fall after the first call.
"""

from __future__ import annotations

from pyrevm import EVM, AccountInfo, BlockEnv, CfgEnv, Env  # type: ignore[import-not-found]

from benchmarks.peer.conversation import Answer, Call, Repeat, World, converse, creation_code

DEPLOYER = "0x" + "de" * 20
LARGEST_CODE = 1 << 20


def prepare(world: World) -> Repeat:
    """Return an `EVM` with the world's state."""
    block = BlockEnv(number=world.number, timestamp=world.timestamp, basefee=0)
    # "Shanghai", not "SHANGHAI": a name it does not know silently becomes the newest hard fork.
    evm = EVM(Env(cfg=CfgEnv(limit_contract_code_size=LARGEST_CODE), block=block), gas_limit=2**63, spec_id="Shanghai")
    analysed = {code: evm.basic(evm.deploy(DEPLOYER, creation_code(code))) for code in world.codes()}
    for address, account in world.accounts.items():
        name = "0x" + address.hex()
        evm.insert_account_info(name, analysed[account.code] if account.code else AccountInfo(nonce=account.nonce))
        for slot, value in account.slots.items():
            evm.insert_account_storage(name, slot, value)
        if account.balance:
            evm.set_balance(name, account.balance)

    def repeat(call: Call, count: int) -> Answer:
        sender, to, data = "0x" + call.sender.hex(), "0x" + call.to.hex(), call.data
        output, gas = b"", 0
        for _ in range(count):
            if call.writes:
                before = evm.snapshot()
                output = evm.message_call(sender, to, data)
                gas = evm.result.gas_used
                evm.revert(before)
            else:
                output = evm.message_call(sender, to, data)
        return output, gas or evm.result.gas_used

    return repeat


if __name__ == "__main__":
    converse(prepare)

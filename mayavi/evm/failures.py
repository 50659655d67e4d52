"""Convert kernel failures to errors with the failed call, the decoded reason and a hint."""

from __future__ import annotations

from typing import Any

from mayavi import _kernel
from mayavi.errors import CallHalted, CallReverted, ExecutionError, MissingStateError, TransactionInvalid
from mayavi.evm.abi.reverts import decode_revert
from mayavi.evm.address import checksum
from mayavi.evm.receipt import Receipt

Missing = tuple[str, bytes, int]
"""Missing state: kind (`account`, `slot`, `code` or `block_hash`), address, slot or block number."""


_LATER_RULES = 'name a later one where you open the fork, such as `Fork.replica(hardfork="cancun")`'
_HALT_HINTS = {
    "OutOfFunds": 'the sender lacks native coins: `fork.deal("ETH", sender, amount)` gives some',
    "NotActivated": f"the code uses an opcode of a later hard fork: {_LATER_RULES}",
    "OpcodeNotFound": f"the code uses an opcode that this hard fork does not have: {_LATER_RULES}",
    "OutOfGas": "give it more with gas=…",
    "CreateCollision": "there is a contract at that address already",
}

_INVALID_HINTS = {
    "more than 2**128 - 1 wei": "give it less gas or a lower gas price: gas=…, gas_price=…",
    "exceed 2**256 - 1 wei": "send less value, or lower the gas price",
}


def _halted(reason: str, gas_used: int) -> CallHalted:
    hint = next((hint for name, hint in _HALT_HINTS.items() if reason.startswith(name)), None)
    return CallHalted(f"halted: {reason}", hint, gas_used=gas_used)


def explained(error: _kernel.Reverted | _kernel.Halted) -> ExecutionError:
    """Error for a call that reverted or halted, with the decoded reason."""
    _, detail, gas_used = error.args
    if isinstance(error, _kernel.Halted):
        return _halted(detail, gas_used)
    return _reverted(detail, gas_used)


def _reverted(output: bytes, gas_used: int) -> CallReverted:
    reason = decode_revert(output)
    hint = reason.hint or (None if output else "`fork.trace(…).render(fork.name)` shows where it failed")
    return CallReverted(f"reverted: {reason}", hint, reason=reason, output=output, gas_used=gas_used)


def failure(receipt: Receipt, what: str, data: bytes) -> ExecutionError:
    """Error for a failed transaction."""
    if receipt.reason == "revert":
        error: ExecutionError = _reverted(receipt.output, receipt.gas_used)
    else:
        error = _halted(receipt.reason, receipt.gas_used)
    return located(error, what, data)


def located(error: ExecutionError, what: str, data: bytes) -> ExecutionError:
    """Prefix `error` with the call it happened in."""
    where = f"{what} ({data[:4].hex()}…)" if len(data) >= 4 else what
    error.message = f"{where} {error.message}"
    error.args = (error.message,)
    return error


def invalid_transaction(reason: str) -> TransactionInvalid:
    """Error for a transaction that the kernel refuses to execute."""
    hint = next((hint for part, hint in _INVALID_HINTS.items() if part in reason), None)
    return TransactionInvalid(f"invalid transaction: {reason}", hint)


def unproven_state(message: str) -> MissingStateError:
    """Error for state that a witness does not prove; `message` names it and the trie node or code that is missing."""
    return MissingStateError(message, "the witness proves only what its block reads; use a node for other state")


def missing_state(item: Missing, source: dict[str, Any]) -> MissingStateError:
    """Error for state that cannot be fetched; names the account, slot or block."""
    kind, address, key = item
    world = {"snapshot": "this snapshot", "rpc": "this snapshot"}.get(str(source.get("kind")), "this world")
    what = {
        "account": lambda: f"state of account {checksum(address)}",
        "slot": lambda: f"state of {checksum(address)} slot {key:#x}",
        "block_hash": lambda: f"hash of block {key}",
        "code": lambda: f"code of account {checksum(address)}",
    }[kind]()
    return MissingStateError(
        f"{what} is not in {world}",
        "the run left the path that was read before; open the fork with its RPC, walk that path, and dump it again",
    )

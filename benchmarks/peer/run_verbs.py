"""Runner of verbs: `EmptyEnvRandom` over a snapshot, and its `call`, which discards writes.

Only the extension is loaded. The package around it imports pandas, a Solidity installer and more, none of which a call
uses.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sysconfig
from pathlib import Path
from typing import Any

from benchmarks.peer.conversation import Answer, Call, Repeat, World, converse, creation_code

DEPLOYER = b"\xde" * 20
STORAGE_CLEARED = 2
"""Status in verbs of an account whose absent slots are zero."""


def load_extension() -> Any:
    """Load the module `verbs.envs` without its package."""
    folder = Path(sysconfig.get_paths()["platlib"]) / "verbs"
    (path,) = [path for suffix in importlib.machinery.EXTENSION_SUFFIXES for path in folder.glob(f"envs{suffix}")]
    spec = importlib.util.spec_from_file_location("verbs.envs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def word(value: int) -> bytes:
    return value.to_bytes(32, "little")


def prepare(world: World) -> Repeat:
    """Return an environment with the world's state."""
    block = (
        word(world.number),
        bytes(20),
        word(world.timestamp),
        word(2**256 - 1),  # its transactions ask for all the gas there is
        word(0),
        word(0),
        bytes(32),
        (0, 1),
    )
    accounts = [
        (
            address,
            (
                (word(account.balance), account.nonce, account.code_hash, None),
                STORAGE_CLEARED,
                [(word(slot), word(value)) for slot, value in account.slots.items()],
            ),
        )
        for address, account in world.accounts.items()
    ]
    env = load_extension().EmptyEnvRandom(1, snapshot=(block, accounts, [], [], []))
    # The accounts name their code by hash alone: created here once, it is in the environment as analysed code.
    for code in world.codes():
        env.deploy_contract(DEPLOYER, "code", creation_code(code))

    def repeat(call: Call, count: int) -> Answer:
        sender, to, data = call.sender, call.to, call.data
        output, gas = b"", 0
        for _ in range(count):
            output, _, gas = env.call(sender, to, data, 0)
        return output, gas

    return repeat


if __name__ == "__main__":
    converse(prepare)

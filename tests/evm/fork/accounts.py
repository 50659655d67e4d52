"""Two accounts, and contracts of the first."""

from __future__ import annotations

from mayavi.evm.fork import Fork
from tests.evm.bytecode import (
    initcode,
)

ALICE = b"\xa1" * 20
BOB = b"\xb0" * 20


def deployed(fork: Fork, runtime: bytes) -> bytes:
    return fork.deploy(initcode(runtime), sender=ALICE)

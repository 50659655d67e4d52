"""Compare a batch of views with single calls: contracts, hostile calldata, and the comparison."""

from __future__ import annotations

import random
from collections.abc import Sequence

from mayavi import Fork
from mayavi.errors import ExecutionError
from tests.evm.bytecode import word

CONTRACT = bytes.fromhex("c0de000000000000000000000000000000000001")
LIBRARY = bytes.fromhex("c0de000000000000000000000000000000000002")
OTHER = bytes.fromhex("c0de000000000000000000000000000000000003")
SENDER = bytes.fromhex("5e0de20000000000000000000000000000000001")
X, Y, Z = "0 CALLDATALOAD", "32 CALLDATALOAD", "64 CALLDATALOAD"
TOP = 2**256 - 1
HOSTILE = [0, 1, 2, 3, 7, 8, 31, 32, 33, 64, 127, 128, 255, 256, 257, 2**64 - 1, 2**64, 2**128 - 1, 2**128, 2**160 - 1,
           2**160, 2**255 - 1, 2**255, 2**255 + 1, TOP - 256, TOP - 31, TOP - 1, TOP]  # fmt: skip
CALLS = 240


def values(count: int, seed: int = 1) -> list[int]:
    """Words of every size, the awkward ones among them."""
    rng = random.Random(seed)
    return [rng.choice(HOSTILE) if rng.random() < 0.5 else rng.getrandbits(rng.randrange(1, 257)) for _ in range(count)]


def calldata(words: int, calls: int = CALLS, seed: int = 1) -> list[bytes]:
    numbers = values(words * calls, seed)
    return [b"".join(map(word, numbers[at : at + words])) for at in range(0, len(numbers), words)]


def one_by_one(fork: Fork, datas: Sequence[bytes], sender: bytes | None, gas: int | None = None) -> list[bytes | None]:
    outputs: list[bytes | None] = []
    for data in datas:
        try:
            outputs.append(fork.call(CONTRACT, data, sender, gas=gas))
        except ExecutionError:
            outputs.append(None)
    return outputs


def same(fork: Fork, datas: Sequence[bytes], sender: bytes | None = None, gas: int | None = None) -> dict[str, int]:
    """Compare a batch with single calls, in every mode, on one thread and on three; how one thread did it alone."""
    expected = one_by_one(fork, datas, sender, gas)
    for mode in ("on", "check", "off"):
        fork.specialise = mode
        for threads in (1, 3):
            assert fork.call_many(CONTRACT, datas, sender, gas=gas, check=False, threads=threads) == expected
    effort = fork._evm.call_many(CONTRACT, list(datas), sender, gas, 1, True)[2]
    assert effort["replayed"] + effort["interpreted"] == len(datas)
    return effort


def fork_with(code: bytes, hardfork: str = "cancun") -> Fork:
    fork = Fork.empty(hardfork=hardfork)
    fork.set_code(CONTRACT, code)
    return fork


BINARY = [
    *("ADD", "MUL", "SUB", "DIV", "SDIV", "MOD", "SMOD", "EXP", "SIGNEXTEND", "LT", "GT", "SLT", "SGT", "EQ"),
    *("AND", "OR", "XOR", "BYTE", "SHL", "SHR", "SAR"),
]

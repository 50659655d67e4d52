"""Protocol between a peer's runner and the benchmark: one JSON object per line.

The world is passed as a file. Each line requests `count` calls of one name; the answer holds the seconds, the output of
the last call and the gas reported by the peer. Requests alternate, so peer and Mayavi run under the same conditions.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Account:
    """One account of the world."""

    balance: int
    nonce: int
    code: bytes
    code_hash: bytes
    slots: dict[int, int]


@dataclass(frozen=True)
class Call:
    """Call to time. A call that `writes` must leave no trace."""

    to: bytes
    data: bytes
    sender: bytes
    writes: bool


@dataclass(frozen=True)
class World:
    """State and calls given to a peer."""

    number: int
    timestamp: int
    accounts: dict[bytes, Account]
    calls: dict[str, Call]

    def codes(self) -> list[bytes]:
        """Return every distinct non-empty code."""
        return sorted({account.code for account in self.accounts.values() if account.code})


Answer = tuple[bytes, int]
"""Output of a call and the gas reported by the peer."""

Repeat = Callable[[Call, int], Answer]
"""Function that repeats a call, undoing its writes, and returns the last answer."""


def read_world(path: Path) -> World:
    """Read the world written by the benchmark."""
    report = json.loads(path.read_text(encoding="utf-8"))
    accounts = {
        bytes.fromhex(address): Account(
            int(account["balance"], 16),
            account["nonce"],
            bytes.fromhex(account["code"]),
            bytes.fromhex(account["code_hash"]),
            {int(slot, 16): int(value, 16) for slot, value in account["slots"].items()},
        )
        for address, account in report["accounts"].items()
    }
    calls = {
        name: Call(bytes.fromhex(c["to"]), bytes.fromhex(c["data"]), bytes.fromhex(c["sender"]), c["writes"])
        for name, c in report["calls"].items()
    }
    return World(report["number"], report["timestamp"], accounts, calls)


def creation_code(code: bytes) -> bytes:
    """Return init code that deploys exactly `code`; a peer analyses jump destinations on creation.

    revm 8 treats code written directly into its state as unanalysed and analyses it again in every frame: two to three
    times slower. Created once and then placed by its hash, it runs as after a real deployment.
    """
    # PUSH3 size, PUSH1 16, PUSH1 0, CODECOPY, PUSH3 size, PUSH1 0, RETURN: 16 bytes, then the code.
    size = len(code).to_bytes(3, "big")
    return b"\x62" + size + b"\x60\x10\x60\x00\x39\x62" + size + b"\x60\x00\xf3" + code


def converse(prepare: Callable[[World], Repeat]) -> None:
    """Prepare the world named on the command line, then answer requests until end of input."""
    world = read_world(Path(sys.argv[1]))
    repeat = prepare(world)
    say({"ready": True})
    for line in sys.stdin:
        asked = json.loads(line)
        call, count = world.calls[asked["call"]], asked["count"]
        began = time.perf_counter()
        output, gas = repeat(call, count)
        say({"seconds": time.perf_counter() - began, "output": output.hex(), "gas": gas})


def say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()

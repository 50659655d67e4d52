"""Random worlds: contracts that call one another, accounts that end, and storage where accounts begin."""

from __future__ import annotations

import random

from benchmarks.fuzz.bytecode import SELECTOR, THEMES, Rules, Writer
from benchmarks.fuzz.playing import Account, Case, open_world
from benchmarks.fuzz.words import LARGEST, SCALES, pool
from mayavi._kernel import create2_address, hardforks
from mayavi.errors import CallHalted, ExecutionError
from mayavi.evm.hashing import create_address, keccak256
from mayavi.evm.state import is_before

SENDERS = [bytes([first]) * 20 for first in (0xA1, 0xB2, 0xC3)]
TARGET, LIBRARY, OTHER, DOOMED, MAKER = (bytes([first]) * 20 for first in (0x41, 0x42, 0x43, 0x44, 0x45))
EMPTY, BENEFICIARY = b"\x77" * 20, b"\x99" * 20
CREATED = create2_address(MAKER, bytes(32), keccak256(b""))
"""Where `MAKER` creates an account without code."""
NEXT = create_address(MAKER, 1)
KNOWN = [TARGET, LIBRARY, OTHER, DOOMED, MAKER, CREATED]
END = 77
"""First word of calldata at which `DOOMED` ends and `MAKER` creates."""

MORTAL = [DOOMED, DOOMED, CREATED, CREATED, NEXT, TARGET]
"""Accounts that end or begin, and one that does not."""
SAMPLE = [TARGET] * 6 + [OTHER] * 3
"""Contracts that are called to see whether they halt."""
TRIES = 5
NEWEST = ["osaka", "prague", "cancun", "shanghai"]
REPLAYED = [*NEWEST, "paris", "london"]
OTHERS = [name for name in hardforks() if name not in REPLAYED]
"""Hard forks under which nothing is replayed but batches of reads."""


def draw_rules(rng: random.Random, preferred: list[str], compiled_for: str | None = None) -> Rules:
    """Draw a hard fork, mostly one whose calls are replayed, and a theme, at times a preferred one.

    Code of compilers has three words of calldata, and is for one hard fork and those after it.
    """
    theme = rng.choice(
        [*THEMES, "refunds", "life", "deep", "inactive", "nested", "arithmetic", "arithmetic", *preferred]
    )
    drawn = rng.random()
    if theme == "inactive":
        hardfork = rng.choice(REPLAYED[1:] if drawn < 0.85 else OTHERS)
    elif theme == "transient" and drawn < 0.9:
        hardfork = rng.choice(NEWEST[:3])
    elif theme == "refunds" and drawn < 0.6:
        hardfork = rng.choice(NEWEST[:2])
    elif drawn < 0.95:
        hardfork = rng.choice([*NEWEST, *REPLAYED])
    else:
        hardfork = rng.choice(OTHERS)
    if compiled_for is not None:
        hardfork = rng.choice([name for name in REPLAYED if not is_before(name, compiled_for)])
    words = rng.choice([1, 1, 2, 3, 10]) if theme == "refunds" else rng.choice([2, 3, 3, 4])
    words = words if compiled_for is None else 3
    scale = rng.choice(SCALES)
    drawn_words = pool(rng, rng.choice([2, 3, 4, 6, 12, 40]), scale)
    if theme == "refunds":  # costly calldata
        drawn_words[0] = LARGEST
    return Rules(
        hardfork, theme, words, tuple(drawn_words), scale, terse=rng.random() < (0.6 if theme == "refunds" else 0.3)
    )


def draw_accounts(rng: random.Random, rules: Rules) -> dict[bytes, Account]:
    """Draw the accounts of a world. Contracts that mostly halt, which is never replayed, are drawn again."""
    for _ in range(TRIES):
        accounts = any_accounts(rng, rules)
        if halts(rng, rules, accounts) <= len(SAMPLE) / 3:
            break
    return accounts


def halts(rng: random.Random, rules: Rules, accounts: dict[bytes, Account]) -> int:
    """Count how many of a few calls halt."""
    fork, found = open_world(Case(rules.hardfork, accounts, [])), 0
    fork.specialise = "off"
    for to in SAMPLE:
        words = rng.choices(rules.pool, k=rules.words)
        try:
            fork.call(to, SELECTOR + b"".join(word.to_bytes(32, "big") for word in words), SENDERS[0], gas=300_000)
        except CallHalted:
            found += 1
        except ExecutionError:
            pass
    return found


def any_accounts(rng: random.Random, rules: Rules) -> dict[bytes, Account]:
    """Draw the accounts of a world, whatever they do."""

    def contract(calls: list[bytes], size: int, theme: str = rules.theme) -> str:
        return Writer(rng, rules, theme, calls, size=size).contract()

    def storage(slots: range) -> dict[int, int]:
        return {slot: rng.choice([1, 2, 5, 77, 2**255 + 1]) for slot in slots if rng.random() < 0.6}

    size, library = rng.choice([6, 15, 30, 60]), rules.theme if rules.theme in ("refunds", "transient") else "mixed"
    calls = [LIBRARY, LIBRARY, OTHER, OTHER, DOOMED, MAKER, EMPTY]
    also = calls if rules.theme == "life" else calls[:4]
    accounts = {
        TARGET: Account(contract(also, size), storage=storage(range(8))),
        LIBRARY: Account(contract([OTHER], size // 2, library), storage=storage(range(8))),
        OTHER: Account(contract([], size // 2), storage=storage(range(8))),
        DOOMED: Account(ending(rng, contract([], 5, "mixed")), storage=storage(range(9))),
        MAKER: Account(making(rng, contract([], 5, "mixed")), storage=storage(range(3))),
        CREATED: Account(storage={slot: 70 + slot for slot in range(4, 8)}),
    }
    if rng.random() < 0.5:
        accounts[NEXT] = Account(storage={5: 75})
    for sender in SENDERS[: rng.randrange(4)]:
        accounts[sender] = Account(balance=10**18)
    if rng.random() < 0.1:
        accounts[TARGET].balance = 5
    return accounts


def at_the_end(do: str, otherwise: str) -> str:
    """Code that does something if its first word is `END`."""
    return f"{len(SELECTOR)} CALLDATALOAD {END} EQ @end JUMPI {otherwise} :end {do}"


def ending(rng: random.Random, otherwise: str) -> str:
    """Code of an account that ends if its first word says so."""
    heir = rng.choice([SENDERS[0], EMPTY, DOOMED])
    return at_the_end(f"0x{heir.hex()} SELFDESTRUCT", otherwise)


def making(rng: random.Random, otherwise: str) -> str:
    """Code of an account that creates others if its first word says so."""
    how = rng.choice(["0 0 0 0 CREATE2", "0 0 0 CREATE", "0 0 0 0 CREATE2 0 0 0 CREATE ADD"])
    return at_the_end(f"{how} 0 MSTORE 32 0 RETURN", otherwise)


def draw_block(rng: random.Random) -> dict[str, object]:
    """Draw the fields of a block."""
    fields: dict[str, object] = {"coinbase": BENEFICIARY}
    if rng.random() < 0.3:
        fields["base_fee"] = rng.choice([0, 7, 10**9])
    if rng.random() < 0.2:
        fields["number"] = rng.choice([1, 255, 256, 2**40])
    return fields

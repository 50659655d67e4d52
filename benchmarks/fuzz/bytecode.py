"""Random contracts as assembly.

A contract is a list of statements that leave the stack as it was. Each theme prefers some kinds of statements, so that
what is rare in one contract is frequent in another.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.fuzz.assembly import OPCODES, assemble
from benchmarks.fuzz.words import LARGEST, SCALES, small
from benchmarks.fuzz.words import constant as any_constant
from mayavi.evm.hashing import keccak256
from mayavi.evm.state import is_before

PURE_TWO = [
    *("ADD", "MUL", "SUB", "DIV", "SDIV", "MOD", "SMOD", "SIGNEXTEND", "LT", "GT", "SLT", "SGT", "EQ"),
    *("AND", "OR", "XOR", "BYTE", "SHL", "SHR", "SAR"),
]
PURE_ONE = ["ISZERO", "NOT", "CLZ"]
SURROUNDINGS = [
    *("TIMESTAMP", "TIMESTAMP", "NUMBER", "BASEFEE", "CHAINID", "SELFBALANCE", "CALLER", "ORIGIN", "ADDRESS"),
    *("CALLVALUE", "CALLDATASIZE", "CODESIZE", "RETURNDATASIZE", "MSIZE", "PC", "COINBASE", "PREVRANDAO"),
    *("GASLIMIT", "BLOBBASEFEE"),
]
SINCE = {
    "DELEGATECALL": "homestead",
    **dict.fromkeys(["RETURNDATASIZE", "RETURNDATACOPY", "STATICCALL", "REVERT"], "byzantium"),
    **dict.fromkeys(["SHL", "SHR", "SAR", "EXTCODEHASH", "CREATE2"], "petersburg"),
    **dict.fromkeys(["CHAINID", "SELFBALANCE"], "istanbul"),
    "BASEFEE": "london",
    "PUSH0": "shanghai",
    **dict.fromkeys(["TLOAD", "TSTORE", "MCOPY", "BLOBHASH", "BLOBBASEFEE"], "cancun"),
    "CLZ": "osaka",
}
"""Hard fork from which on an opcode is active; the others always are."""
UNDEFINED = [code for code in range(256) if code not in OPCODES.values() and not 0x5F < code < 0x80]
ACTIVE_LATER = [0x1E, 0x48, 0x49, 0x4A, 0x5C, 0x5D, 0x5E, 0x5F, 0xE6, 0xE7, 0xE8]

USUAL = {
    "store": 14, "expression": 4, "transient": 3, "memory": 9, "copy": 4, "log": 4, "branch": 10, "loop": 3, "call": 9,
    "leave": 4, "life": 0.3, "diamond": 6, "refund": 3, "mapping": 5, "precompile": 2, "inactive": 0.6, "exponent": 1.5,
    "unusual": 0.15,
}  # fmt: skip
"""How often each kind of statement is drawn."""
THEMES: dict[str, dict[str, float]] = {
    "mixed": {},
    "arithmetic": {"expression": 60, "store": 40, "diamond": 10, "exponent": 8, "call": 1},
    "diamonds": {"diamond": 120},
    "deep": {"diamond": 90, "store": 20},
    "inactive": {"diamond": 60, "inactive": 6},
    "refunds": {"refund": 60, "store": 4, "call": 3, "branch": 3, "expression": 12, "diamond": 3},
    "nested": {"call": 60},
    "life": {"life": 20, "call": 30},
    "memory": {"memory": 50, "copy": 40},
    "mappings": {"mapping": 60, "store": 20},
    "loops": {"loop": 30},
    "logs": {"log": 40},
    "transient": {"transient": 50, "call": 20},
    "precompiles": {"precompile": 40},
    "exponents": {"exponent": 40},
    "surroundings": {"unusual": 10, "expression": 30},
}
SELECTOR = keccak256(b"act(uint256,uint256,uint256)")[:4]
"""What every calldata begins with: the function of contracts in a language."""
INITCODES = ["1 0 SSTORE 32 0 RETURN", "PUSH0 PUSH0 REVERT", "2 5 SSTORE ADDRESS 0 MSTORE 32 0 RETURN", "INVALID"]
SIDE = 12
"""Most steps of one side of a diamond."""
ODD = {"PUSH0": "PUSH0", "CLZ": "9 CLZ", "SHL": "9 1 SHL", "SHR": "9 1 SHR", "SAR": "9 1 SAR"}
"""Computations of one word whose opcodes older hard forks do not know."""


@dataclass(frozen=True)
class Rules:
    """What the contracts and programs of a case have in common."""

    hardfork: str
    theme: str
    words: int
    """Words of calldata behind the selector."""
    pool: tuple[int, ...]
    """Words that calldata has."""
    scale: int
    """Constant that some words are multiples of."""
    terse: bool = False
    """Whether contracts and programs do one or two things only, so that nothing hides what these do."""

    def constant(self, rng: random.Random) -> int:
        """Draw a constant, at times one that calldata has."""
        return rng.choice(self.pool) if rng.random() < 0.25 else any_constant(rng)


class Writer:
    """Writes one random contract."""

    def __init__(self, rng: random.Random, rules: Rules, theme: str, calls: list[bytes], *, size: int) -> None:
        self.rng, self.rules, self.theme, self.calls = rng, rules, theme, calls
        self.offset, self.words, self.budget = len(SELECTOR), rules.words, size
        self.text: list[str] = []
        self.labels = 0
        self.filled = 0
        weights = USUAL | THEMES[theme]
        self.kinds, self.weights = list(weights), list(weights.values())
        self.pure_two = [name for name in PURE_TWO if self.is_active(name)]
        self.pure_one = [name for name in PURE_ONE if self.is_active(name)]
        self.surroundings = [name for name in SURROUNDINGS if self.is_active(name)]
        self.odd = [name for name in ODD if not self.is_active(name)] or ["PC"]

    def is_active(self, opcode: str) -> bool:
        """Whether the hard fork knows an opcode."""
        return opcode not in SINCE or not is_before(self.rules.hardfork, SINCE[opcode])

    def contract(self) -> str:
        """Write the whole contract."""
        rng = self.rng
        if self.theme == "deep" or rng.random() < 0.04:
            self.filled = 1_024 - rng.randrange(14) if rng.random() < 0.8 else rng.randrange(1_024)
            self.put(f"PC*{self.filled}")
        for _ in range(rng.randrange(1, 3 if self.rules.terse else 8)):
            self.statement(3)
        if rng.random() < 0.85:
            self.put(rng.choice([32, 32, 64, 96, 97]), rng.choice([0, 0, 0, 5]), "RETURN")
        else:
            self.put("STOP")
        return " ".join(self.text)

    def put(self, *words: object) -> None:
        """Append words of assembly; addresses are pushed whole."""
        self.text += [f"0x{word.hex()}" if isinstance(word, bytes) else str(word) for word in words]

    def constant(self) -> int:
        """Draw a constant."""
        return self.rules.constant(self.rng)

    def label(self) -> str:
        """Return a fresh name of a destination."""
        self.labels += 1
        return f"l{self.labels}"

    def statement(self, depth: int) -> None:
        """Write a statement."""
        self.budget -= 1
        simple = "refund" if self.theme == "refunds" else "store"
        kind = self.rng.choices(self.kinds, self.weights)[0] if self.budget > 0 and depth > 0 else simple
        getattr(self, kind)(depth)

    # -- expressions: one word more on the stack ----------------------------------------------------------------------

    def word(self) -> None:
        """A word of calldata, seldom one that lies across two."""
        at = self.offset + 32 * self.rng.randrange(self.words)
        self.put(at if self.rng.random() < 0.93 else self.rng.randrange(self.offset + 32 * self.words), "CALLDATALOAD")

    def masked(self) -> None:
        """A few bits of a word of calldata."""
        self.word()
        self.put(self.rng.choice([1, 1, 3, 7]), "AND")

    def value(self, depth: int) -> None:
        """An expression."""
        rng = self.rng
        self.budget -= 1
        if depth <= 0 or self.budget < 0:
            self.leaf()
            return
        drawn = rng.random()
        if drawn < 0.2:
            self.leaf()
        elif drawn < (0.4 if self.theme == "arithmetic" else 0.48):
            self.value(depth - 1)
            self.value(depth - 1)
            self.put(rng.choice(self.pure_two))
        elif drawn < 0.55:
            self.scaled(depth - 1)
        elif drawn < 0.62:
            for _ in range(3):
                self.value(depth - 1)
            self.put(rng.choice(["ADDMOD", "MULMOD"]))
        elif drawn < 0.68:
            self.value(depth - 1)
            self.put(rng.choice(self.pure_one))
        elif drawn < 0.78:
            self.key(depth - 1)
            self.put("SLOAD")
        elif drawn < 0.80 and self.is_active("TLOAD"):
            self.put(rng.randrange(3), "TLOAD")
        elif drawn < 0.86:
            self.put(rng.randrange(0x90), "MLOAD")
        elif drawn < 0.89:
            self.put(rng.choice([0, 1, 5, 31, 32, 33, 64, 65, 96]), rng.randrange(70), "KECCAK256")
        elif drawn < 0.95:
            self.put(rng.choice(self.surroundings))
        elif drawn < 0.98:
            self.account()
            field = rng.choice(["BALANCE", "BALANCE", "EXTCODESIZE", "EXTCODEHASH"])
            self.put(field if self.is_active(field) else "BALANCE")
        else:
            self.value(depth - 1)
            self.diamond(depth - 1)

    def scaled(self, depth: int) -> None:
        """Multiply by a constant and divide by one, as amounts are scaled."""
        rng, by = self.rng, self.rules.scale
        self.put(by if rng.random() < 0.8 else rng.choice(SCALES))
        if rng.random() < 0.3:
            self.word()
        else:
            # So that the product has a certain width, often one of four limbs.
            most = 256 - by.bit_length()
            bits = rng.randrange(max(2, most - 62), most) if rng.random() < 0.6 else rng.randrange(2, most)
            self.value(depth)
            self.put(2**bits - 1, "AND", 2 ** (bits - 1), "OR", by if rng.random() < 0.8 else rng.choice(SCALES), "MUL")
        self.put(rng.choice(["DIV", "DIV", "DIV", "MOD", "SDIV"]))

    def leaf(self) -> None:
        """A word of calldata, a constant or memory."""
        drawn = self.rng.random()
        if drawn < 0.55:
            self.word()
        elif drawn < 0.92:
            self.put(self.constant())
        else:
            self.put(self.rng.randrange(0x60), "MLOAD")

    def key(self, depth: int) -> None:
        """A storage key: a constant, a few bits of a word, of a mapping, of another slot, or anything."""
        rng, drawn = self.rng, self.rng.random()
        if drawn < 0.45:
            self.put(rng.randrange(8))
        elif drawn < 0.65:
            self.masked()
        elif drawn < 0.85:
            self.hashed_key()
        elif drawn < 0.95:
            self.put(rng.randrange(8), "SLOAD", rng.choice([3, 7]), "AND")
        else:
            self.value(depth - 1)

    def hashed_key(self) -> None:
        """A key of a mapping, or of a mapping of mappings."""
        rng = self.rng
        self.put(rng.randrange(2))
        for _ in range(rng.choice([1, 1, 2])):
            self.put(0x220, "MSTORE")
            if rng.random() < 0.6:
                self.masked()
            else:
                self.put(rng.choice(["CALLER", "ADDRESS", 1, 2]))
            self.put(0x200, "MSTORE", 64, 0x200, "KECCAK256")
        if rng.random() < 0.3:
            self.put(rng.randrange(3), "ADD")

    def account(self) -> None:
        """An address."""
        rng = self.rng
        self.put(rng.choice([*self.calls, b"\xa1" * 20, b"\x77" * 20, b"\x99" * 20, b"\0" * 19 + b"\1"]))
        if rng.random() < 0.15:
            self.masked()
            self.put("ADD")

    def choice(self) -> None:
        """A condition of a diamond: bits of a word, or whether it is a certain one, or is not."""
        drawn = self.rng.random()
        if drawn < 0.5:
            self.masked()
        elif drawn < 0.85:
            self.word()
            self.put(self.constant(), "EQ", *["ISZERO"] * self.rng.randrange(2))
        else:
            self.condition(0)

    def condition(self, depth: int) -> None:
        """A condition of a branch."""
        rng, drawn = self.rng, self.rng.random()
        if drawn < 0.4:
            self.masked()
        elif drawn < 0.75:
            self.put(self.constant())
            self.word()
            self.put(rng.choice(["LT", "GT", "SLT", "SGT", "EQ"]))
        else:
            self.value(min(depth, 2))

    # -- statements ---------------------------------------------------------------------------------------------------

    def store(self, depth: int) -> None:
        """Write a slot."""
        self.value(min(depth, 3))
        self.written_key()
        self.put("SSTORE")

    def written_key(self) -> None:
        """A key that may be written: slots 5, 6 and 7 are only read, but for a few."""
        drawn = self.rng.random()
        if drawn < 0.55:
            self.put(self.rng.randrange(5))
        elif drawn < 0.7:
            self.word()
            self.put(3, "AND")
        elif drawn < 0.95:
            self.hashed_key()
        else:
            self.key(1)

    def expression(self, depth: int) -> None:
        """Compute something and keep it in memory."""
        self.value(depth + 1)
        self.put(self.rng.randrange(0x60), "MSTORE")

    def exponent(self, depth: int) -> None:
        """Raise something to a power, whose gas varies with its bytes."""
        if self.rng.random() < 0.7:
            self.word()
        else:
            self.put(self.constant())
        self.value(1)
        self.put("EXP", self.rng.randrange(0x60), "MSTORE")

    def refund(self, depth: int) -> None:
        """Set and clear slots with few values, so that original, present and new ones combine."""
        rng = self.rng
        varying = rng.choice([0.0, 0.0, 0.5, 0.8])
        for _ in range(rng.randrange(1, 4)):
            if rng.random() > varying:
                self.put(rng.choice([0, 0, 1, 5]))
            else:
                self.word()
                self.put(rng.choice([1, 3]), "AND")
            self.put(rng.randrange(2), "SSTORE")

    def mapping(self, depth: int) -> None:
        """Add to an entry of a mapping."""
        self.hashed_key()
        self.put("DUP1", "SLOAD")
        self.value(1)
        self.put(self.rng.choice(["ADD", "SUB", "XOR"]), "SWAP1", "SSTORE")

    def transient(self, depth: int) -> None:
        """Read transient storage and write it."""
        if not self.is_active("TSTORE"):
            self.store(depth)
            return
        if self.rng.random() < 0.8:  # as another transaction, or frame, may have left it
            self.loaded()
        self.value(1)
        self.transient_key()
        self.put("TSTORE")
        if self.rng.random() < 0.4:
            self.loaded()

    def loaded(self) -> None:
        """Keep a word of transient storage where it shows."""
        self.transient_key()
        self.put("TLOAD", *self.rng.choice([(0, "MSTORE"), (32, "MSTORE"), (4, "SSTORE")]))

    def transient_key(self) -> None:
        """A key of transient storage."""
        if self.rng.random() < 0.8:
            self.put(self.rng.choice([0, 0, 1]))
        else:
            self.masked()

    def memory(self, depth: int) -> None:
        """Write memory, at times where calldata says and far away."""
        self.value(min(depth, 2))
        self.place()
        self.put(self.rng.choice(["MSTORE", "MSTORE", "MSTORE8"]))

    def place(self) -> None:
        """An offset in memory."""
        rng, drawn = self.rng, self.rng.random()
        if drawn < 0.75:
            self.put(rng.randrange(0x80))
        elif drawn < 0.9:
            self.masked()
            self.put(rng.choice([1, 5, 32, 64, 500]), "MUL")
        else:
            self.put(rng.choice([0x80, 0xFF, 0x400, 0x1000, 0x5001]))

    def copy(self, depth: int) -> None:
        """Copy bytes into or within memory."""
        rng = self.rng
        length = rng.choice([0, 1, 31, 32, 33, 64, 100])
        drawn = rng.random()
        if drawn < 0.3 and self.is_active("MCOPY"):
            self.put(length, rng.randrange(0x80), rng.randrange(0x80), "MCOPY")
        elif drawn < 0.6:
            self.put(length, rng.choice([0, 4, 20, 36, 90, 500]), rng.randrange(0x60), "CALLDATACOPY")
        elif drawn < 0.7:
            self.put(length, rng.randrange(60), rng.randrange(0x60), "CODECOPY")
        elif drawn < 0.8:
            self.put(length, rng.randrange(60), rng.randrange(0x60))
            self.account()
            self.put("EXTCODECOPY")
        elif self.is_active("RETURNDATACOPY"):
            if rng.random() < 0.6:
                self.put("RETURNDATASIZE", 0)
            elif rng.random() < 0.8:
                self.put(0, 0)
            else:  # at times out of bounds, which halts
                self.masked()
                self.put(rng.choice([0, 1]))
            self.put(rng.randrange(0x60), "RETURNDATACOPY")

    def log(self, depth: int) -> None:
        """Emit an event."""
        topics = self.rng.randrange(5)
        for _ in range(topics):
            self.value(1)
        self.put(self.rng.randrange(70), self.rng.randrange(0x60), f"LOG{topics}")

    def branch(self, depth: int) -> None:
        """Do one thing or another."""
        other, end = self.label(), self.label()
        self.condition(depth)
        self.put(f"@{other}", "JUMPI")
        for _ in range(self.rng.randrange(1, 3)):
            self.statement(depth - 1)
        self.put(f"@{end}", "JUMP", f":{other}")
        for _ in range(self.rng.randrange(3)):
            self.statement(depth - 1)
        self.put(f":{end}")

    def loop(self, depth: int) -> None:
        """Do something up to seven times."""
        if depth < 2:
            self.store(depth)
            return
        top, end = self.label(), self.label()
        self.word()
        self.put(self.rng.choice([1, 3, 7]), "AND", f":{top}", "DUP1", "ISZERO", f"@{end}", "JUMPI")
        self.statement(1)
        self.put(1, "SWAP1", "SUB", f"@{top}", "JUMP", f":{end}", "POP")

    def call(self, depth: int) -> None:
        """Call another contract, with as much gas as there is or little."""
        rng = self.rng
        if not self.calls:
            self.store(depth)
            return
        kind = rng.choice(["CALL", "CALL", "CALL", "CALLCODE", "STATICCALL", "DELEGATECALL", "DELEGATECALL"])
        if not self.is_active(kind):
            kind = "CALL"
        if rng.random() < 0.6:
            self.word()
            self.put(self.offset + 0x80, "MSTORE")
        self.put(rng.choice([0, 32, 32, 64, 96]), rng.randrange(0x60))
        self.put(rng.choice([0, 4, 36, 68, 100, 100]), rng.choice([0x80, 0x80, 0, 20]))
        if kind in ("CALL", "CALLCODE"):
            self.put(0 if rng.random() < 0.985 else 1)
        if rng.random() < 0.9:
            self.put(rng.choice(self.calls))
        else:
            self.account()
        self.gas()
        self.put(kind)
        drawn = rng.random()
        if drawn < 0.4:
            self.put("POP")
        elif drawn < 0.7:
            self.put(rng.randrange(4), "SSTORE")
        else:
            self.put(rng.randrange(0x60), "MSTORE")
        if rng.random() < 0.3:
            self.copy(depth)

    def gas(self) -> None:
        """The gas of a call."""
        rng, drawn = self.rng, self.rng.random()
        if self.theme == "nested" and rng.random() < 0.3:  # enough where it is not zero
            self.masked()
            self.put(100_000, "MUL")
        elif drawn < 0.62:
            self.put("GAS")
        elif drawn < 0.78:
            self.put(rng.choice([200_000, 100_000, 60_000, 30_000, 9_000, 2_300, 700]))
        elif drawn < 0.84:
            self.put(rng.choice([5_000, 1_000]), "GAS", "SUB")
        elif drawn < 0.88:
            self.put(LARGEST)
        else:
            self.masked()
            self.put(rng.choice([900, 30_000, 60_000, 100_000]), "MUL")

    def precompile(self, depth: int) -> None:
        """Call a precompile, mostly with input that does not vary."""
        rng = self.rng
        number = rng.choice([1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11, 15, 0x100])
        if number == 4 or rng.random() < 0.1:
            self.word()
            self.put(0x300, "MSTORE")
        elif rng.random() < 0.7:
            self.put(self.constant(), 0x300, "MSTORE")
        self.put(rng.choice([0, 32, 64]), rng.randrange(0x60), rng.choice([0, 1, 32, 64, 96, 128, 192, 213]), 0x300)
        kind = "STATICCALL" if self.is_active("STATICCALL") and rng.random() < 0.7 else "CALL"
        if kind == "CALL":
            self.put(0)
        self.put(number)
        if rng.random() < 0.8:
            self.put(rng.choice([200_000, 100_000]))
        else:
            self.gas()
        self.put(kind, rng.randrange(0x60), "MSTORE")

    def seldom(self, do: Callable[[], None]) -> None:
        """Do something where a word of calldata says so."""
        rng, there = self.rng, self.label()
        self.word()
        if rng.random() < 0.4:
            self.put(15, "AND", rng.randrange(16), "EQ", "ISZERO")
        else:
            self.put(self.constant(), "EQ", "ISZERO")
        self.put(f"@{there}", "JUMPI")
        do()
        self.put(f":{there}")

    def leave(self, depth: int) -> None:
        """Return, revert or halt at times."""
        rng = self.rng

        def do() -> None:
            drawn = rng.random()
            if drawn < 0.55:
                self.put(rng.randrange(70), rng.randrange(70), "REVERT")
            elif drawn < 0.75:
                self.put(rng.randrange(70), 0, "RETURN")
            elif drawn < 0.8:
                self.put("STOP")
            elif drawn < 0.85:
                self.put("INVALID")
            elif drawn < 0.9:
                self.put(rng.choice([0, 1, 2, LARGEST, 30]), "JUMP")
            elif drawn < 0.95:
                self.masked()
                self.put("JUMP")
            else:
                self.put("POP*20" if not self.filled else "PC*40")

        self.seldom(do)

    def inactive(self, depth: int) -> None:
        """Execute at times what the hard fork may not know."""

        def do() -> None:
            code = self.rng.choice(ACTIVE_LATER if self.rng.random() < 0.6 else UNDEFINED)
            self.put(*[1] * self.rng.randrange(4), f".{code:02x}")

        self.seldom(do)

    def unusual(self, depth: int) -> None:
        """Read what a path has no expression for."""
        drawn = self.rng.random()
        if drawn < 0.4:
            self.put("GAS")
        elif drawn < 0.6:
            self.put("GASPRICE")
        elif drawn < 0.9 or not self.is_active("BLOBHASH"):
            self.masked()
            self.put(995, "ADD", "BLOCKHASH")
        else:
            self.masked()
            self.put("BLOBHASH")
        self.put(self.rng.randrange(0x60), "MSTORE")

    def life(self, depth: int) -> None:
        """Create or destroy an account at times."""
        rng = self.rng

        def do() -> None:
            if rng.random() < 0.4:
                self.put(rng.choice([b"\xa1" * 20, b"\x77" * 20]), "SELFDESTRUCT")
                return
            kind = "CREATE2" if rng.random() < 0.5 and self.is_active("CREATE2") else "CREATE"
            initcode = assemble(rng.choice(INITCODES))
            length = rng.choice([0, len(initcode)])
            self.put(initcode, 0, "MSTORE")
            if kind == "CREATE2":
                self.put(rng.randrange(2))
            self.put(length, 32 - len(initcode), 0, kind, rng.randrange(4), "SSTORE")

        self.seldom(do)

    def diamond(self, depth: int) -> None:
        """Branch around computations on the stack that meet again.

        Below them lie up to four words, one of which is kept at the end. In the theme `deep` the stack is nearly full.
        """
        rng = self.rng
        below = rng.randrange(4) if not self.filled or rng.random() < 0.3 else 0
        for _ in range(below):
            self.leaf()
        other, end = self.label(), self.label()
        net = rng.choice([0, 0, 1, 2]) if rng.random() < 0.9 else -1
        net = max(net, -below)
        self.choice()
        self.put(f"@{other}", "JUMPI")
        if rng.random() < 0.3:
            self.side(below, 0)
            self.put(f":{other}")
            net = 0
        else:
            self.side(below, net)
            self.put(f"@{end}", "JUMP", f":{other}")
            self.side(below, net)
            self.put(f":{end}")
        left = below + net
        for _ in range(left - 1):
            self.put(rng.choice(self.pure_two) if rng.random() < 0.7 else "POP")
        if left > 0:
            if rng.random() < 0.5:
                self.put(rng.randrange(0x60), "MSTORE")
            else:
                self.put(rng.randrange(5), "SSTORE")

    def side(self, below: int, net: int) -> None:
        """One side of a diamond, which leaves `net` words more than it found."""
        rng, height = self.rng, below
        odd = (0.2 if rng.random() < 0.5 else 0.0) if self.theme == "inactive" else 0.01
        for _ in range(rng.randrange(SIDE)):
            drawn = rng.random()
            if drawn < odd:
                self.put(ODD.get(rng.choice(self.odd), "PC"))
                height += 1
            elif drawn < odd + 0.01:
                self.put(rng.choice(["DUP16", "SWAP16", "POP*3", "INVALID", "PC", f".{rng.choice(UNDEFINED):02x}"]))
            elif height < 1 or drawn < 0.35:
                self.put(self.constant() if rng.random() < 0.6 else small(rng))
                height += 1
            elif drawn < 0.5:
                self.put(f"DUP{rng.randrange(height) + 1}")
                height += 1
            elif drawn < 0.6 and height > 1:
                self.put(f"SWAP{rng.randrange(height - 1) + 1}")
            elif drawn < 0.68:
                self.put("POP")
                height -= 1
            elif drawn < 0.75:
                self.put(rng.choice(self.pure_one))
            elif drawn < 0.8 and height > 2:
                self.put(rng.choice(["ADDMOD", "MULMOD"]))
                height -= 2
            elif height > 1:
                self.put(rng.choice(self.pure_two))
                height -= 1
        while height < below + net:
            self.put(small(rng))
            height += 1
        while height > below + net:
            self.put("POP")
            height -= 1

"""Random programs of fleets, as the data that `playing.build` builds."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.fuzz.bytecode import SELECTOR, Rules
from benchmarks.fuzz.words import small
from benchmarks.fuzz.worlds import DOOMED, END, KNOWN, LIBRARY, MAKER, MORTAL, OTHER, SENDERS, TARGET
from mayavi.evm.state import is_before

TWO = ["add", "subtract", "multiply", "divide", "minimum", "maximum", "less", "equal", "shift_right"]
FLOAT_TWO = [
    *("float_add", "float_subtract", "float_multiply", "float_divide"),
    *("float_minimum", "float_maximum", "float_less"),
]
FLOAT_ONE = ["float_absolute", "float_negate", "float_single", "float_exp", "float_log"]
LITTLE = [24_000, 27_000, 32_000, 45_000, 50_000, 70_000, 100_000, 200_000]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e300, float("inf"), float("-inf"), float("nan"), 3.25, -745.2, 709.9,
          1e-9, 1e18]  # fmt: skip


def gas_limit(rng: random.Random) -> int:
    """Draw the gas limit of a transaction: ample, or so that some calls may run out of it."""
    return rng.choice([1_000_000, 3_000_000]) if rng.random() < 0.88 else rng.choice(LITTLE) + rng.randrange(5_000)


class ProgramWriter:
    """Writes one random program, operation by operation."""

    def __init__(self, rng: random.Random, rules: Rules, *, whole: bool) -> None:
        self.rng, self.rules, self.whole = rng, rules, whole
        self.operations: list[tuple[Any, ...]] = []
        self.inputs = [f"in{at}" for at in range(rng.randrange(2, 5))]
        self.words = list(self.inputs)
        self.floats: list[str] = []
        self.templates: list[tuple[Any, ...]] = []
        self.count = 0
        self.operations += [("input", name) for name in self.inputs]
        if whole and rng.random() < 0.4:
            self.operations.append(("input_floats", "seen", 2))
            self.floats = ["seen0", "seen1"]

    def program(self) -> tuple[bool, list[tuple[Any, ...]]]:
        """Write the whole program."""
        rng = self.rng
        calls = rng.choice([1, 2, 2] if self.rules.terse else [1, 1, 2, 2, 3, 4])
        others = rng.randrange(8) if self.whole and not self.rules.terse else rng.randrange(2)
        kinds = ["call"] * calls + ["other"] * others
        rng.shuffle(kinds)
        for kind in kinds:
            self.call() if kind == "call" else self.other()
        for name in [*self.words[len(self.inputs) :], self.inputs[0]]:
            if name.endswith(".status") or rng.random() < (0.9 if name.endswith(".gas") else 0.6):
                self.operations.append(("output", name, name))
        if self.floats and rng.random() < 0.8:
            kind = rng.choice(["output_floats", "output_singles"])
            self.operations.append((kind, "floats", rng.sample(self.floats, min(3, len(self.floats)))))
        return self.whole, self.operations

    def fresh(self, prefix: str = "w") -> str:
        """Return a new name."""
        self.count += 1
        return f"{prefix}{self.count}"

    def word(self) -> Any:
        """Draw an input, a result or a constant."""
        drawn = self.rng.random()
        if drawn < 0.5:
            return self.rng.choice(self.inputs)
        return self.rng.choice(self.words) if drawn < 0.8 else self.rules.constant(self.rng)

    def bit(self, bits: int = 1) -> str:
        """Compute the lowest bits of an input."""
        name = self.fresh("b")
        self.operations.append(("bits", name, self.rng.choice(self.inputs), 0, bits))
        return name

    def account(self, some: list[bytes]) -> Any:
        """Draw an account, or let a bit choose between two."""
        rng = self.rng
        if rng.random() < 0.92:
            return rng.choice(some)
        name = self.fresh("a")
        self.operations.append(("either", name, self.bit(), rng.choice(some), rng.choice(some)))
        return name

    def template(self) -> tuple[Any, ...]:
        """Draw a call of a contract, with a hole for most words."""
        rng, words = self.rng, self.rules.words
        data = bytearray(SELECTOR + bytes(32 * words))
        holes: dict[int, Any] = {}
        for at in range(len(SELECTOR), len(data), 32):
            if rng.random() < 0.8:
                holes[at] = self.word()
            elif rng.random() < 0.6:
                data[at : at + 32] = self.rules.constant(rng).to_bytes(32, "big")
        if rng.random() < (0.5 if self.rules.theme == "refunds" else 0.05):
            data += b"\xff" * rng.choice([1, 31, rng.randrange(300), rng.randrange(300)])
        called = [TARGET] * 6 + [OTHER] + ([DOOMED, MAKER] if self.rules.theme == "life" else [LIBRARY])
        value = rng.choice([1, 0]) if rng.random() < 0.02 else 0
        return self.account(called), bytes(data), holes, self.account(SENDERS), value, gas_limit(rng)

    def call(self) -> None:
        """Call a contract."""
        rng, name = self.rng, self.fresh("c")
        if not self.templates or rng.random() < 0.6:
            self.templates = [self.template() for _ in range(rng.choice([1, 1, 1, 2]))]
        templates = self.templates  # often those of the call before: what it wrote is read
        refunds = self.rules.theme == "refunds"
        if refunds and isinstance(to := templates[0][0], bytes):  # slots that the call finds equal in every row
            slots = rng.choice([[], [0], [0, 1], [1, 0], [0, 1]])
            self.operations += [("store", to, slot, rng.choice([0, 1, 5, 5]), 1) for slot in slots]
        mask: Any = self.bit() if rng.random() < 0.2 else 1
        choice = self.bit() if len(templates) > 1 else 0
        returns, commit = rng.randrange(3), rng.random() < (0.6 if refunds else 0.85)
        self.operations.append(("call", name, templates, choice, mask, returns, commit))
        self.words += [f"{name}.status", f"{name}.gas", *(f"{name}.{at}" for at in range(returns))]

    def slot(self) -> Any:
        """Draw a slot: a constant, the entry of a mapping, or bits of an input."""
        drawn = self.rng.random()
        if drawn < 0.7:
            return self.rng.randrange(8)
        if drawn < 0.85:
            return self.bit(2)
        name = self.fresh("k")
        self.operations.append(("mapping_slot", name, self.bit(2), self.rng.randrange(2)))
        return name

    def other(self) -> None:
        """Do something else than a call."""
        rng, drawn, name = self.rng, self.rng.random(), self.fresh()
        mortal = self.rules.theme == "life"
        if drawn < 0.22 or (mortal and rng.random() < 0.5):
            self.operations.append(("load", name, self.account(MORTAL if mortal else KNOWN), self.slot()))
        elif drawn < 0.36:
            mask: Any = self.bit() if rng.random() < 0.3 else 1
            self.operations.append(("store", rng.choice(KNOWN[:3]), self.slot(), self.stored(), mask))
            return
        elif drawn < 0.44:
            blocks, seconds = (self.bit(rng.choice([1, 2])) if rng.random() < 0.5 else small(rng) for _ in range(2))
            self.operations.append(("advance", blocks, seconds, self.bit() if rng.random() < 0.3 else 1))
            return
        elif drawn < 0.5:
            self.operations.append(("time", name))
            self.words += [f"{name}.number", f"{name}.time"]
            return
        elif drawn < 0.54:
            self.operations.append(("balance", name, self.account([*SENDERS, *KNOWN[:2]])))
        elif drawn < 0.58:
            self.operations.append(("either", name, self.word(), self.word(), self.word()))
        elif drawn < 0.63:
            scale = self.rules.scale
            factors = (scale, scale) if rng.random() < 0.4 else (self.word(), rng.choice([scale, self.word()]))
            if rng.random() < 0.6:
                self.operations.append(("multiply_divide", name, self.word(), *factors))
            else:
                self.operations.append(("divide", name, self.word(), scale))
        elif drawn < 0.68:
            low = rng.randrange(250)
            width = rng.randrange(1, 257 - low)
            if rng.random() < 0.5:
                self.operations.append(("bits", name, self.word(), low, width))
            else:
                self.operations.append(("with_bits", name, self.word(), low, width, self.word()))
        elif drawn < 0.72:
            self.operations.append(("keccak", name, *[self.word() for _ in range(rng.randrange(1, 4))]))
        elif drawn < 0.84 or not self.whole:
            self.operations.append((rng.choice(TWO), name, self.word(), self.word()))
        else:
            self.compute_float(name)
            return
        self.words.append(name)

    def stored(self) -> Any:
        """Draw a word to store."""
        return self.rng.choice([0, 1, 5]) if self.rng.random() < 0.5 else self.word()

    def compute_float(self, name: str) -> None:
        """Compute with floats."""
        rng = self.rng

        def some() -> Any:
            return rng.choice(self.floats) if self.floats and rng.random() < 0.8 else rng.choice(FLOATS)

        drawn = rng.random()
        if drawn < 0.2:
            self.operations.append(("float_of_word", name, self.word()))
        elif drawn < 0.4 and self.floats:
            self.operations.append(("word_of_float", name, rng.choice(self.floats)))
            self.words.append(name)
            return
        elif drawn < 0.75:
            self.operations.append((rng.choice(FLOAT_TWO), name, some(), some()))
        else:
            self.operations.append((rng.choice(FLOAT_ONE), name, some()))
        self.floats.append(name)


def rare_program(rng: random.Random, rules: Rules, *, whole: bool) -> tuple[bool, list[tuple[Any, ...]]]:
    """Program that ends or creates an account, or writes a slot that is otherwise only read, where its input is set."""
    mask = rng.choice([("bits", "mask", "in0", 0, 1), ("equal", "mask", "in0", rng.choice(rules.pool))])
    operations: list[tuple[Any, ...]] = [("input", "in0"), mask]
    template: tuple[Any, ...]
    drawn = rng.random()
    if drawn < 0.7 or rules.theme == "life":
        data = SELECTOR + END.to_bytes(32, "big") + bytes(32 * (rules.words - 1))
        lasting = not is_before(rules.hardfork, "cancun")  # from Cancun on only an account of the same transaction ends
        to = MAKER if rng.random() < (0.8 if lasting else 0.3) else DOOMED
        template = (to, data, {}, rng.choice(SENDERS), 0, 1_000_000)
        operations.append(("call", "c", [template], 0, "mask", 1, True))
        operations.append(("output", "c.status", "c.status"))
        operations.append(("output", "c.gas", "c.gas"))
    else:
        operations.append(("store", rng.choice(KNOWN), rng.randrange(4, 8), rng.choice([0, 1, 99]), "mask"))
    return whole, operations

"""What generated code costs: machine code, the batch interpreter and a plain loop over words, in turns."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring.report import Effort, Quantity, Section, timed
from benchmarks.measuring.timing import count_for, in_turns
from mayavi._kernel import NativeBuilder, NativeCode

ROUNDS = 21
ROWS = 2048
BACKENDS = ("machine", "interpreter", "plain")
ADD, MUL, SUB, DIV, MULMOD = 0x01, 0x02, 0x03, 0x04, 0x09
LT, GT, ISZERO, AND, OR, SHL, SHR = 0x10, 0x11, 0x15, 0x16, 0x17, 0x1B, 0x1C
RAY, MAX = 10**27, 2**256 - 1


@dataclass(frozen=True, slots=True)
class Mix:
    """Function to be measured, and how to draw a row for it."""

    what: str
    build: Callable[[NativeBuilder], None]
    row: Callable[[random.Random], list[int]]


def measure(effort: Effort) -> Section:
    """Measure every mix by every back end; equal results are checked first."""
    section = Section("codegen", "generated code: CPU ns for one row of a batch, and ms to compile")
    for mix in MIXES:
        builder = NativeBuilder()
        mix.build(builder)
        rows = draw(mix)
        codes = {backend: builder.compile(backend, sample=rows[:8]) for backend in BACKENDS}
        check_equal(mix, codes, rows)
        contestants = {backend: contestant(code, rows, effort) for backend, code in codes.items()}
        timings = in_turns(contestants, effort.rounds(ROUNDS))
        operations, guards = codes["machine"].counts
        for backend, timing in timings.items():
            compiled = min(builder.compile(backend, sample=rows[:8]).seconds for _ in range(effort.rounds(5)))
            section.rows.append(
                timed(
                    f"{mix.what} ({operations} operations, {guards} guards), {backend}",
                    timing,
                    "ns",
                    ratio=Quantity(timing.ratio(timings["machine"]), "×"),
                    compile=Quantity(compiled * 1e3, "ms"),
                )
            )
    section.notes.append("plain: every word is a 256-bit integer, row by row, without any pass")
    return section


def contestant(code: NativeCode, rows: NDArray[np.uint64], effort: Effort) -> Callable[[], float]:
    """Return what measures the CPU seconds of one row, which a busy machine changes least."""
    count = count_for(lambda: code.run(rows), effort.round_seconds)

    def seconds() -> float:
        code.run(rows)
        began = time.thread_time()
        for _ in range(count):
            code.run(rows)
        return (time.thread_time() - began) / (count * len(rows))

    return seconds


def draw(mix: Mix) -> NDArray[np.uint64]:
    """Return rows of words as limbs."""
    source = random.Random(19)
    data = b"".join(word.to_bytes(32, "little") for _ in range(ROWS) for word in mix.row(source))
    return np.frombuffer(data, dtype="<u8").reshape(ROWS, -1).copy()


def check_equal(mix: Mix, codes: dict[str, NativeCode], rows: NDArray[np.uint64]) -> None:
    """Refuse to time code that does not agree on every row."""
    flags, outputs = codes["plain"].run(rows)
    assert flags.all(), f"{mix.what}: a row is refused"
    for backend, code in codes.items():
        found, words = code.run(rows)
        assert np.array_equal(found, flags), f"{mix.what}: {backend} accepts other rows"
        assert np.array_equal(words, outputs), f"{mix.what}: {backend} gives other words"


def checked_product(code: NativeBuilder, a: int, b: int, limit: int) -> int:
    """Multiply after the check `a > limit / b`, as Solidity's libraries write it."""
    above = code.pure(GT, a, code.pure(DIV, code.constant(limit), b))
    code.guard(code.pure(OR, code.pure(ISZERO, b), code.pure(ISZERO, above)))
    return code.pure(MUL, a, b)


def scaled(code: NativeBuilder, a: int, b: int, unit: int) -> int:
    """Multiply two numbers of a unit, rounded half up."""
    product = checked_product(code, a, b, MAX - unit // 2)
    return code.pure(DIV, code.pure(ADD, product, code.constant(unit // 2)), code.constant(unit))


def accrual(code: NativeBuilder) -> None:
    """Accrue two reserves by compounded interest and value a position in them."""
    value = code.constant(0)
    for reserve in range(2):
        index, rate, elapsed, balance, price = (code.input(5 * reserve + at) for at in range(5))
        per_second = code.pure(DIV, rate, code.constant(31_536_000))
        second = scaled(code, per_second, per_second, RAY)
        third = scaled(code, second, per_second, RAY)
        less = code.pure(SUB, elapsed, code.constant(1))
        code.guard(code.pure(LT, elapsed, code.constant(2)), 0)
        pairs = code.pure(DIV, code.pure(MUL, code.pure(MUL, elapsed, less), second), code.constant(2))
        triples = code.pure(DIV, code.pure(MUL, code.pure(MUL, elapsed, less), third), code.constant(6))
        linear = code.pure(MUL, per_second, elapsed)
        growth = code.pure(ADD, code.pure(ADD, code.constant(RAY), linear), code.pure(ADD, pairs, triples))
        grown = scaled(code, growth, index, RAY)
        owned = scaled(code, balance, grown, RAY)
        worth = code.pure(DIV, code.pure(MUL, owned, price), code.constant(10**6))
        value = code.pure(ADD, value, worth)
        code.output(grown)
    code.output(value)


def accrual_row(source: random.Random) -> list[int]:
    """Draw indices near one, yearly rates, seconds, balances and prices."""
    row = []
    for _ in range(2):
        row += [RAY + source.randrange(RAY), source.randrange(RAY // 5), source.randrange(2, 10**6)]
        row += [source.randrange(10**15), source.randrange(10**8, 10**12)]
    return row


def fields(code: NativeBuilder) -> None:
    """Cut a packed word into fields, check them and pack them again."""
    packed, change = code.input(0), code.input(1)
    result = code.constant(0)
    for low, bits in ((0, 128), (128, 40), (168, 64), (232, 24)):
        field = code.pure(AND, code.pure(SHR, code.constant(low), packed), code.constant(2**bits - 1))
        raised = code.pure(ADD, field, code.pure(AND, change, code.constant(0xFF)))
        code.guard(code.pure(LT, raised, code.constant(2**bits)))
        result = code.pure(OR, result, code.pure(SHL, code.constant(low), raised))
    code.output(result)


def fields_row(source: random.Random) -> list[int]:
    """Draw fields that stay inside their place."""
    parts = ((0, 120), (128, 39), (168, 60), (232, 22))
    return [sum(source.randrange(2**bits) << low for low, bits in parts), source.randrange(256)]


def newton(code: NativeBuilder) -> None:
    """Four steps of Newton's method for a pool's invariant, with divisions by variables."""
    x, y, amplification = (code.input(at) for at in range(3))
    total = code.pure(ADD, x, y)
    invariant = total
    for _ in range(4):
        power = invariant
        for balance in (x, y):
            doubled = code.pure(MUL, balance, code.constant(2))
            power = code.pure(DIV, code.pure(MUL, power, invariant), doubled)
        weighted = code.pure(ADD, code.pure(MUL, amplification, total), code.pure(MUL, power, code.constant(2)))
        above = code.pure(MUL, weighted, invariant)
        one_less = code.pure(SUB, amplification, code.constant(1))
        triple = code.pure(MUL, power, code.constant(3))
        invariant = code.pure(DIV, above, code.pure(ADD, code.pure(MUL, one_less, invariant), triple))
    code.output(invariant)


def newton_row(source: random.Random) -> list[int]:
    """Draw balances of a pool with 18 decimals."""
    return [source.randrange(10**23, 10**25), source.randrange(10**23, 10**25), source.randrange(100, 2000)]


def full_product(code: NativeBuilder) -> None:
    """Multiply two words to 512 bits by MULMOD, as exact fractions do."""
    a, b = code.input(0), code.input(1)
    low = code.pure(MUL, a, b)
    wide = code.pure(MULMOD, a, b, code.constant(MAX))
    high = code.pure(SUB, code.pure(SUB, wide, low), code.pure(LT, wide, low))
    code.output(high)
    code.output(code.pure(MULMOD, a, b, code.input(2)))


def full_row(source: random.Random) -> list[int]:
    """Draw prices of 160 bits and liquidity of 128."""
    return [source.randrange(2**159, 2**160), source.randrange(2**127), source.randrange(2**95, 2**160)]


MIXES = [
    Mix("accrual of two reserves", accrual, accrual_row),
    Mix("fields of a packed word", fields, fields_row),
    Mix("Newton's method, variable divisors", newton, newton_row),
    Mix("512-bit products", full_product, full_row),
]

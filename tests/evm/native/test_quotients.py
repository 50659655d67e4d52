"""Quotients of two limbs by variable divisors, and chains of them: what Python's integers give."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi._kernel import NativeBuilder
from tests.evm.native.words import integers, limbs

BACKENDS = ["machine", "interpreter", "plain"]
ADD, MUL, SUB, DIV, LT, SHL = 0x01, 0x02, 0x03, 0x04, 0x10, 0x1B
SEEN = [2**89 + 12345, 2**91 + 678, 2**88 + 9]

halves = st.one_of(
    st.integers(0, 2**128 - 1),
    st.integers(0, 2**64 + 2),
    st.builds(lambda bits, by: max(2**bits + by, 0), st.integers(0, 127), st.integers(-2, 2)),
)


def with_quotients() -> NativeBuilder:
    """Divide two products by one divisor, and one of them by another."""
    builder = NativeBuilder()
    a, b, c = (builder.input(word) for word in range(3))
    for divisor in (a, b):
        builder.guard(divisor)
    factors = ((a, c), (c, c))
    products = [builder.pure(ADD, builder.pure(MUL, left, right), builder.constant(1)) for left, right in factors]
    for dividend, divisor in ((products[0], a), (products[1], a), (products[1], b)):
        builder.output(builder.pure(DIV, dividend, divisor))
    return builder


@given(st.lists(st.tuples(halves, halves, halves).map(list), min_size=1, max_size=8))
def test_short_quotients_are_those_of_integers(rows: list[list[int]]) -> None:
    builder = with_quotients()
    for backend in BACKENDS:
        flags, outputs = builder.compile(backend, sample=limbs([SEEN])).run(limbs([SEEN, *rows]))
        assert flags[0] == 1
        for (a, b, c), flag, found in zip([SEEN, *rows], flags, outputs, strict=True):
            if flag:
                assert integers(found) == [(a * c + 1) // a, (c * c + 1) // a, (c * c + 1) // b], backend


def newton(steps: int) -> NativeBuilder:
    """Steps of Newton's method for a square root, each of which must lower the value: y = (y² + c) / 2y."""
    builder = NativeBuilder()
    y, c = builder.input(0), builder.input(1)
    for _ in range(steps):
        twice = builder.pure(SHL, builder.constant(1), y)
        builder.guard(twice)
        following = builder.pure(DIV, builder.pure(ADD, builder.pure(MUL, y, y), c), twice)
        builder.guard(builder.pure(LT, y, following), 0)
        builder.output(builder.pure(SUB, y, following))
        y = following
    return builder


@pytest.mark.parametrize("backend", BACKENDS)
def test_steps_of_newtons_method_are_those_of_integers(backend: str) -> None:
    rows = [[3**k * 10**9 + k, 7**k * 10**20] for k in range(1, 48)]
    flags, outputs = newton(6).compile(backend, sample=limbs(rows[:30])).run(limbs(rows))
    kept = 0
    for (y, c), flag, found in zip(rows, flags, outputs, strict=True):
        lowered = []
        for _ in range(6):
            following = (y * y + c) // (2 * y)
            lowered.append(y - following)
            y = following
        kept += int(flag)
        assert not flag or (min(lowered) >= 0 and integers(found) == lowered)
    assert kept > 5


def test_a_check_that_cannot_fail_is_no_guard() -> None:
    builder = NativeBuilder()
    a, b = builder.input(0, 128), builder.input(1, 128)
    total = builder.pure(ADD, a, b)
    builder.guard(builder.pure(LT, total, a), 0)  # a sum of 129 bits is never below its parts
    rest = builder.pure(SUB, a, b)
    builder.guard(builder.pure(LT, a, rest), 0)  # a < a - b is a < b
    builder.output(rest)
    code = builder.compile("machine")
    assert code.counts == (2, 1)
    flags, outputs = code.run(limbs([[7, 5], [5, 7], [5, 5]]))
    assert flags.tolist() == [1, 0, 1]
    assert integers(outputs[0]) == [2]

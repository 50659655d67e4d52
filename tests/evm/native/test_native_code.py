"""Code over 256-bit words: every back end gives what Python's integers give."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mayavi._kernel import NativeBuilder, keccak256
from tests.evm.native.words import MAX, RAY, TAKES, apply, integers, limbs, words

BACKENDS = ["machine", "interpreter", "plain"]
ADD, MUL, DIV, LT, GT, EQ, ISZERO, OR, SHR = 0x01, 0x02, 0x04, 0x10, 0x11, 0x14, 0x15, 0x17, 0x1C


class Step(NamedTuple):
    """One instruction of a random function: operands are places of earlier values, or constants."""

    opcode: int
    operands: tuple[int, ...]
    constants: tuple[int | None, ...]
    guard: bool


def steps(opcode: int) -> st.SearchStrategy[Step]:
    takes = TAKES[opcode]
    return st.builds(
        Step,
        st.just(opcode),
        st.tuples(*[st.integers(0, 100)] * takes),
        st.tuples(*[st.one_of(st.none(), st.none(), words)] * takes),
        st.integers(0, 5).map(lambda number: number == 0),
    )


programs = st.lists(st.sampled_from(sorted(TAKES)).flatmap(steps), min_size=1, max_size=14)


def build(program: list[Step], guarded: list[int]) -> NativeBuilder:
    """Write a program whose guarded values are those of the row it was recorded with."""
    builder = NativeBuilder()
    values = [builder.input(word) for word in range(3)]
    for step, value in zip(program, guarded, strict=True):
        operands = [
            values[place % len(values)] if constant is None else builder.constant(constant)
            for place, constant in zip(step.operands, step.constants, strict=True)
        ]
        values.append(builder.pure(step.opcode, *operands))
        if step.guard:
            builder.guard(values[-1], value)
    for node in values:
        builder.output(node)
    return builder


def evaluate(program: list[Step], row: list[int]) -> list[int]:
    """Return every value of a row, with Python's integers."""
    values = list(row)
    for step in program:
        operands = [
            values[place % len(values)] if constant is None else constant
            for place, constant in zip(step.operands, step.constants, strict=True)
        ]
        values.append(apply(step.opcode, *operands))
    return values


@given(programs, st.lists(st.tuples(words, words, words).map(list), min_size=1, max_size=8))
def test_programs_are_those_of_integers(program: list[Step], rows: list[list[int]]) -> None:
    expected = [evaluate(program, row) for row in rows]
    recorded = expected[0][3:]
    builder = build(program, recorded)
    for backend in BACKENDS:
        flags, outputs = builder.compile(backend).run(limbs(rows))
        for at, values in enumerate(expected):
            kept = all(
                value == wanted for step, value, wanted in zip(program, values[3:], recorded, strict=True) if step.guard
            )
            assert flags[at] == kept, backend
            if kept:
                assert integers(outputs[at]) == values, backend


EDGES = [0, 1, 2, 31, 32, 255, 256, MAX, MAX - 1, RAY, 2**255, 2**255 - 1, 2**64, 2**128 - 1]


@pytest.mark.parametrize("opcode", sorted(TAKES))
def test_every_instruction_is_that_of_integers_on_all_edges(opcode: int) -> None:
    takes = TAKES[opcode]
    rows = [[*each, *[0] * (3 - takes)] for each in product(EDGES, repeat=takes)]
    expected = [apply(opcode, *row[:takes]) for row in rows]
    for fixed in (None, *range(takes)):  # one operand may be a constant
        for constant in EDGES if fixed is not None else [0]:
            chosen = [at for at, row in enumerate(rows) if fixed is None or row[fixed] == constant]
            builder = NativeBuilder()
            operands = [builder.constant(constant) if at == fixed else builder.input(at) for at in range(takes)]
            builder.output(builder.input(2))
            builder.output(builder.pure(opcode, *operands))
            for backend in BACKENDS:
                _, outputs = builder.compile(backend).run(limbs([rows[at] for at in chosen]))
                wanted = limbs([[rows[at][2], expected[at]] for at in chosen])
                assert np.array_equal(outputs, wanted), (backend, fixed, constant)


@pytest.mark.parametrize("opcode", sorted(TAKES))
@settings(max_examples=min(25, settings().max_examples))
@given(data=st.data())
def test_every_instruction_is_that_of_integers(opcode: int, data: st.DataObject) -> None:
    takes = TAKES[opcode]
    rows = data.draw(st.lists(st.lists(words, min_size=3, max_size=3), min_size=1, max_size=6))
    constants = data.draw(st.tuples(*[st.one_of(st.none(), words)] * takes))
    builder = NativeBuilder()
    operands = [
        builder.input(place) if constant is None else builder.constant(constant)
        for place, constant in enumerate(constants)
    ]
    builder.output(builder.input(2))
    builder.output(builder.pure(opcode, *operands))
    for backend in BACKENDS:
        _, outputs = builder.compile(backend).run(limbs(rows))
        for row, found in zip(rows, outputs, strict=True):
            given_words = [row[at] if constant is None else constant for at, constant in enumerate(constants)]
            assert integers(found) == [row[2], apply(opcode, *given_words)], backend


@given(st.lists(st.tuples(words, words), min_size=1, max_size=8), st.one_of(words, st.integers(-1, 1)))
def test_overflow_checks_become_one_comparison(rows: list[tuple[int, int]], limit: int) -> None:
    if limit < 2:  # next to the first row's product
        limit = min(max(rows[0][0] * rows[0][1] + limit, 0), MAX)
    builder = NativeBuilder()
    a, b = builder.input(0), builder.input(1)
    none = builder.pure(ISZERO, b)
    most = builder.pure(DIV, builder.constant(limit), b)
    fits = builder.pure(OR, none, builder.pure(ISZERO, builder.pure(GT, a, most)))
    again = builder.pure(DIV, builder.pure(MUL, a, b), b)
    builder.output(fits)
    builder.output(builder.pure(OR, none, builder.pure(EQ, again, a)))
    for backend in BACKENDS:
        code = builder.compile(backend)
        if limit > 0:
            assert "DIV" not in code.text()[1]
        _, outputs = code.run(limbs([list(row) for row in rows]))
        assert [integers(found) for found in outputs] == [[a * b <= limit, a * b <= MAX] for a, b in rows]


@pytest.mark.parametrize("backend", BACKENDS)
def test_hashes_of_words_and_bytes(backend: str) -> None:
    builder = NativeBuilder()
    key, slot = builder.input(0), builder.input(1)
    builder.output(builder.keccak([(key, 12, 20), b"\x07" * 40, (slot, 0, 32)]))
    builder.output(builder.keccak([(builder.constant(5), 0, 32), b"abc"]))
    rows = [[2**160 - 3, 9], [MAX, 0]]
    _, outputs = builder.compile(backend).run(limbs(rows))
    for (address, slot_value), found in zip(rows, outputs, strict=True):
        text = address.to_bytes(32, "big")[12:] + b"\x07" * 40 + slot_value.to_bytes(32, "big")
        constant = keccak256((5).to_bytes(32, "big") + b"abc")
        assert integers(found) == [int.from_bytes(keccak256(text), "big"), int.from_bytes(constant, "big")]


def test_widths_that_were_seen_become_guards_and_save_limbs() -> None:
    builder = NativeBuilder()
    amount, index = builder.input(0), builder.input(1)
    scaled = builder.pure(DIV, builder.pure(MUL, amount, index), builder.constant(RAY))
    builder.output(scaled)
    rows = limbs([[10**9, RAY], [MAX, MAX]])
    plain, narrow = builder.compile("machine"), builder.compile("machine", sample=rows[:1])
    assert plain.counts == (2, 0)
    assert narrow.counts[1] == 2
    assert narrow.size < plain.size
    assert plain.run(rows)[0].tolist() == [1, 1]
    flags, outputs = narrow.run(rows)
    assert flags.tolist() == [1, 0]
    assert integers(outputs[0]) == [10**9]


def test_guards_that_follow_from_earlier_ones_are_dropped() -> None:
    builder = NativeBuilder()
    value = builder.input(0)
    for bits in (100, 120, 90):
        builder.guard(builder.pure(LT, value, builder.constant(2**bits)))
    builder.output(builder.pure(SHR, builder.constant(100), value))
    code = builder.compile("machine")
    assert code.counts == (2, 2)  # 2^100 first, then 2^90; the output is zero
    assert code.run(limbs([[2**90 - 1], [2**90], [2**110]]))[0].tolist() == [1, 0, 0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_are_refused_where_they_are_too_short(backend: str) -> None:
    builder = NativeBuilder()
    builder.output(builder.input(2))
    with pytest.raises(ValueError, match="rows of 3 words are needed, got 8 limbs"):
        builder.compile(backend).run(np.zeros((4, 8), np.uint64))
    assert builder.compile(backend).run(np.zeros((0, 12), np.uint64))[0].tolist() == []


def test_a_builder_refuses_what_is_no_function() -> None:
    builder = NativeBuilder()
    builder.input(0)
    with pytest.raises(IndexError, match="no node 7; there are 1"):
        builder.pure(ADD, 0, 7)
    with pytest.raises(IndexError, match="no node 1; there are 1"):
        builder.guard(1)
    with pytest.raises(ValueError, match="0x20 is not a pure instruction"):
        builder.pure(0x20, 0, 0)
    with pytest.raises(ValueError, match="0x01 takes 2 operands, got 1"):
        builder.pure(ADD, 0)
    with pytest.raises(ValueError, match="no back end 'fast'"):
        builder.compile("fast")


SCRIPT = """
import ctypes
import sys
import numpy as np
from mayavi._kernel import NativeBuilder

if sys.argv[1] == "refuse":  # no memory becomes executable from here on (Linux 6.3)
    if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) != 0:
        print("not here")
        sys.exit()
builder = NativeBuilder()
builder.output(builder.pure(1, builder.input(0), builder.input(0)))
code = builder.compile()
print(code.backend, code.run(np.array([[21, 0, 0, 0]], np.uint64))[1][0, 0])
"""


def compiled(mode: str, **environment: str) -> str:
    """Compile in a new process; returns the back end and twice 21."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, mode], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


@pytest.mark.parametrize(("setting", "backend"), [("0", "interpreter"), ("1", "machine")])
def test_machine_code_can_be_forbidden(setting: str, backend: str) -> None:
    assert compiled("plain", MAYAVI_JIT=setting) == f"{backend} 42"


@pytest.mark.skipif(sys.platform != "linux", reason="refuses executable memory by a call of Linux")
def test_the_interpreter_takes_over_where_executable_memory_is_refused() -> None:
    found = compiled("refuse")
    if found == "not here":
        pytest.skip("this kernel cannot refuse executable memory")
    assert found == "interpreter 42"

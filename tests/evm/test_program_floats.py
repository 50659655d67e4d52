"""Floats inside a program have the bits that NumPy and the portable functions give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.errors import UnknownName, UsageError
from mayavi.evm.fleet import Fleet, Outcome, Program
from mayavi.evm.fork import Fork
from mayavi.numerics import portable
from tests.evm.floats import (
    EDGES,
    FLOATS,
    NOT_A_NUMBER,
    TWO,
    bits,
    defined_by_numpy,
    expected,
    float_of_word,
    floats,
    word_of_float,
)

WORDS = st.one_of(st.integers(0, 2**256 - 1), st.integers(0, 256).map(lambda bit: 2**bit - 1), st.integers(0, 2**64))


@pytest.fixture(scope="module")
def fork() -> Fork:
    return Fork.from_state(Fork.empty().freeze(), labels={}, source={})


def run(fork: Fork, program: Program, rows: int, **inputs: Any) -> Outcome:
    """The outcome, after seeing that a second thread changes nothing."""
    one, two = (Fleet(fork, rows).run(program, threads=threads, **inputs) for threads in (1, 2))
    assert one.words.tobytes() == two.words.tobytes()
    for name, array in one.arrays.items():
        assert array.tobytes() == two.arrays[name].tobytes()
    return one


def applied(name: str, program: Program, *operands: Any) -> Any:
    return getattr(program, name)(*operands[: 2 if name in TWO else 1])


@given(st.lists(st.tuples(floats, floats), min_size=1, max_size=8), floats, floats)
def test_every_operation_has_the_bits_of_numpy(
    fork: Fork, rows: list[tuple[float, float]], one: float, other: float
) -> None:
    given_floats = np.array(rows)
    program = Program()
    a, b = program.input_floats("seen", 2)
    operands = {"ab": (a, b), "a1": (a, one), "1b": (one, b), "12": (one, other)}
    for name in [*FLOATS, "float_less"]:
        for key, pair in operands.items():
            program.output(f"{name} {key}", applied(name, program, *pair))
    found = run(fork, program, len(rows), seen=given_floats)
    ones, others = (np.full(len(rows), each) for each in (one, other))
    columns = {"a": given_floats[:, 0], "b": given_floats[:, 1], "1": ones, "2": others}
    for name in [*FLOATS, "float_less"]:
        for key in operands:
            values = [columns[each] for each in key][: 2 if name in TWO else 1]
            wanted = np.where(defined_by_numpy(name, *values), expected(name, *values), 0)
            told = np.where(defined_by_numpy(name, *values), found[f"{name} {key}"].uint64(), 0)
            sign = np.uint64(2**63 - 1) if name in {"float_absolute", "float_negate"} else np.uint64(2**64 - 1)
            known = ~np.isnan(values[0]) if sign != 2**64 - 1 else np.ones(len(rows), dtype=np.bool_)
            assert (told[known] == wanted[known]).all(), (name, key, values)


def test_of_two_zeros_the_second_is_taken(fork: Fork) -> None:
    program = Program()
    a, b = program.input_floats("zeros", 2)
    program.output_floats("chosen", [program.float_minimum(a, b), program.float_maximum(a, b)])
    zeros = np.array([[0.0, -0.0], [-0.0, 0.0]])
    found = run(fork, program, 2, zeros=zeros).arrays["chosen"]
    assert np.signbit(found).tolist() == [[True, True], [False, False]]


def test_what_is_no_number_has_one_form(fork: Fork) -> None:
    program = Program()
    (a,) = program.input_floats("a", 1)
    results = [program.float_subtract(a, a), program.float_exp(a), program.float_single(a)]
    results.append(program.float_minimum(a, 1.0))
    for at, word in enumerate(results):
        program.output(str(at), word)
    strange = np.array([0xFFF8_0000_DEAD_BEEF, 0x7FF0_0000_0000_0001], dtype=np.uint64).view(np.float64)
    found = run(fork, program, 2, a=strange)
    for at in range(len(results)):
        assert found[str(at)].ints() == [NOT_A_NUMBER] * 2


@given(st.lists(WORDS, min_size=1, max_size=8), st.lists(floats, min_size=1, max_size=8))
def test_words_become_floats_and_floats_become_words(fork: Fork, words: list[int], values: list[float]) -> None:
    program = Program()
    program.output_floats("float", [program.float_of_word(program.input("word"))])
    found = run(fork, program, len(words), word=words).arrays["float"]
    assert found[:, 0].tolist() == [float_of_word(word) for word in words]

    program = Program()
    (value,) = program.input_floats("value", 1)
    program.output("word", program.word_of_float(value))
    assert run(fork, program, len(values), value=values)["word"].ints() == [word_of_float(each) for each in values]


@pytest.mark.parametrize(
    ("value", "word"),
    [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (-1.5, 2**256 - 2), (1e30, 2**63 - 1), (-1e30, 2**256 - 2**63)],
)
def test_halves_go_to_the_even_integer_and_large_numbers_to_the_end(fork: Fork, value: float, word: int) -> None:
    assert repr(Program().word_of_float(value)) == f"Word({word})"


def test_arrays_come_back_in_their_kinds(fork: Fork) -> None:
    program = Program()
    number = program.input("number")
    left, right = program.input_floats("pair", 2)
    program.output("next", program.add(number, 1))
    program.output_singles("observation", [left, program.float_clip(right, -1.0, 1.0), 0.1])
    program.output("number", number)
    program.output_floats("reward", [program.float_add(left, right)])
    pair = np.array([[0.1, 7.0], [1e300, -7.0], [-1 / 3, 0.25]])
    found = run(fork, program, 3, number=[5, 6, 7], pair=pair)
    assert (program.inputs, program.float_inputs) == (["number"], [("pair", 2)])
    assert (program.outputs, program.float_outputs) == (["next", "number"], ["observation", "reward"])
    assert list(found) == ["next", "number"]
    assert found["next"].ints() == [6, 7, 8]
    assert found["number"].ints() == [5, 6, 7]
    observed, reward = found.arrays["observation"], found.arrays["reward"]
    assert (observed.dtype, reward.dtype) == (np.float32, np.float64)
    with np.errstate(over="ignore"):
        wanted = np.stack([pair[:, 0], np.clip(pair[:, 1], -1, 1), np.full(3, 0.1)], axis=1).astype(np.float32)
    assert observed.tobytes() == wanted.tobytes()
    assert reward.tobytes() == pair.sum(axis=1, keepdims=True).tobytes()


def test_strided_arrays_and_named_rows_are_taken(fork: Fork) -> None:
    program = Program()
    program.output_floats("twice", [program.float_multiply(each, 2.0) for each in program.input_floats("x", 2)])
    values = np.arange(24.0).reshape(4, 6)[:, ::3]
    fleet = Fleet(fork, 9)
    found = fleet.run(program, x=values, only=[1, 4, 5, 8], threads=2)
    assert (found.arrays["twice"] == 2 * values).all()


def test_a_program_without_rows_of_floats_has_no_arrays(fork: Fork) -> None:
    program = Program()
    program.output("one", 1)
    assert run(fork, program, 2).arrays == {}


def test_what_is_no_float_is_refused(fork: Fork) -> None:
    program = Program()
    pair = program.input_floats("pair", 2)
    with pytest.raises(TypeError, match="a float is a Word that holds one, or a Python float"):
        program.float_add(pair[0], 1)
    with pytest.raises(TypeError, match="a float is a Word that holds one"):
        program.output_floats("x", [2**255])
    with pytest.raises(ValueError, match="input 'pair' is there already"):
        program.input("pair")
    with pytest.raises(ValueError, match="input 'none' has no floats"):
        program.input_floats("none", 0)
    program.output_floats("pair", pair)
    with pytest.raises(ValueError, match="output 'pair' is there already"):
        program.output("pair", 1)
    fleet = Fleet(fork, 3)
    for wrong in (np.zeros((3, 1)), np.zeros(3), "ab", [[1, 2]] * 4):
        with pytest.raises(UsageError, match=r"input 'pair' is not an array of floats \(3, 2\)"):
            fleet.run(program, pair=wrong)
    with pytest.raises(UsageError, match="input 'pair' is not given"):
        fleet.run(program)
    with pytest.raises(UnknownName, match="pairs"):
        fleet.run(program, pairs=np.zeros((3, 2)))


def test_exp_and_log_are_the_portable_ones_on_many_numbers(fork: Fork) -> None:
    rng = np.random.default_rng(3)
    x = np.concatenate((rng.uniform(-760, 730, 3_000), rng.uniform(-1, 1, 1_000), EDGES))
    above = np.abs(np.concatenate((np.exp(rng.uniform(-740, 700, 3_000)), rng.uniform(0.5, 2, 1_000), EDGES)))
    program = Program()
    a, b = program.input_floats("x", 2)
    program.output_floats("found", [program.float_exp(a), program.float_log(b)])
    found = run(fork, program, len(x), x=np.stack([x, above], axis=1)).arrays["found"]
    assert (bits(found[:, 0]) == bits(portable.exp(x))).all()
    assert (bits(found[:, 1]) == bits(portable.log(above))).all()

"""Arithmetic inside a program is that of Python's integers, bounded by the word: nothing wraps, nothing fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi._kernel import keccak256
from mayavi.evm.fleet import Fleet, Program, Word
from mayavi.evm.fork import Fork
from tests.evm.bytecode import STORE, initcode

LARGEST = 2**256 - 1
STORER, ALICE = b"\x31" * 20, b"\xa1" * 20

FUNCTIONS: dict[str, Callable[..., int]] = {
    "add": lambda a, b: min(a + b, LARGEST),
    "subtract": lambda a, b: max(a - b, 0),
    "multiply": lambda a, b: min(a * b, LARGEST),
    "divide": lambda a, b: a // b if b else 0,
    "multiply_divide": lambda a, b, c: min(a * b // c, LARGEST) if c else 0,
    "minimum": min,
    "maximum": max,
    "less": lambda a, b: int(a < b),
    "equal": lambda a, b: int(a == b),
    "either": lambda condition, a, b: a if condition else b,
    "shift_right": lambda word, by: word >> min(by, 256),
    "mapping_slot": lambda key, slot: hashed(key, slot),
}
TAKES = dict.fromkeys(FUNCTIONS, 2) | {"multiply_divide": 3, "either": 3}

# The borders and the small numbers are where a carry, a shift or a division goes wrong.
words = st.one_of(
    st.integers(0, LARGEST),
    st.integers(0, 300),
    st.integers(0, 256).map(lambda bit: min(2**bit, LARGEST)),
    st.integers(0, 256).map(lambda bit: 2**bit - 1),
)


def hashed(*numbers: int) -> int:
    return int.from_bytes(keccak256(b"".join(number.to_bytes(32, "big") for number in numbers)), "big")


@pytest.fixture(scope="module")
def fork() -> Fork:
    fork = Fork.empty()
    fork.set_block(number=1_000, timestamp=50_000)
    fork.create_at(STORER, initcode(STORE), sender=ALICE)
    return Fork.from_state(fork.freeze(), labels={}, source={})


def run(fork: Fork, program: Program, rows: int = 1, **inputs: Any) -> dict[str, list[int]]:
    """The outputs, after seeing that a second thread changes nothing."""
    one, two = (Fleet(fork, rows).run(program, threads=threads, **inputs) for threads in (1, 2))
    assert one.words.tobytes() == two.words.tobytes()
    return {name: column.ints() for name, column in one.items()}


@given(st.data())
def test_every_function_is_that_of_integers_wherever_its_words_come_from(fork: Fork, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.tuples(words, words, words), min_size=1, max_size=9))
    constants = data.draw(st.tuples(words, words, words))
    program = Program()
    inputs = [program.input(name) for name in "abc"]
    for slot, word in enumerate(inputs):
        program.store(STORER, slot, word)
    registers = [program.load(STORER, slot) for slot in range(3)]
    sources: list[list[Word | int]] = [[*inputs], [*registers], [*constants]]
    picked = {
        name: data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)) for name, count in TAKES.items()
    }
    for name, kinds in picked.items():
        program.output(name, getattr(program, name)(*(sources[kind][i] for i, kind in enumerate(kinds))))

    columns = {name: [row[i] for row in rows] for i, name in enumerate("abc")}
    result = run(fork, program, len(rows), **columns)

    for name, kinds in picked.items():
        expected = [
            FUNCTIONS[name](*(constants[i] if kind == 2 else row[i] for i, kind in enumerate(kinds))) for row in rows
        ]
        assert result[name] == expected, name


@given(words, words, st.integers(0, 255), st.data())
def test_a_field_is_cut_out_of_a_word_and_set_in_it(
    fork: Fork, word: int, value: int, low: int, data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, 256 - low))
    program = Program()
    given_word, given_value = program.input("word"), program.input("value")
    changed = program.with_bits(given_word, low, count, given_value)
    program.output("field", program.bits(given_word, low, count))
    program.output("changed", changed)
    program.output("set", program.bits(changed, low, count))
    result = run(fork, program, word=word, value=value)

    field = (2**count - 1) << low
    assert result["field"] == [(word & field) >> low]
    assert result["set"] == [min(value, 2**count - 1)]
    assert result["changed"] == [(word & ~field) | (min(value, 2**count - 1) << low)]


@pytest.mark.parametrize(("low", "count"), [(0, 0), (0, 257), (256, 1), (250, 7), (2**63, 2**63)])
def test_a_field_outside_the_word_is_refused_when_the_program_is_written(low: int, count: int) -> None:
    for field in (
        lambda program: program.bits(1, low, count),
        lambda program: program.with_bits(1, low, count, 1),
    ):
        with pytest.raises(ValueError, match=f"no field of {count} bits at bit {low}"):
            field(Program())


@given(st.lists(words, max_size=6))
def test_words_are_hashed_one_after_the_other(fork: Fork, numbers: list[int]) -> None:
    program = Program()
    given_words = [program.input(f"word {index}") for index in range(len(numbers))]
    program.output("hash", program.keccak(*given_words))
    inputs = {f"word {index}": number for index, number in enumerate(numbers)}
    assert run(fork, program, **inputs)["hash"] == [hashed(*numbers)]


def test_a_row_reads_and_writes_its_own_entry_of_a_mapping(fork: Fork) -> None:
    program = Program()
    owner, amount = program.input("owner"), program.input("amount")
    slot = program.mapping_slot(owner, 7)
    program.store(STORER, slot, program.add(program.load(STORER, slot), amount))
    fleet = Fleet(fork, 3)
    owners = [bytes([n]) * 20 for n in (1, 2, 3)]
    for _ in range(2):
        fleet.run(program, owner=owners, amount=[10, 20, 30])
    for row, (who, amount_held) in enumerate(zip(owners, [20, 40, 60], strict=True)):
        entries = [fleet.fork(row).storage(STORER, hashed(int.from_bytes(each, "big"), 7)) for each in owners]
        assert entries == [amount_held if each == who else 0 for each in owners]


def test_the_balance_is_that_of_this_moment(fork: Fork) -> None:
    rich = fork.copy()
    rich.set_balance(ALICE, 10**18)
    program = Program()
    who = program.input("who")
    program.output("balance", program.balance(who))
    program.output("nobody's", program.balance("0x00000000000000000000000000000000000a11ce"))
    result = Fleet(rich, 2).run(program, who=[ALICE, STORER])
    assert result["balance"].ints() == [10**18, 0]
    assert result["nobody's"].ints() == [0, 0]


def test_a_masked_row_stands_still(fork: Fork) -> None:
    program = Program()
    going = program.input("going")
    program.advance(3, 36, mask=going)
    number, timestamp = program.time()
    program.output("number", number)
    program.output("timestamp", timestamp)
    # A number of blocks that no row could advance by is no matter where the row is masked.
    program.advance(2**200, 0, mask=0)
    result = run(fork, program, rows=3, going=[1, 0, 7])
    assert result["number"] == [1_003, 1_000, 1_003]
    assert result["timestamp"] == [50_036, 50_000, 50_036]


def test_a_function_of_constants_is_a_constant_that_any_program_may_use(fork: Fork) -> None:
    one = Program().multiply(6, 7)
    assert repr(one) == "Word(42)"
    program = Program()
    program.output("sum", program.add(one, program.input("x")))
    assert run(fork, program, x=8)["sum"] == [50]


def test_a_word_of_another_program_is_refused() -> None:
    other = Program()
    word = other.input("x")
    with pytest.raises(ValueError, match="a word of one program cannot be used in another"):
        Program().add(word, 1)
    with pytest.raises(ValueError, match="a word of one program cannot be used in another"):
        Program().keccak(1, word)


def test_what_is_no_word_is_refused() -> None:
    program = Program()
    with pytest.raises(OverflowError, match="does not fit into 256 unsigned bits"):
        program.add(-1, 1)
    with pytest.raises(TypeError, match="a word is a Word, an integer or an address"):
        program.minimum(1.5, 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is not an address"):
        program.balance("alice")

"""Programs of a fleet: what they take and refuse as input, and what they report of calls."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi.errors import BadInteger, UnknownName, UsageError
from mayavi.evm.address import checksum
from mayavi.evm.fleet import NO_CODE, SHORT_OUTPUT, SUCCESS, Fleet, Program, Template, Words
from mayavi.evm.fork import Fork
from tests.evm.bytecode import word
from tests.evm.fleet_world import ALICE, ANSWER, STORER, fleet_world


@pytest.fixture(scope="module")
def fork() -> Fork:
    return fleet_world()


def test_an_output_shorter_than_asked_is_not_a_success(fork: Fork) -> None:
    program = Program()
    status, _, words = program.call(Template(ANSWER, b"\1"), returns=2)
    program.output("status", status)
    program.output("first", words[0])
    result = Fleet(fork, 1).run(program)
    assert (result["status"][0], result["first"][0]) == (SHORT_OUTPUT, 42)


def test_a_call_to_nobody_is_not_a_success(fork: Fork) -> None:
    program = Program()
    for name, template in {
        "nobody": Template(b"\x99" * 20, b"\1\2\3\4"),
        "money": Template(b"\x99" * 20, b""),
        "identity": Template(bytes(19) + b"\4", b"\1"),
        "silent": Template(STORER, bytes(64)),
    }.items():
        program.output(name, program.call(template)[0])
    result = Fleet(fork, 1).run(program)
    assert {name: result[name][0] for name in result} == {
        "nobody": NO_CODE,
        "money": SUCCESS,
        "identity": SUCCESS,
        "silent": SUCCESS,
    }


def test_impossible_inputs_are_refused_and_change_nothing(fork: Fork) -> None:
    program = Program()
    which = program.input("which")
    program.call([Template(ANSWER, b"\1")], choice=which)
    fleet = Fleet(fork, 2)
    with pytest.raises(UsageError, match=r"choice 3 is not one of 1 templates .*row 1"):
        fleet.run(program, which=[0, 3])
    with pytest.raises(UsageError, match="input 'which' is not given"):
        fleet.run(program)
    with pytest.raises(UnknownName, match="unknown input 'witch'"):
        fleet.run(program, witch=[0, 0])
    with pytest.raises(UsageError, match="has 3 values for 2 rows"):
        fleet.run(program, which=[0, 0, 0])
    for bad in ([0, -1], [0, 2**256], [0, 0.5], np.array([0.0, 1.0]), np.array([0, -1])):
        with pytest.raises(BadInteger):
            fleet.run(program, which=bad)
    for shapeless in (None, np.zeros((2, 2), dtype=np.int64)):
        with pytest.raises(UsageError, match="input 'which' is"):
            fleet.run(program, which=shapeless)
    assert fleet.run(program, which=np.int64(0)).words.shape == (2, 0, 32)
    with pytest.raises(UsageError, match="0 threads"):
        fleet.run(program, which=0, threads=0)
    with pytest.raises(UsageError, match="0 rows"):
        Fleet(fork, 0)


def test_a_program_refuses_what_cannot_work() -> None:
    program, other = Program(), Program()
    foreign = other.input("x")
    with pytest.raises(IndexError, match="a hole at byte 33 does not fit into 64 bytes"):
        Template(STORER, bytes(64), {33: 0})
    with pytest.raises(ValueError, match="overlap"):
        Template(STORER, bytes(64), {0: 0, 31: 0})
    with pytest.raises(ValueError, match="another"):
        program.load(STORER, foreign)
    with pytest.raises(ValueError, match="needs a template"):
        program.call([])
    with pytest.raises(ValueError, match=r"'slot' is not an address; `fork.address_of"):
        program.load(STORER, "slot")
    with pytest.raises(TypeError, match="a word is"):
        program.load(STORER, 1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="2 templates need a choice"):
        program.call([Template(STORER, b""), Template(STORER, b"")])
    program.input("x")
    with pytest.raises(ValueError, match="input 'x' is there already"):
        program.input("x")


def test_an_outcome_gives_statuses_and_all_outputs_as_floats(fork: Fork) -> None:
    values, program = [0, 1, 2**64 + 1, 2**200 + 2**140 + 3], Program()
    given_word = program.input("given")
    program.output("status", program.less(0, given_word))
    program.output("same", given_word)
    outcome = Fleet(fork, len(values)).run(program, given=values)
    assert outcome.status("status").tolist() == [0, 1, 1, 1]
    with pytest.raises(UnknownName, match="status"):
        outcome.status("stauts")
    assert outcome.floats[:, 1].tolist() == outcome["same"].float64().tolist() == [float(each) for each in values]


def test_every_way_to_give_words_means_the_same(fork: Fork) -> None:
    program = Program()
    program.output("same", program.input("x"))
    fleet = Fleet(fork, 2)
    as_bytes = np.frombuffer(word(7) + word(7), dtype=np.uint8).reshape(2, 32)
    for given_value in (7, [7, 7], np.array([7, 7]), np.array([7, 7], dtype=np.uint8), as_bytes, Words(as_bytes)):
        assert fleet.run(program, x=given_value)["same"].ints() == [7, 7]
    for address in (ALICE, checksum(ALICE), [checksum(ALICE), ALICE]):
        assert fleet.run(program, x=address)["same"].addresses() == [ALICE, ALICE]


def test_addresses_in_templates_may_be_text(fork: Fork) -> None:
    program = Program()
    program.output("status", program.call(Template(checksum(ANSWER), b"\1", sender=checksum(ALICE)))[0])
    assert Fleet(fork, 1).run(program)["status"].ints() == [SUCCESS]


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.int64, np.uint64, ">i4", ">u8"])
def test_an_array_of_any_integers_gives_the_same_words_as_their_list(fork: Fork, dtype: str) -> None:
    kind = np.dtype(dtype)
    largest = 1 if kind == np.bool_ else int(np.iinfo(kind).max)
    values = [0, 1, largest]
    program = Program()
    program.output("given", program.input("given"))
    fleet = Fleet(fork, 3)
    array = np.array(values, dtype=kind)
    for given_values in (values, array, array[::-1], np.repeat(array, 2)[::2]):
        result = fleet.run(program, given=given_values)["given"].ints()
        assert result == [int(value) for value in given_values]
    if kind.kind == "i":
        with pytest.raises(BadInteger, match="input 'given' holds -2, which is negative"):
            fleet.run(program, given=np.array([1, -2, 3], dtype=kind))

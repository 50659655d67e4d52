"""A fleet's rows are independent EVMs: the same results one by one, in a batch, and on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi import _kernel
from mayavi._kernel import Evm
from mayavi.errors import BadInteger, MissingStateError, UsageError
from mayavi.evm.fleet import HALTED, REVERTED, SKIPPED, SUCCESS, Fleet, Program, Template, Words
from mayavi.evm.fork import Fork
from tests.evm.bytecode import LOAD, STORE, initcode, word
from tests.evm.fleet_world import ALICE, ANSWER, CLOCK, HALTER, LOADER, REVERTER, STORER, fleet_world


@pytest.fixture(scope="module")
def fork() -> Fork:
    return fleet_world()


def storing_program() -> Program:
    """Store, wait, read the clock, and choose between contracts: every kind of operation in one step."""
    program = Program()
    slot, value, which, act, pause = (program.input(name) for name in ("slot", "value", "which", "act", "pause"))
    stored, gas, _ = program.call(Template(STORER, bytes(64), {0: slot, 32: value}, sender=ALICE), mask=act)
    program.advance(1, pause)
    _, _, clock = program.call(Template(CLOCK, b"\1"), returns=2, commit=False)
    back = program.load(STORER, slot)
    choices = [Template(ANSWER, b"\1"), Template(REVERTER, b"\1"), Template(HALTER, b"\1", gas=50_000)]
    status, _, words = program.call(choices, choice=which, returns=1)
    program.store(STORER, 77, back)
    for name, each in {
        "stored": stored,
        "gas": gas,
        "time": clock[0],
        "number": clock[1],
        "back": back,
        "status": status,
        "answer": words[0],
    }.items():
        program.output(name, each)
    return program


rows = st.lists(
    st.tuples(
        st.integers(0, 2**256 - 1),
        st.integers(0, 2**256 - 1),
        st.integers(0, 2),
        st.integers(0, 1),
        st.integers(0, 1_000),
    ),
    min_size=1,
    max_size=23,
)


@given(rows, st.integers(1, 3))
def test_rows_equal_single_evms_and_threads_change_nothing(
    fork: Fork, given_rows: list[tuple[int, int, int, int, int]], steps: int
) -> None:
    program = storing_program()
    names = ("slot", "value", "which", "act", "pause")
    columns = {name: [row[i] for row in given_rows] for i, name in enumerate(names)}
    one, two = Fleet(fork, len(given_rows)), Fleet(fork, len(given_rows))
    for _ in range(steps):
        result = one.run(program, threads=1, **columns)
        assert two.run(program, threads=2, **columns).words.tobytes() == result.words.tobytes()

    for index, (slot, value, which, act, pause) in enumerate(given_rows):
        single = fork.copy()
        for _ in range(steps):
            gas = single.send(STORER, word(slot) + word(value), sender=ALICE).gas_used if act else 0
            single.mine(1, pause)
            clock = single.call(CLOCK, b"\1")
            back = single.storage(STORER, slot)
            place = (ANSWER, REVERTER, HALTER)[which]
            receipt = single.send(place, b"\1", check=False, gas=50_000 if which == 2 else None)
            single.set_storage(STORER, 77, back)
        assert result["stored"][index] == (SUCCESS if act else SKIPPED)
        assert result["gas"][index] == gas
        assert word(result["time"][index]) + word(result["number"][index]) == clock
        assert result["back"][index] == back
        assert result["status"][index] == (SUCCESS, REVERTED, HALTED)[which]
        assert result["answer"][index] == (int.from_bytes(receipt.output, "big") if which == 0 else 0)
        assert one.fork(index).digest() == two.fork(index).digest() == single.digest()


@given(rows, st.data())
def test_rows_that_are_named_run_as_in_a_fleet_of_their_own_and_the_others_rest(
    fork: Fork, given_rows: list[tuple[int, int, int, int, int]], data: st.DataObject
) -> None:
    count = len(given_rows)
    chosen = sorted(data.draw(st.sets(st.integers(0, count - 1), min_size=1)))
    columns = {
        name: [given_rows[row][i] for row in chosen]
        for i, name in enumerate(("slot", "value", "which", "act", "pause"))
    }
    fleet, apart = Fleet(fork, count), Fleet(fork, len(chosen))
    untouched = fork.digest()
    for threads in (1, 2):
        found = fleet.run(storing_program(), threads=threads, only=chosen, **columns)
        assert found.words.tobytes() == apart.run(storing_program(), threads=1, **columns).words.tobytes()
    for row in range(count):
        expected = apart.fork(chosen.index(row)).digest() if row in chosen else untouched
        assert fleet.fork(row).digest() == expected


def test_rows_to_run_are_named_once_and_in_ascending_order(fork: Fork) -> None:
    fleet = Fleet(fork, 3)
    for only in ([], [1, 0], [1, 1]):
        with pytest.raises(UsageError, match="not in ascending order"):
            fleet.run(storing_program(), only=only, slot=1, value=1, which=0, act=1, pause=0)
    with pytest.raises(UsageError, match="row 3 is not one of 3"):
        fleet.run(storing_program(), only=[0, 3], slot=1, value=1, which=0, act=1, pause=0)


def test_reset_and_copy_move_single_rows(fork: Fork) -> None:
    program = Program()
    value = program.input("value")
    program.store(STORER, 1, value)
    program.output("now", program.load(STORER, 1))
    fleet = Fleet(fork, 4)
    assert fleet.run(program, value=[10, 20, 30, 40])["now"].ints() == [10, 20, 30, 40]
    fleet.reset([1, 3])
    fleet.copy_row(2, 0)
    assert [fleet.fork(row).storage(STORER, 1) for row in range(4)] == [30, 0, 30, 0]
    fleet.reset()
    assert {fleet.fork(row).digest() for row in range(4)} == {fork.digest()}


def test_a_row_can_be_set_from_a_twin_and_only_from_a_twin(fork: Fork) -> None:
    fleet = Fleet(fork, 2)
    twin = fork.copy()
    twin.set_storage(STORER, 1, 99)
    fleet.set_row(1, twin)
    assert [fleet.fork(row).storage(STORER, 1) for row in range(2)] == [0, 99]
    with pytest.raises(UsageError, match="another world"):
        fleet.set_row(0, Fork.empty())


def test_a_fleet_of_a_fork_that_has_written_starts_there(fork: Fork) -> None:
    moved = fork.copy()
    with moved.snapshot():
        moved.set_storage(STORER, 1, 5)
        fleet = Fleet(moved, 2)
    assert moved.storage(STORER, 1) == 0
    assert fleet.fork(1).storage(STORER, 1) == 5


def test_a_step_is_all_or_nothing() -> None:
    evm = Evm(1, "shanghai", closed=False)
    evm.learn_account(STORER, 0, 1, STORE)
    evm.learn_account(ALICE, 0, 0, b"")
    evm.learn_slots(STORER, {1: 0, 2: 0})
    fork = Fork.from_state(evm.freeze(), labels={}, source={})
    program = Program()
    slot = program.input("slot")
    program.call(Template(STORER, bytes(31) + b"\1" + bytes(31) + b"\7", sender=ALICE))
    program.output("read", program.load(STORER, slot))
    fleet = Fleet(fork, 3)
    with pytest.raises(MissingStateError, match=r"slot 0x9 .*in row 1; all rows are as before"):
        fleet.run(program, slot=[1, 9, 2], threads=2)
    assert [fleet.fork(row).storage(STORER, 1) for row in range(3)] == [0, 0, 0]
    assert fleet.run(program, slot=[1, 1, 2])["read"].ints() == [7, 7, 0]


@pytest.mark.parametrize(("probe", "found"), [(False, {5, 8}), (True, {5, 7, 8, 9})])
def test_what_rows_miss_is_told_together_and_by_a_probe_beyond_the_first(probe: bool, found: set[int]) -> None:
    reader = {1: "6005546007545050", 2: "6008546009545050"}  # slots 5 and 7, slots 8 and 9
    evm = Evm(1, "shanghai", closed=False)
    for account in (ALICE, bytes(20)):
        evm.learn_account(account, 0, 0, b"")
    for number, code in reader.items():
        evm.learn_account(bytes(19) + bytes([16 + number]), 0, 1, bytes.fromhex(code + "00"))
    program = Program()
    for number in reader:
        program.call(
            Template(bytes(19) + bytes([16 + number]), b"", sender=ALICE),
            mask=program.equal(program.input(f"{number}"), 1),
        )
    fleet = _kernel.Fleet(evm, 3)
    words = np.zeros((3, 2, 32), dtype=np.uint8)
    words[0, 0, 31] = words[2, 1, 31] = 1
    with pytest.raises(_kernel.MissingState) as error:
        fleet.run(program, words, 1, probe)
    assert {slot for kind, _, slot in error.value.args[1] if kind == "slot"} == found
    evm.learn_slots(bytes(19) + b"\x11", {5: 0, 7: 0})  # of the world below all rows
    evm.learn_slots(bytes(19) + b"\x12", {8: 0, 9: 0})
    exact, rounded, arrays = fleet.run(program, words, 1, probe)
    assert (exact.shape, rounded.shape, arrays) == ((3, 0, 32), (3, 0), [])


def test_a_fleet_says_what_helps_where_state_is_missing() -> None:
    evm = Evm(1, "shanghai", closed=False)
    evm.learn_account(STORER, 0, 1, STORE)
    program = Program()
    program.output("read", program.load(STORER, 3))
    fleet = Fleet(Fork.from_state(evm.freeze(), labels={}, source={}), 1, lacking="read it beforehand")
    with pytest.raises(MissingStateError, match="slot 0x3") as error:
        fleet.run(program)
    assert error.value.hint == "read it beforehand"


def test_rows_that_do_not_exist_are_refused(fork: Fork) -> None:
    fleet = Fleet(fork, 2)
    for use in (lambda: fleet.fork(2), lambda: fleet.reset([-1]), lambda: fleet.copy_row(0, 5)):
        with pytest.raises(UsageError, match="is not one of 2"):
            use()


def test_words_are_exact_and_say_when_they_do_not_fit() -> None:
    values = [0, 1, 2**64 - 1, 2**255 + 12345]
    words = Words(np.frombuffer(b"".join(word(value) for value in values), dtype=np.uint8).reshape(4, 32))
    assert words.ints() == values
    assert words[3] == values[3]
    assert words.float64() == pytest.approx([float(value) for value in values], rel=1e-15)
    with pytest.raises(BadInteger, match="row 3 holds"):
        words.uint64()
    assert Words(words.words[:3]).uint64().tolist() == values[:3]


def test_words_compare_with_an_integer_row_by_row_and_exactly() -> None:
    values = [0, 10**18 - 1, 10**18, 2**256 - 1]
    words = Words(np.array([list(value.to_bytes(32, "big")) for value in values], dtype=np.uint8))
    assert list(words) == values
    assert (words < 10**18).tolist() == [True, True, False, False]
    assert (words <= 10**18).tolist() == [True, True, True, False]
    assert (words > 10**18).tolist() == [False, False, False, True]
    assert (words >= 10**18).tolist() == [False, False, True, True]


WRITES = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.integers(0, 2)), max_size=6)


@given(one=WRITES, two=WRITES, waits=st.tuples(st.integers(0, 1), st.integers(0, 1)))
def test_rows_have_one_identity_exactly_where_their_states_are_equal(one: list, two: list, waits: tuple) -> None:
    """A row that wrote a slot and wrote it back stands where one stands that wrote nothing."""
    fork = Fork.empty()
    for place, value in ((STORER, 2), (LOADER, 0)):
        fork.create_at(place, initcode(STORE), sender=ALICE)
        fork.set_storage(place, 1, value)
    fleet = Fleet(fork.frozen(), 3)
    for row, writes in enumerate((one, two)):
        twin = fleet.fork(row)
        for which, slot, value in writes:
            place = (STORER, LOADER, ALICE)[which]
            if place == ALICE:
                twin.set_balance(ALICE, value)
            else:
                twin.set_storage(place, slot, value)
        twin.mine(waits[row], waits[row])
        fleet.set_row(row, twin)
    digests = [fleet.fork(row).digest() for row in range(3)]
    identities = fleet.identities()
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert (identities[a] == identities[b]) is (digests[a] == digests[b])
    assert fleet.identities([2, 0]) == [identities[2], identities[0]]
    kept = fleet.keep(0)
    fleet.reset([0])
    assert fleet.identities([0]) == [identities[2]]
    fleet.put(1, kept)
    assert fleet.identities([1]) == [identities[0]]
    with pytest.raises(UsageError, match="row 3 is not one of 3"):
        fleet.identities([3])
    assert fleet.identities([]) == []


def test_what_is_learnt_of_an_open_world_changes_no_identity() -> None:
    evm = Evm(1, "cancun", closed=False)
    evm.learn_account(STORER, 0, 1, STORE)
    evm.learn_slots(STORER, {5: 1})
    fleet = Fleet(Fork._of(evm, None, {}, {}), 3)
    program = Program()
    program.store(STORER, 5, program.input("value"))
    fleet.run(program, value=[7, 8, 7], threads=1)
    before = fleet.identities()
    evm.learn_slots(STORER, {6: 7})
    evm.learn_account(LOADER, 5, 1, LOAD)
    assert fleet.identities() == before
    assert before[0] == before[2] != before[1]

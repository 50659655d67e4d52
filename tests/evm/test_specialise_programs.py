"""A whole program replayed as one path does what its operations do, one after the other."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mayavi import _kernel
from mayavi.errors import ReplayDiffers, UsageError
from mayavi.evm.fleet import Fleet, Program, Template
from mayavi.evm.path_cache import PathCache
from mayavi.evm.words import to_words
from tests.evm.assembler import returning
from tests.evm.floats import FLOATS, TWO
from tests.evm.test_program_arithmetic import FUNCTIONS, LARGEST, TAKES
from tests.evm.test_specialise import ALICE, CONTRACTS, LIBRARY, OTHER, TARGET, world

ROWS = 16
EDGES = [0, 1, 2, 3, 255, 256, 10**6, 2**64 - 1, 2**64, 2**128 + 1, 2**255, LARGEST - 1, LARGEST]


def step_program() -> Program:
    """Two transactions and a view, slots between them, time, and arithmetic on what they return and cost."""
    made = Program()
    one, two, pause, live = (made.input(name) for name in ("one", "two", "pause", "live"))
    status, gas, words = made.call(Template(TARGET, bytes(64), {0: one, 32: two}, sender=ALICE), returns=1)
    made.advance(1, pause, mask=live)
    made.store(TARGET, 0, made.add(made.load(TARGET, 0), 1), mask=live)
    total = made.add(words[0], made.load(TARGET, made.bits(one, 0, 2)))
    again = Template(TARGET, bytes(64), {0: two, 32: total}, sender=OTHER)
    other = Template(LIBRARY, bytes(32), {0: one}, sender=ALICE)
    third, more_gas, more = made.call([again, other], choice=live, returns=1)
    made.store(TARGET, 9, made.add(gas, more_gas), mask=live)
    view = Template(TARGET, bytes(64), {0: two, 32: one})
    _, view_gas, seen = made.call(view, returns=1, commit=False, mask=live)
    slots = [made.load(TARGET, slot) for slot in range(4)]
    costs = [gas, more_gas, view_gas]
    for index, each in enumerate([status, *words, third, *more, *seen, total, *slots, *made.time(), *costs]):
        made.output(str(index), each)
    return made


def drawn(rng: np.random.Generator, rows: int = ROWS) -> dict[str, Any]:
    def words(name: str) -> Any:
        kinds = rng.integers(0, 3, rows)
        values = [EDGES[rng.integers(len(EDGES))] if kind == 0 else int(rng.integers(16)) for kind in kinds]
        return to_words(values, rows, name)

    return {"one": words("one"), "two": words("two"), "pause": rng.integers(0, 3, rows), "live": rng.random(rows) < 0.9}


def course(fleet: Fleet, steps: int, threads: int = 1, seed: int = 1) -> list[bytes]:
    made, rng = step_program(), np.random.default_rng(seed)
    told = []
    for step in range(steps):
        told.append(fleet.run(made, threads=threads, **drawn(rng, len(fleet))).words.tobytes())
        if step % 20 == 19:
            fleet.reset([0, 3])
            fleet.finish_compiling()
    return told + fleet.identities()


def whole(fleet: Fleet, name: str) -> int:
    return sum(program[name] for program in fleet.program_statistics())


@pytest.mark.parametrize("name", CONTRACTS)
def test_every_mode_gives_the_same(name: str) -> None:
    fork = world(CONTRACTS[name])
    told = course(Fleet(fork, ROWS, specialise="off"), 60)
    for mode, threads in (("on", 1), ("on", 2), ("check", 1)):
        fleet = Fleet(fork, ROWS, specialise=mode)
        assert course(fleet, 60, threads) == told, (mode, threads)
        never = name in ("reads gas", "creates")
        assert (whole(fleet, "hits") == 0) == never, fleet.program_statistics()


@pytest.mark.slow(0.3)
@pytest.mark.parametrize("hardfork", ["london", "shanghai", "prague"])
@pytest.mark.parametrize("name", ["writes and clears in one go", "writes any slot", "reverts at times"])
def test_gas_is_that_of_the_interpreter_under_every_hard_fork(name: str, hardfork: str) -> None:
    fork = world(CONTRACTS[name], hardfork)
    fleet, plain = Fleet(fork, ROWS, specialise="check"), Fleet(fork, ROWS, specialise="off")
    assert course(fleet, 200, seed=7) == course(plain, 200, seed=7)
    assert whole(fleet, "native") > 300, fleet.program_statistics()


@pytest.mark.slow(0.3)
def test_code_takes_over_and_gives_the_same() -> None:
    fork = world(CONTRACTS["counts up and down"])
    told = course(Fleet(fork, ROWS, specialise="off"), 240)
    for mode in ("on", "check"):
        fleet = Fleet(fork, ROWS, specialise=mode)
        assert course(fleet, 240) == told
        assert whole(fleet, "native") > 500, fleet.program_statistics()


@pytest.mark.slow(0.3)
def test_rows_side_by_side_do_not_disturb_each_other() -> None:
    made, rng = Program(), np.random.default_rng(6)
    start, by = made.input("start"), made.input("by")
    made.call(Template(TARGET, bytes(64), {0: start}, sender=ALICE))
    value = start
    for _ in range(6):  # each waits for the one before, so that two rows are computed at the same time
        value = made.add(made.multiply_divide(value, value, by), 1)
    made.output("value", value)
    rows = 15  # the last one is alone
    fork = world(CONTRACTS["logs"])
    fleets = {mode: Fleet(fork, rows, specialise=mode) for mode in ("off", "on")}
    for step in range(200):
        # Some rows are too wide for the code, so that one of a pair is left to the operations.
        start_bits, by_bits = (np.where(rng.random(rows) < 0.05, wide, 90) for wide in (140, 10))
        given = [
            [1 << int(bits) | int.from_bytes(rng.bytes(8), "big") for bits in each] for each in (start_bits, by_bits)
        ]
        words = dict(zip(("start", "by"), (to_words(each, rows, "word") for each in given), strict=True))
        told = {mode: fleet.run(made, threads=1, **words).words.tobytes() for mode, fleet in fleets.items()}
        assert told["on"] == told["off"], step
        if step % 40 == 39:
            fleets["on"].finish_compiling()
    assert fleets["on"].identities() == fleets["off"].identities()
    assert 500 < whole(fleets["on"], "native") < whole(fleets["on"], "calls"), fleets["on"].program_statistics()


@pytest.mark.slow(0.3)
def test_arithmetic_is_that_of_python() -> None:
    made, rng = Program(), np.random.default_rng(5)
    names = [made.input(name) for name in "abc"]
    made.call(Template(TARGET, bytes(64), {0: names[0]}, sender=ALICE))
    for name in FUNCTIONS:
        made.output(name, getattr(made, name)(*names[: TAKES[name]]))
    made.output("bits", made.bits(names[0], 5, 70))
    made.output("with_bits", made.with_bits(names[0], 60, 9, names[1]))
    made.output("by_constant", made.multiply_divide(names[0], 10**6, 10**27))
    fork = world(CONTRACTS["logs"])
    fleets = {mode: Fleet(fork, ROWS, specialise=mode) for mode in ("on", "check")}
    for step in range(150):
        given = [[EDGES[at] if at < len(EDGES) else int.from_bytes(rng.bytes(at), "big")
                  for at in rng.integers(0, 32, ROWS)] for _ in names]  # fmt: skip
        words = dict(zip("abc", (to_words(each, ROWS, "word") for each in given), strict=True))
        for fleet in fleets.values():
            told = fleet.run(made, threads=1, **words)
            for name, function in FUNCTIONS.items():
                wanted = [function(*row[: TAKES[name]]) for row in zip(*given, strict=True)]
                assert [int(each) for each in told[name]] == wanted, name
            for row, (a, b, _) in enumerate(zip(*given, strict=True)):
                assert int(told["bits"][row]) == (a >> 5) % 2**70
                assert int(told["with_bits"][row]) == a & ~(511 << 60) | min(b, 511) << 60
                assert int(told["by_constant"][row]) == min(a * 10**6 // 10**27, LARGEST)
            if step % 30 == 29:
                fleet.finish_compiling()
    assert all(whole(fleet, "native") > 100 for fleet in fleets.values())


def test_a_write_to_a_folded_slot_is_seen() -> None:
    made = Program()
    _, _, words = made.call(Template(TARGET, bytes(32), {0: made.input("one")}, sender=ALICE), returns=1)
    made.output("told", words[0])
    fleet = Fleet(world(returning("5 SLOAD 0 CALLDATALOAD ADD")), 4, specialise="on")

    def told() -> list[int]:
        return [int(each) for each in fleet.run(made, one=100, threads=1)["told"].uint64()]

    for step in range(200):
        assert told() == [100] * 4
        if step % 40 == 39:
            fleet.finish_compiling()
    assert whole(fleet, "native") > 0
    writer = Program()
    writer.store(TARGET, 5, 7, mask=writer.input("mask"))
    fleet.run(writer, mask=np.array([0, 1, 0, 0]), threads=1)
    for _ in range(80):
        assert told() == [100, 107, 100, 100]
    assert whole(fleet, "resets") == 1


@pytest.mark.slow(0.3)
def test_the_next_process_takes_paths_from_the_cache(tmp_path: Path) -> None:
    fork = world(CONTRACTS["counts up and down"])
    cache = PathCache(fork.digest(), tmp_path)
    told = course(Fleet(fork, ROWS, specialise="off"), 120)
    cold = Fleet(fork, ROWS, specialise="on", cache=cache)
    assert course(cold, 120) == told
    assert cold.save_paths()
    for mode in ("on", "check"):
        warm = Fleet(fork, ROWS, specialise=mode, cache=cache)
        warm.finish_compiling()
        assert course(warm, 120) == told
        assert whole(warm, "cached") == whole(cold, "paths") > 0
        assert whole(warm, "native") > whole(cold, "native")


def float_program() -> Program:
    """A transaction, and every float operation on a slot that it writes and on floats that are given."""
    made = Program()
    one, (near, wide) = made.input("one"), made.input_floats("seen", 2)
    made.call(Template(TARGET, bytes(64), {0: one}, sender=ALICE))
    stored = made.float_of_word(made.load(TARGET, 0))
    made.output("rounded", made.word_of_float(made.float_multiply(near, wide)))
    results = [stored]
    for name in FLOATS:
        results.append(getattr(made, name)(*(near, wide)[: 2 if name in TWO else 1]))
    made.output_floats("results", results)
    made.output_singles("chosen", [made.either(made.float_less(near, stored), near, wide)])
    return made


def float_course(folder: str, mode: str) -> tuple[list[bytes], int, int]:
    """Outputs of some steps, and how many paths were there before and after; keeps the paths in `folder`."""
    fork, rng = world(CONTRACTS["counts up and down"]), np.random.default_rng(2)
    fleet = Fleet(fork, ROWS, specialise=mode, cache=PathCache(fork.digest(), Path(folder)))
    made, told = float_program(), []
    for _ in range(120):
        found = fleet.run(made, one=rng.integers(0, 9, ROWS), seen=rng.uniform(0.5, 90, (ROWS, 2)), threads=1)
        told += [found.words.tobytes(), *(array.tobytes() for array in found.arrays.values())]
    cached = whole(fleet, "cached")
    fleet.save_paths()
    return told + fleet.identities(), cached, whole(fleet, "paths")


@pytest.mark.slow(2)
def test_another_process_takes_up_programs_with_floats(tmp_path: Path) -> None:
    told, cached, paths = float_course(str(tmp_path), "on")
    assert cached == 0
    assert paths > 0
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
        again, cached, _ = other.submit(float_course, str(tmp_path), "check").result()
    assert again == told
    assert cached == paths


def test_a_fault_from_the_cache_is_found(tmp_path: Path) -> None:
    fork = world(CONTRACTS["branches"])
    cache = PathCache(fork.digest(), tmp_path)
    recorder = Fleet(fork, ROWS, specialise="on")
    recorder._fleet = _kernel.Fleet(fork._evm, ROWS, "on", "program guard")
    made, rng, kept = step_program(), np.random.default_rng(1), b""
    with suppress(ReplayDiffers):
        for _ in range(40):
            recorder.run(made, threads=1, **drawn(rng))
            kept = recorder._fleet.save_paths() or b""
    cache.write(kept)
    warm = Fleet(fork, ROWS, specialise="check", cache=cache)
    with pytest.raises(ReplayDiffers, match="the replayed step"):
        [course(warm, 40, seed=seed) for seed in range(5)]


FAULTS = {"program guard": "branches", "program write": "branches", "program gas": "writes any slot"}


@pytest.mark.spoils_recordings
@pytest.mark.parametrize(("fault", "name"), FAULTS.items())
def test_a_fault_in_a_recorded_program_is_found(fault: str, name: str) -> None:
    fork, made, rng = world(CONTRACTS[name]), step_program(), np.random.default_rng(3)
    kernel = _kernel.Fleet(fork._evm, ROWS, "check", fault)
    plain = Fleet(fork, ROWS, specialise="off")
    words = [plain._words(made, drawn(rng), ROWS) for _ in range(40)]
    with pytest.raises(ReplayDiffers, match="the replayed step"):
        _ = [kernel.run(made, each, 1) for each in words]


def test_a_run_that_fails_leaves_rows_as_they_were() -> None:
    made = Program()
    made.call(Template(TARGET, bytes(64), {0: made.input("one")}, sender=ALICE))
    made.advance(1, 12)
    made.call(Template(made.input("to"), bytes(64), sender=OTHER))
    to = int.from_bytes(LIBRARY, "big")
    fleet = Fleet(world(CONTRACTS["counts up and down"]), ROWS, specialise="on")
    for step in range(160):
        fleet.run(made, one=1, to=to, threads=1)
        if step % 40 == 39:
            fleet.finish_compiling()
    assert whole(fleet, "native") > 0
    before = fleet.identities()
    with pytest.raises(UsageError, match="not an address"):
        fleet.run(made, one=5, to=to_words([to] * (ROWS - 1) + [2**200], ROWS, "to"), threads=1)
    assert fleet.identities() == before


def test_a_program_that_is_not_replayed_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    fork, made = world(CONTRACTS["logs"]), Program()
    made.output("slot", made.load(TARGET, 0))
    fleet = Fleet(fork, 2, specialise="on")
    fleet.run(made, threads=1)
    assert [each["off"] for each in fleet.program_statistics()] == ["it makes no call"]
    single = Program(whole=False)
    single.output("gas", single.call(Template(TARGET, bytes(64), sender=ALICE))[1])
    fleet = Fleet(fork, 2, specialise="on")
    fleet.run(single, threads=1)
    assert [each["off"] for each in fleet.program_statistics()] == ["its calls are replayed one by one"]
    monkeypatch.setenv("MAYAVI_WHOLE_PROGRAMS", "0")
    assert Fleet(fork, 2, specialise="on").program_statistics() == []

"""Whole runs: what is written down, what an agent that breaks does to them, and how they end."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

import numpy as np
import pytest

from mayavi import Fork
from mayavi.agents.base import StepResult, World
from mayavi.errors import RpcTimeout, RunHalted, UsageError
from mayavi.sim.hooks import Hook
from mayavi.sim.recorder import MemoryRecorder
from mayavi.sim.rows import KpiRow, SnapshotRow
from mayavi.sim.rows_digest import RowsDigest
from mayavi.sim.runner import Runner
from mayavi.sim.world_state import WorldState
from tests.sim.small_world import Racer, Scripted, info, ran, scheduled, wish


class Stepper(Hook):
    def after_step(self, world: WorldState, actions: object) -> Iterable[SnapshotRow]:
        yield SnapshotRow(
            world.step,
            world.fork.block_number,
            world.fork.timestamp,
            "x",
            "step",
            str(world.step),
            float(world.step),
            "count",
        )


def broken(world: World, step_idx: int) -> StepResult:
    if step_idx == 1:
        raise ValueError("out of ideas")
    return wish("fine")


def breaking(world: World, step_idx: int) -> StepResult:
    def act() -> None:
        world.fork.set_balance(world.address("bold"), 5)
        raise KeyError("nowhere")

    return wish("act", act)


def test_a_run_hands_over_every_step_and_ends_finished(fork: Fork) -> None:
    done: list[tuple[int, int]] = []
    scheduler, recorder = scheduled(fork, [Racer("a"), Racer("b")], hooks=[Stepper()]), MemoryRecorder()
    end = Runner(scheduler.world, scheduler, steps=3, recorder=recorder, info=info()).run(
        lambda step, steps: done.append((step, steps))
    )
    assert end.status == "finished"
    assert done == [(1, 3), (2, 3), (3, 3)]
    assert recorder.info == info()
    assert recorder.ended is end
    assert [row.step for row in recorder.actions] == [0, 0, 1, 1, 2, 2]
    assert [row.value for row in recorder.snapshots] == ["-1", "0", "1", "2"]
    assert end.final_world_digest == fork.digest()


NUMBERS = (0.0, -0.0, 0.0, 1.0, 1e300, 0.1 + 0.2, -2.5, 1.0)


@pytest.mark.parametrize("numbers", [NUMBERS, (*NUMBERS, 1), (np.float64(0.5),)])
def test_figures_are_hashed_as_lines_of_json(numbers: tuple[float, ...]) -> None:
    rows = [
        SnapshotRow(step % 3, 10**9, 7, f'a "{step}" % ü', "%d\n", f"-{step}\\", number, "%")
        for step, number in enumerate(numbers)
    ]
    lines = (json.dumps(["SnapshotRow", *row], ensure_ascii=False, separators=(",", ":")) for row in rows)
    expected = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    for _ in range(2):
        digest = RowsDigest()
        digest.add(rows)
        assert digest.hexdigest() == expected
    one_by_one = RowsDigest()
    for row in rows:
        one_by_one.add([row])
    assert one_by_one.hexdigest() == expected


def test_the_digest_is_that_of_the_rows_as_they_were_handed_over(fork: Fork) -> None:
    recorder, end = ran(fork, [Racer("a"), Racer("b")], hooks=[Stepper()])
    digest = RowsDigest()
    for step in range(3):
        digest.add([row for row in recorder.actions if row.step == step])
        digest.add([row for row in recorder.snapshots if row.step == step or (step == 0 and row.step == -1)])
    digest.add(end.kpis)
    assert digest.hexdigest() == end.digest


def test_an_agent_that_raises_is_recorded_and_counted_and_the_run_goes_on(fork: Fork) -> None:
    recorder, end = ran(fork, [Scripted("shy", broken), Scripted("bold", breaking)])
    assert end.status == "finished"
    assert [(row.step, row.agent, row.kind, row.status) for row in recorder.actions if row.status == "raised"] == [
        (0, "bold", "act", "raised"),
        (1, "shy", "step", "raised"),
        (1, "bold", "act", "raised"),
        (2, "bold", "act", "raised"),
    ]
    shy = next(row for row in recorder.actions if row.agent == "shy" and row.status == "raised")
    assert shy.reason.splitlines()[-1] == "ValueError: out of ideas"
    assert 'raise ValueError("out of ideas")' in shy.reason
    counts = {row.name: row.value for row in end.kpis}
    assert (counts["raised"], counts["failed"], counts["actions"]) == ("4", "0", "6")
    assert fork.balance(WorldState(fork, [], seed=1).address("bold")) == 0


@pytest.mark.parametrize(
    ("agent", "step", "says"),
    [
        (Scripted("shy", broken), 1, "agent 'shy' raised in step 1, block 'all', step: ValueError: out of ideas"),
        (Scripted("bold", breaking), 0, "agent 'bold' raised in step 0, block 'all', act: KeyError: 'nowhere'"),
    ],
)
def test_a_run_that_is_told_to_halts_with_the_traceback(fork: Fork, agent: Scripted, step: int, says: str) -> None:
    recorder, end = ran(fork, [agent, Scripted("zoe", lambda world, step_idx: wish())], halt_on_exception=True)
    assert end.status == "halted"
    assert end.error.startswith(says)
    assert "test_runner.py:" in end.error
    assert recorder.ended is end
    assert recorder.actions[-1].status == "raised"
    assert recorder.actions[-1].step == step
    assert end.kpis == ()


def test_a_step_alone_raises_what_halted_it(fork: Fork) -> None:
    scheduler = scheduled(fork, [Scripted("bold", breaking)], halt_on_exception=True)
    with pytest.raises(RunHalted, match="nowhere") as caught:
        scheduler.tick()
    assert isinstance(caught.value.__cause__, KeyError)
    assert [row.status for row in scheduler.unfinished] == ["raised"]


def test_a_failed_transaction_halts_nothing(fork: Fork) -> None:
    recorder, end = ran(fork, [Racer("a"), Racer("b")], halt_on_exception=True)
    assert end.status == "finished"
    assert {row.status for row in recorder.actions} == {"success", "failed"}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RpcTimeout("the node is gone")])
def test_what_is_nobodys_fault_interrupts_the_run_and_is_raised(fork: Fork, error: BaseException) -> None:
    def script(world: World, step_idx: int) -> StepResult:
        if step_idx == 2:
            raise error
        return wish()

    scheduler, recorder = scheduled(fork, [Scripted("me", script)]), MemoryRecorder()
    with pytest.raises(type(error)):
        Runner(scheduler.world, scheduler, steps=5, recorder=recorder, info=info(5)).run()
    assert recorder.ended is not None
    assert recorder.ended.status == "interrupted"
    assert type(error).__name__ in recorder.ended.error
    assert len(recorder.actions) == 2


def test_a_recorder_that_fails_twice_is_told_of_with_the_first_error(fork: Fork) -> None:
    class Full(MemoryRecorder):
        def record(self, actions: object, snapshots: object) -> None:
            raise OSError("no space left")

        def end(self, end: object) -> None:
            raise OSError("still no space left")

    scheduler = scheduled(fork, [Racer("a")])
    with pytest.raises(OSError, match="no space left") as caught:
        Runner(scheduler.world, scheduler, steps=2, recorder=Full(), info=info(2)).run()
    assert str(caught.value) == "no space left"
    assert caught.value.__notes__ == ["the end of the run could not be recorded either: still no space left"]


def test_figures_of_the_scenario_come_after_the_counts(fork: Fork) -> None:
    kpis = [KpiRow("profit", "5", 5.0, "usd_e8")]
    _, end = ran(fork, [Racer("a")], kpis=lambda world: kpis)
    assert [row.name for row in end.kpis] == [
        "actions",
        "failed",
        "raised",
        "transactions",
        "gas_used",
        "fees_wei",
        "profit",
    ]
    other = ran(fork.copy(), [Racer("a")], kpis=lambda world: [KpiRow("profit", "6", 6.0, "usd_e8")])[1]
    assert other.digest != end.digest


def test_timings_are_parts_of_the_whole(fork: Fork) -> None:
    _, end = ran(fork, [Racer("a"), Racer("b")], steps=20, hooks=[Stepper()])
    parts = dict(end.timings)
    total = parts.pop("total")
    assert set(parts) == {"prepare", "agents", "kernel", "hooks", "store", "engine"}
    assert all(seconds >= 0 for seconds in parts.values())
    assert sum(parts.values()) == pytest.approx(total)
    assert parts["kernel"] > 0


@pytest.mark.parametrize("steps", [0, -1, True, 1.5])
def test_a_run_of_no_steps_is_refused(fork: Fork, steps: object) -> None:
    with pytest.raises(UsageError, match="steps does nothing"):
        ran(fork, [Racer("a")], steps=steps)  # type: ignore[arg-type]


def test_another_worlds_scheduler_is_refused(fork: Fork) -> None:
    scheduler = scheduled(fork, [Racer("a")])
    other = WorldState(fork, [Racer("a")], seed=1)
    with pytest.raises(UsageError, match="belongs to another world"):
        Runner(other, scheduler, steps=1, recorder=MemoryRecorder(), info=info())

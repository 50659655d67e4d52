"""Totals of a run: each action row is counted once, for its KPIs and for the store."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mayavi import Fork
from mayavi.agents.base import Agent, StepResult, World
from mayavi.errors import StoreUnreadable
from mayavi.sim.recorder import MemoryRecorder
from mayavi.sim.rows import ActionRow, RunCounts, SnapshotRow
from mayavi.sim.runner import Runner
from mayavi.sim.store import SegmentRecorder
from mayavi.sim.tally import RunTally
from mayavi.sim.world_state import WorldState
from tests.sim.small_world import Racer, Scripted, info, ran, scheduled, wish


class Counting(RunTally):
    def __init__(self) -> None:
        super().__init__()
        self.begun, self.steps, self.counted = 0, [], []

    def begin(self, world: WorldState) -> None:
        self.begun += 1

    def add_step(self, world: WorldState, actions: Sequence[ActionRow]) -> None:
        self.steps.append(world.step)
        super().add_step(world, actions)

    def count(self, row: ActionRow) -> None:
        self.counted.append(row)
        super().count(row)


def test_every_row_is_counted_once_while_its_step_still_stands(fork: Fork) -> None:
    tally = Counting()
    recorder, end = ran(fork, [Racer("a"), Racer("b")], tally=tally)
    assert (tally.begun, tally.steps) == (1, [-1, 0, 1, 2])
    assert tally.counted == recorder.actions
    failed = sum(row.status == "failed" for row in recorder.actions)
    assert end.counts == RunCounts(3, 6, failed, 0, 0)
    kpis = {row.name: int(row.value) for row in end.kpis}
    assert kpis["actions"] == 6
    assert kpis["failed"] == failed
    assert kpis["gas_used"] == sum(row.gas_used for row in recorder.actions)


def test_rests_are_rows_but_no_actions(fork: Fork) -> None:
    def idle(world: World, step_idx: int) -> StepResult:
        return StepResult()

    recorder, end = ran(fork, [Scripted("idle", idle), Racer("a")], record_rests=True)
    assert len(recorder.actions) == end.counts.actions == 6
    assert {row.name: row.value for row in end.kpis}["actions"] == "3"


def test_rows_of_a_step_that_halts_are_counted_too(fork: Fork) -> None:
    def broken(world: World, step_idx: int) -> StepResult:
        def act() -> None:
            raise KeyError("nowhere")

        return wish("act", act) if step_idx == 1 else wish()

    tally = Counting()
    recorder, end = ran(fork, [Scripted("bold", broken)], tally=tally, halt_on_exception=True)
    assert end.status == "halted"
    assert tally.counted == recorder.actions
    assert end.counts == RunCounts(2, 2, 0, 1, 0)


def test_steps_without_any_row_are_counted_too(fork: Fork) -> None:
    def early(world: World, step_idx: int) -> StepResult:
        return wish() if step_idx == 0 else StepResult()

    recorder, end = ran(fork, [Scripted("early", early)])
    assert {row.step for row in recorder.actions} == {0}
    assert end.counts.steps_done == 3


def test_an_interrupted_run_counts_the_rows_that_were_recorded(fork: Fork) -> None:
    class Full(MemoryRecorder):
        def record(self, actions: list[ActionRow], snapshots: list[SnapshotRow]) -> None:
            super().record(actions, snapshots)
            if actions[-1].step == 1:
                fork.mine = stop  # type: ignore[method-assign]  # the next step ends before it is recorded

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    scheduler, recorder = scheduled(fork, [Racer("a")]), Full()
    with pytest.raises(KeyboardInterrupt):
        Runner(scheduler.world, scheduler, steps=5, recorder=recorder, info=info()).run()
    assert recorder.ended is not None
    assert recorder.ended.counts.actions == len(recorder.actions) == 2
    assert recorder.ended.counts.steps_done == 2


def test_agents_are_prepared_once_and_the_time_is_measured(fork: Fork) -> None:
    class Careful(Agent):
        prepared = 0

        def prepare(self, world: World) -> None:
            self.prepared += 1

        def step(self, world: World, step_idx: int) -> StepResult:
            return self.rests()

    agent = Careful("careful")
    _, end = ran(fork, [agent])
    assert agent.prepared == 1
    assert list(end.timings) == ["prepare", "store", "agents", "hooks", "kernel", "engine", "total"]
    assert end.timings["prepare"] > 0


def test_a_store_is_checked_when_its_recorder_is_made(tmp_path) -> None:
    (tmp_path / "notes.txt").write_text("not a database at all, but long enough to look at")
    with pytest.raises(StoreUnreadable, match="is not a DuckDB database"):
        SegmentRecorder(tmp_path / "notes.txt")

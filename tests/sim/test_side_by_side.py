"""Runs side by side: what each hands over is what it does alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mayavi import Fork
from mayavi.agents.base import Agent, StepResult, World
from mayavi.evm.fork.together import call_each
from mayavi.protocols.aave.market import AaveV3
from mayavi.protocols.chainlink.price_feed import PriceFeed
from mayavi.sim import side_by_side
from mayavi.sim.market_figures import AaveFigures, FeedFigures, Reader
from mayavi.sim.market_snapshot import MarketSnapshotHook
from mayavi.sim.population_figures import PopulationFigures
from mayavi.sim.recorder import StepBuffer
from mayavi.sim.rows import RunEnd
from mayavi.sim.runner import Runner
from mayavi.sim.side_by_side import run_side_by_side
from tests.sim.small_world import Scripted, info, scheduled, wish

STEPS = 3
Action = Callable[[World, int, int], None]


def mover(number: int, action: Action | None = None) -> Agent:
    """Post another price in each run and step; run 2 and 3 post the same ones."""

    def script(world: World, step: int) -> StepResult:
        if action is not None:
            action(world, step, number)
        feed = PriceFeed(world.fork, "Chainlink.ETH/USD")
        return wish("post", lambda: {"round": feed.move(2_000 * 10**8 + 10**8 * min(number, 2) * step).round_id})

    def prepare(world: World) -> None:
        market = AaveV3(world.fork)
        world.fork.deal("WETH", world.address("mover"), 10**18)
        account = market.account(world.address("mover"))
        account.supply("WETH", 10**18)
        account.borrow("USDC", (100 + min(number, 2)) * 10**6)

    return Scripted("mover", script, prepare)


def runner_of(replica: Fork, number: int, action: Action | None = None, *, every: int = 1, **options: Any) -> Runner:
    fork = replica.copy(share_reads=True)
    fork.share_outcomes()
    market = AaveV3(fork)
    readers: list[Reader] = [
        AaveFigures(market, ["WETH", "USDC"]),
        PopulationFigures("movers", market, ["mover"], ["mover"]),
        FeedFigures(PriceFeed(fork, "Chainlink.ETH/USD")),
    ]
    hook = MarketSnapshotHook(readers, every=every, last=STEPS - 1)
    scheduler = scheduled(fork, [mover(number, action)], seed=number, hooks=[hook], step_blocks=100, **options)
    return Runner(scheduler.world, scheduler, steps=STEPS, recorder=StepBuffer(), info=info(STEPS, number))


def handed_over(runner: Runner) -> tuple[object, ...]:
    rows = runner.recorder
    assert isinstance(rows, StepBuffer)
    end = rows.ended
    assert end is not None
    return rows.steps, end.status, end.error, end.digest, end.kpis, end.final_world_digest, end.counts


def alone(runner: Runner) -> tuple[object, ...]:
    try:
        runner.run()
    except BaseException as error:
        return (*handed_over(runner), repr(error))
    return (*handed_over(runner), "")


@pytest.mark.parametrize("every", [1, 2])
def test_rows_and_ends_are_those_of_runs_alone(replica: Fork, every: int) -> None:
    runners = [runner_of(replica, number, every=every) for number in range(4)]
    ends, failure = run_side_by_side(runners)
    assert failure is None
    assert [end.status for end in ends] == ["finished"] * 4
    expected = [alone(runner_of(replica, number, every=every)) for number in range(4)]
    assert [(*handed_over(each), "") for each in runners] == expected
    assert len({end.digest for end in ends}) == 3


def test_figures_of_all_runs_are_read_in_one_kernel_call(replica: Fork, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def counting(forks: Sequence[Fork], calls: Any) -> Any:
        sizes.append(len(forks))
        return call_each(forks, calls)

    monkeypatch.setattr(side_by_side, "call_each", counting)
    monkeypatch.setattr(AaveFigures, "read", None)
    monkeypatch.setattr(PopulationFigures, "read", None)
    run_side_by_side([runner_of(replica, number) for number in range(3)])
    assert sizes == [3] * (STEPS + 1)


def test_what_cannot_be_read_together_is_read_alone(replica: Fork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "call_each", lambda forks, calls: [[None] * len(calls) for _ in forks])
    runners = [runner_of(replica, number) for number in range(2)]
    run_side_by_side(runners)
    assert [(*handed_over(each), "") for each in runners] == [alone(runner_of(replica, each)) for each in range(2)]


def raising(error: Callable[[], BaseException], run: int, at: int) -> Action:
    def act(world: World, step: int, number: int) -> None:
        del world
        if number == run and step == at:
            raise error()

    return act


@pytest.mark.parametrize("halts", [False, True])
def test_an_agent_that_raises_ends_no_other_run(replica: Fork, halts: bool) -> None:
    action = raising(lambda: ValueError("out of ideas"), run=1, at=1)
    runners = [runner_of(replica, number, action, halt_on_exception=halts) for number in range(3)]
    ends, failure = run_side_by_side(runners)
    assert failure is None
    assert [end.status for end in ends] == ["finished", "halted" if halts else "finished", "finished"]
    expected = [alone(runner_of(replica, each, action, halt_on_exception=halts)) for each in range(3)]
    assert [(*handed_over(each), "") for each in runners] == expected


def test_runs_before_one_that_breaks_end_and_later_ones_do_not_count(replica: Fork) -> None:
    runners = [runner_of(replica, number) for number in range(4)]
    for runner in runners[1:3]:
        runner.scheduler.ordering = "none of them"  # type: ignore[assignment]
    ends, failure = run_side_by_side(runners)
    assert [end.status for end in ends] == ["finished"]
    assert type(failure).__name__ == "UnknownName"
    assert handed_over(runners[1])[1] == "interrupted"
    assert handed_over(runners[0]) == alone(runner_of(replica, 0))[:-1]


@pytest.mark.parametrize("run", [0, 2])
def test_an_interrupt_ends_the_first_open_run_and_all_after_it(replica: Fork, run: int) -> None:
    action = raising(KeyboardInterrupt, run, at=1)
    runners = [runner_of(replica, number, action) for number in range(3)]
    ends, failure = run_side_by_side(runners)
    assert ends == []
    assert isinstance(failure, KeyboardInterrupt)
    first = runners[0].recorder
    assert isinstance(first, StepBuffer)
    assert first.ended is not None
    assert (first.ended.status, first.ended.error) == ("interrupted", "KeyboardInterrupt: ")


def test_a_run_counts_its_own_time_alone(replica: Fork) -> None:
    runners = [runner_of(replica, number) for number in range(3)]
    ends: list[RunEnd] = run_side_by_side(runners)[0]
    for end in ends:
        parts = {name: spent for name, spent in end.timings.items() if name != "total"}
        assert sum(parts.values()) == pytest.approx(end.timings["total"])
        assert min(parts.values()) >= 0.0

"""Run several seeds of one scenario interleaved, with the same results as sequential runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mayavi.errors import BadScenario
from mayavi.evm.specialise import specialised
from mayavi.scenarios.loading import Scenario
from mayavi.scenarios.plugin_versions import plugin_versions
from mayavi.scenarios.run.request import RunRequest, versions
from mayavi.scenarios.run.result import Run
from mayavi.scenarios.run.run import run_result
from mayavi.sim.recorder import StepBuffer
from mayavi.sim.rows import Recorder
from mayavi.sim.side_by_side import run_side_by_side

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.scenarios.build.portion import Portion
    from mayavi.sim.runner import Runner


MANY_RUNS = 16
"""Fewest runs that are interleaved; fewer share too few reads to be faster."""
MOST_AGENTS = 8
"""Most agents of a run that is interleaved. With more, agents take most of the time, and runs that alternate cost one
another the processor's caches: 60 runs of `depeg_cascade` take 7 % less time with 7 agents, and 8 % more with 11."""


def may_run_side_by_side(runs: int, scenario: Scenario, fork: Fork) -> bool:
    """Whether to interleave the runs: many, of few agents, in a world that fetches no state, without plugin code.

    Plugin code may keep state between runs.
    """
    agents = sum(getattr(each, "count", 1) for each in scenario.config.agents.values())
    if runs < MANY_RUNS or agents > MOST_AGENTS:
        return False
    return not fork.fetches_missing and not plugin_versions(scenario.config)


def execute_side_by_side(
    requests: Sequence[RunRequest], fork: Fork, recorder: Recorder, set_up: Callable[[], Fork]
) -> list[Run]:
    """Run `requests`, all of one scenario, interleaved; write their rows to `recorder` in order.

    `set_up` returns a copy of `fork` with the changes that all seeds share. If a run raises, the runs before it are
    recorded, then the failed one as `interrupted`, and the exception is raised. The first run gets the replay
    statistics of all runs.
    """
    from mayavi.scenarios.build.portion import Portion

    buffers = [StepBuffer() for _ in requests]
    runners: list[Runner] = []
    portion = Portion(requests[0].scenario.config, [each.seed for each in requests])
    failure: BaseException | None = None
    with specialised(requests[0].mode) as replayed:
        for request, buffer in zip(requests, buffers, strict=True):
            try:
                copy = set_up()
                copy.read_within(replayed, seed=request.seed, counted=not runners)
                copy.share_outcomes()
                runners.append(_runner(request, fork, copy, buffer, portion))
            except Exception as error:
                failure = error
                break
        ends, raised = run_side_by_side(runners)
        _count(buffers[0], replayed.statistics())
        replayed.stop()
    done = []
    for request, buffer in zip(requests[: len(ends) + (raised is not None)], buffers, strict=False):
        info, end = buffer.into(recorder)
        done.append(run_result(info, end, request.store))
    if raised is not None or failure is not None:
        raise raised or failure  # type: ignore[misc]  # one of them is there
    return done


def _runner(request: RunRequest, fork: Fork, copy: Fork, recorder: Recorder, portion: Portion) -> Runner:
    from mayavi.scenarios.build.build import build

    info = request.info(fork, portion.once("versions", lambda: versions(portion.config)))
    try:
        simulation = build(portion.config, copy, request.seed, request.threads, is_set_up=True, portion=portion)
    except BadScenario as error:
        raise request.scenario.blame(error) from error
    return simulation.runner(recorder, info)


def _count(buffer: StepBuffer, replayed: dict[str, object]) -> None:
    if buffer.ended is not None:
        buffer.ended = replace(buffer.ended, specialise=replayed)

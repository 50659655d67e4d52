"""Record an episode as a run in the store, with the rows, KPIs and digest of `mayavi run`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mayavi.errors import UsageError
from mayavi.scenario_env.environment import ScenarioEnv
from mayavi.scenario_env.episode import RunnerOf
from mayavi.scenario_env.rows import ScenarioRows, noop
from mayavi.scenario_env.simulations import ScenarioEpisodes, Simulation
from mayavi.scenarios.run.request import RunRequest
from mayavi.scenarios.run.run import run_result
from mayavi.sim.rows import Recorder, RunEnd
from mayavi.sim.runner import Runner
from mayavi.sim.store import SegmentRecorder, store_path

if TYPE_CHECKING:
    from mayavi.scenarios.run.result import Run

Policy = Callable[[Any], Any]
"""Function from an observation to an action."""
SCRIPT = "scripted"


def record_episode(
    env: ScenarioEnv | ScenarioRows,
    policy: Policy | str = SCRIPT,
    *,
    episode: int = 0,
    store: str | Path | None = None,
    recorder: Recorder | None = None,
) -> Run:
    """Play an episode and store it as a run; reports, KPIs and queries then work as for any other.

    `policy` is a function from an observation to an action, or a strategy: `scripted`, `noop`. With `scripted` the run
    equals that of `mayavi run` with the same seed. A learner whose episode ends early does nothing from then on. A
    `recorder` receives the rows in place of the store.
    """
    rows = env.env if isinstance(env, ScenarioEnv) else env
    source = rows.source
    if not isinstance(source, ScenarioEpisodes):
        raise UsageError("simulations of Python agents are not a scenario, and cannot be stored as a run of one",
                         "run them with `Runner` and a `SegmentRecorder`")  # fmt: skip
    if isinstance(policy, str) and policy not in rows.strategies:
        raise UsageError(f"'{policy}' is not a strategy here", f"there are: {', '.join(rows.strategies)}")
    request = RunRequest(
        scenario=source.scenario,
        seed=rows.seed_of(episode),
        source=str(source.pristine.source.get("kind", "replica")),
        store=store_path(store),
        threads=source.threads,
    )
    info = request.info(source.pristine)
    with SegmentRecorder(request.store) if recorder is None else nullcontext(recorder) as rows_to:

        def runner(simulation: Simulation) -> Runner:
            assert simulation.built is not None  # a scenario's
            return simulation.built.runner(rows_to, info)

        end = _play(rows, policy, episode, runner)
    return run_result(info, end, request.store)


def _play(rows: ScenarioRows, policy: Policy | str, episode: int, runner: RunnerOf) -> RunEnd:
    """Play the episode in row 0 to the last step of the simulation, and return the end of its run."""
    kept, rows.recording = rows.recording, runner
    try:
        rows.begin([0], [episode])
        live = np.arange(rows.rows) == 0
        ended = False
        while not rows.episode(0).over:
            if ended:
                actions = noop(rows)
            elif isinstance(policy, str):
                actions = rows.strategies[policy](rows)
            else:
                actions = np.stack([np.asarray(policy(rows.observe()[0]))] * rows.rows)
            ended = bool(rows.step(actions, live).terminated[0]) or ended
        end: RunEnd = rows.episode(0).end
        return end
    finally:
        rows.recording = kept

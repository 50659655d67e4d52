"""One run of a scenario, from its name to its rows in the store.

run = mayavi.run("depeg_cascade", chain="base", seed=7)
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mayavi
from mayavi.errors import RunHalted, UsageError, did_you_mean
from mayavi.parallel.processes import default_jobs
from mayavi.scenarios.loading import Scenario, load_scenario
from mayavi.scenarios.run.headlines import Headlines
from mayavi.scenarios.run.results import Kpis, Run
from mayavi.sim.rows import Recorder, RunEnd, RunInfo
from mayavi.sim.store import SegmentRecorder, new_run_id, store_path
from mayavi.sim.store.opening import refuse_unusable
from mayavi.sim.world_state import checked_seed
from mayavi.worlds.source import WorldSource

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

Progress = Callable[[int, int], None]
Overrides = Iterable[str] | Mapping[str, object]


def run(
    scenario: str | Path,
    *,
    chain: str | None = None,
    seed: int | None = None,
    steps: int | None = None,
    overrides: Overrides = (),
    source: str | None = None,
    snapshot: str | Path | None = None,
    rpc_url: str | None = None,
    block: int | str | None = None,
    store: str | Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **unknown: object,
) -> Run:
    """Run a scenario, by its name or the path of its file, and keep it in the store.

    `overrides` change it: `{"agents.borrowers.count": 50}`, or texts as `--set` takes them. Its world is the offline
    replica of `chain`, a `snapshot` file, or (`source="rpc"`) read from a node. `threads` changes no result. A run that
    was told to halt where an agent breaks raises `RunHalted`; it is stored as far as it came.
    """
    refuse_unknown(run, unknown)
    chosen = load_scenario(scenario, chain=chain, steps=steps, overrides=override_texts(overrides))
    world = WorldSource.of(source, chain=chosen.config.chain, snapshot=snapshot, rpc_url=rpc_url, block=block)
    done = run_scenario(chosen, world, seed=seed, store=store_path(store), threads=threads, progress=progress)
    if done.status == "halted":
        raise halted(done)
    return done


def refuse_unknown(function: Callable[..., object], unknown: Mapping[str, object]) -> None:
    """A `UsageError` for arguments that `function` does not have: most often what `overrides` takes."""
    if not unknown:
        return
    name, value = next(iter(unknown.items()))
    known = [each for each, kind in signature(function).parameters.items() if kind.kind is kind.KEYWORD_ONLY]
    near = "overrides" if name in {"set", "sets", "override", "params", "config"} else None
    hint = f"did you mean '{near}'?" if near else did_you_mean(name, known)
    example = value if isinstance(value, Mapping) else {name: value}
    raise UsageError(
        f"mayavi.{function.__name__} takes no '{name}'",
        hint or f"values of the scenario are changed by overrides: overrides={dict(example)!r}",
    )


def run_scenario(
    scenario: Scenario,
    world: WorldSource,
    *,
    seed: int | None = None,
    store: Path,
    threads: int | None = None,
    run_id: str | None = None,
    progress: Progress | None = None,
    built: Callable[[], None] | None = None,
) -> Run:
    """Run `scenario` on `world` and keep it in the database at `store`. `built` is called when nothing that the
    scenario names is missing, and the run begins. A store that cannot be used is refused before that.
    """
    refuse_unusable(store)
    with SegmentRecorder(store) as recorder:
        return execute(
            scenario,
            world.open(),
            recorder,
            seed=scenario.config.seed if seed is None else seed,
            source=world.kind,
            store=store,
            threads=threads,
            run_id=run_id,
            progress=progress,
            built=built,
        )


def execute(
    scenario: Scenario,
    fork: Fork,
    recorder: Recorder,
    *,
    seed: int,
    source: str,
    store: Path,
    threads: int | None = None,
    run_id: str | None = None,
    sweep_id: str | None = None,
    progress: Progress | None = None,
    built: Callable[[], None] | None = None,
) -> Run:
    """Run `scenario` on `fork`, which then belongs to the run, into `recorder`."""
    from mayavi.scenarios.build.build import build
    from mayavi.sim.runner import Runner

    info = RunInfo(
        run_id=run_id or new_run_id(),
        scenario=scenario.name,
        scenario_text=scenario.text,
        seed=checked_seed(seed),
        steps=scenario.config.steps,
        chain=scenario.config.chain,
        source=source,
        world_digest=fork.digest(),
        versions=versions(),
        started_at=time.time(),
        sweep_id=sweep_id,
    )
    simulation = build(scenario.config, fork, seed, check_threads(threads))
    if built is not None:
        built()
    headlines = Headlines(recorder)
    runner = Runner(
        simulation.world,
        simulation.scheduler,
        steps=simulation.steps,
        recorder=headlines,
        info=info,
        kpis=simulation.kpis,
    )
    return run_of(info, runner.run(progress), store, headlines)


def run_of(info: RunInfo, end: RunEnd, store: Path, headlines: Headlines | None = None) -> Run:
    """What is handed back of a run that is over."""
    return Run(
        run_id=info.run_id,
        scenario=info.scenario,
        chain=info.chain,
        seed=info.seed,
        steps=info.steps,
        status=end.status,
        digest=end.digest,
        kpis=Kpis(end.kpis),
        timings=end.timings,
        store_path=store,
        sweep_id=info.sweep_id,
        error=end.error,
        headlines=headlines,
    )


def halted(run: Run) -> RunHalted:
    """The error for a run that stopped where an agent broke."""
    message, _, traceback = run.error.partition("\n")
    return RunHalted(message, traceback.rstrip() or None, traceback=traceback)


def override_texts(overrides: Overrides) -> list[str]:
    """Overrides as `a.b=c`. Values from Python are written as YAML; text is taken for YAML itself, as `--set` does."""
    if isinstance(overrides, str):
        raise UsageError(f"overrides are '{overrides}'", "give a mapping, or a list: ['agents.borrowers.count=50']")
    if not isinstance(overrides, Mapping):
        return list(overrides)
    return [f"{path}={override_value(value)}" for path, value in overrides.items()]


def override_value(value: object) -> str:
    """One value as YAML."""
    return value if isinstance(value, str) else json.dumps(value, default=_plain)


def _plain(value: Any) -> object:
    if isinstance(value, Decimal):
        return float(value) if value != value.to_integral_value() else int(value)
    if hasattr(value, "item"):  # numpy's numbers
        return value.item()
    raise UsageError(f"{value!r} cannot be written into a scenario", "give numbers, texts, lists and mappings")


def check_threads(threads: int | None) -> int:
    """`threads`, by default the number of cores this process may use."""
    if threads is None:
        return default_jobs()
    if type(threads) is not int or not 1 <= threads <= 1024:
        raise UsageError(f"{threads} threads do nothing", "give a number from 1 to 1024; results do not depend on it")
    return threads


def versions() -> dict[str, str]:
    """What a run's outcome may depend on, by version."""
    import platform

    import numpy as np

    return {"mayavi": mayavi.__version__, "numpy": np.__version__, "python": platform.python_version()}

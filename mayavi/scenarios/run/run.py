"""Run a scenario once, from its name to its rows in the store.

```python
run = mayavi.run("depeg_cascade", chain="base", seed=7)
```
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

from mayavi.errors import BadScenario, RunHalted, UsageError, did_you_mean
from mayavi.evm.specialise import chosen_specialise, specialised
from mayavi.scenarios.figures.highlights import Highlights
from mayavi.scenarios.loading import load_scenario
from mayavi.scenarios.models.world import WorldOptions
from mayavi.scenarios.run.overrides import Overrides, override_texts
from mayavi.scenarios.run.request import Progress, RunListener, RunRequest, check_threads
from mayavi.scenarios.run.result import Kpis, Run
from mayavi.sim.rows import Recorder, RunEnd, RunInfo
from mayavi.sim.store import SegmentRecorder, store_path
from mayavi.sim.world_state import checked_seed

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork


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
    specialise: str | None = None,
    progress: Progress | None = None,
    listener: RunListener | None = None,
    **unknown: object,
) -> Run:
    """Run a scenario, given by name or file path, and store the run.

    `overrides` change values of the scenario: `{"agents.borrowers.count": 50}`, or a list of texts in the format of
    `--set`. `source`, `snapshot` and `block` override those keys of the scenario: the world is the offline replica of
    `chain` at `block`, a `snapshot` file, or with `source="rpc"` the state of a node at `block`. Results do not depend
    on `threads`, nor on `specialise`: off, on or check, before the scenario's key and MAYAVI_SPECIALISE.
    `progress(done, total)` is called after each step; a `listener` replaces `progress`. With `halt_on_exception` in the
    scenario, an exception in an agent's code raises `RunHalted`; the steps before it are stored.
    """
    refuse_unknown(run, unknown)
    threads = check_threads(threads)
    specialise = None if specialise is None else chosen_specialise(specialise)
    chosen = load_scenario(
        scenario,
        chain=chain,
        steps=steps,
        overrides=override_texts(overrides),
        world=WorldOptions(source, snapshot, rpc_url, block),
    )
    world = chosen.world(rpc_url)
    request = RunRequest(
        scenario=chosen,
        seed=checked_seed(chosen.config.seed if seed is None else seed),
        source=world.kind,
        store=store_path(store),
        threads=threads,
        specialise=specialise,
    )
    listener = listener or RunListener(progress)
    with SegmentRecorder(request.store) as recorder:  # refuses an unusable store before the world is opened
        fork = listener.open_world(world)
        if world.kind == "rpc":
            request = replace(request, scenario=chosen.at_block(int(fork.source["block"])))
        finished = execute(request, fork, recorder, listener)
    listener.finished(finished)
    if finished.status == "halted":
        raise halt_error(finished)
    return finished


def refuse_unknown(function: Callable[..., object], unknown: Mapping[str, object]) -> None:
    """Raise `UsageError` for arguments that `function` does not have; most of them belong into `overrides`."""
    if not unknown:
        return
    name, value = next(iter(unknown.items()))
    known = [each for each, kind in signature(function).parameters.items() if kind.kind is kind.KEYWORD_ONLY]
    near = "overrides" if name in {"set", "sets", "override", "params", "config"} else None
    hint = f"did you mean '{near}'?" if near else did_you_mean(name, known)
    example = value if isinstance(value, Mapping) else {name: value}
    raise UsageError(
        f"mayavi.{function.__name__} takes no '{name}'",
        hint or f"change values of the scenario with overrides={dict(example)!r}",
    )


def execute(
    request: RunRequest,
    fork: Fork,
    recorder: Recorder,
    listener: RunListener | None = None,
    *,
    set_up: Fork | None = None,
) -> Run:
    """Run `request` on `fork` and write the rows to `recorder`. The run modifies `fork`.

    `set_up` is a copy of `fork` with what the scenario sets up for all seeds; the run modifies that one instead.
    """
    from mayavi.scenarios.build.build import build

    listener = listener or RunListener()
    info = request.info(fork)
    with specialised(request.mode) as replayed:
        try:
            place, ready = (fork, False) if set_up is None else (set_up, True)
            place.read_within(replayed, seed=request.seed)
            simulation = build(request.scenario.config, place, request.seed, request.threads, is_set_up=ready)
        except BadScenario as error:
            raise request.scenario.blame(error) from error
        listener.started(request)
        end = simulation.runner(recorder, info, replayed.statistics).run(listener.step_done)
        replayed.stop()
    return run_result(info, end, request.store, Highlights.of(simulation.tally, simulation.snapshots))


def run_result(info: RunInfo, end: RunEnd, store: Path, highlights: Highlights | None = None) -> Run:
    """Build the `Run` that callers receive from the first and the last record of a run."""
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
        specialise=end.specialise,
        highlights=highlights,
    )


def halt_error(run: Run) -> RunHalted:
    """Return the error for a run that was halted by an exception in an agent's code."""
    message, _, traceback = run.error.partition("\n")
    return RunHalted(message, traceback.rstrip() or None, traceback=traceback)

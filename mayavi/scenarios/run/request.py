"""`RunRequest`: the inputs of a run, and `RunListener`: callbacks during it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mayavi.errors import UsageError
from mayavi.parallel.cores import available_cores
from mayavi.runs.versions import own_versions
from mayavi.scenarios.loading import Scenario
from mayavi.scenarios.plugin_versions import plugin_versions
from mayavi.sim.rows import RunInfo
from mayavi.sim.store import new_run_id
from mayavi.worlds.source import WorldSource

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.scenarios.models.config import ScenarioConfig
    from mayavi.scenarios.run.result import Run

Progress = Callable[[int, int], None]
"""Called as `progress(done, total)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One run: scenario and seed, the kind of its world, and where it is stored."""

    scenario: Scenario
    seed: int
    source: str
    """Kind of the world: `replica`, `rpc` or `snapshot`."""
    store: Path
    threads: int = 1
    """Kernel threads; they change the time a run takes, not its rows."""
    specialise: str | None = None
    """Mode of specialised execution: `off`, `on` or `check`; overrides the scenario's. Results do not depend on it."""
    run_id: str = field(default_factory=new_run_id)
    sweep_id: str | None = None

    @property
    def mode(self) -> str | None:
        """Mode of specialised execution: the request's, else the scenario's; None if neither sets one."""
        return self.specialise if self.specialise is not None else self.scenario.config.specialise

    def info(self, fork: Fork, used: dict[str, str] | None = None) -> RunInfo:
        """Return the facts that are stored about the run before it starts on `fork`; `used` are known versions."""
        return RunInfo(
            run_id=self.run_id,
            scenario=self.scenario.name,
            scenario_text=self.scenario.text,
            seed=self.seed,
            steps=self.scenario.config.steps,
            chain=self.scenario.config.chain,
            source=self.source,
            world_digest=fork.digest(),
            versions=versions(self.scenario.config) if used is None else used,
            started_at=time.time(),
            sweep_id=self.sweep_id,
        )


class RunListener:
    """Callbacks of one run, in the order of the methods. Override those you need."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.progress = progress

    def open_world(self, world: WorldSource) -> Fork:
        """Open the world of the run."""
        return world.open()

    def started(self, request: RunRequest) -> None:
        """The simulation is built and everything the scenario names exists; the first step comes next."""

    def step_done(self, done: int, total: int) -> None:
        """`done` of `total` steps are executed."""
        if self.progress is not None:
            self.progress(done, total)

    def finished(self, run: Run) -> None:
        """The run is stored; also called for a halted run, before `RunHalted` is raised."""


def check_threads(threads: int | None) -> int:
    """Return `threads`, by default the number of cores this process may use; raise `UsageError` if out of range."""
    if threads is None:
        return available_cores()
    if type(threads) is not int or not 1 <= threads <= 1024:
        raise UsageError(f"{threads} threads do nothing", "give a number from 1 to 1024; results do not depend on it")
    return threads


def versions(config: ScenarioConfig | None = None) -> dict[str, str]:
    """Return the versions that the result of a run may depend on, also of the agents of other packages in `config`."""
    own = own_versions()
    return own if config is None else own | plugin_versions(config)

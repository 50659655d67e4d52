"""`SweepRequest`: the inputs of a sweep, and `SweepListener`: callbacks during it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from mayavi.scenarios.loading import Scenario
from mayavi.scenarios.sweep.plan import Plan
from mayavi.scenarios.sweep.until import MOST_RUNS, Target, TargetStatus
from mayavi.worlds.source import WorldSource

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRequest:
    """One sweep: the scenario at each point of the grid, the seeds, the world, and the workers."""

    scenarios: Sequence[Scenario]
    points: Sequence[tuple[str, ...]]
    """Overrides of each point of the grid, in the order of `scenarios`."""
    seeds: Sequence[int]
    world: WorldSource
    store: Path
    jobs: int
    ray: str | None = None
    """Address of a Ray cluster; None runs `jobs` processes here."""
    until: Target | None = None
    """Precision to reach by adding seeds; None runs `seeds` alone."""
    most: int = MOST_RUNS
    """Largest number of seeds of a sweep with a target."""
    specialise: str | None = None
    """Mode of specialised execution: `off`, `on` or `check`; overrides the scenario's. Results do not depend on it."""
    sweep_id: str | None = None
    """Id given by the caller; None: the digest of everything the results depend on."""


class SweepListener:
    """Callbacks of one sweep, in the order of the methods. Override those you need."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.progress = progress

    def open_world(self, world: WorldSource) -> None:
        """Open the world for the first time, which may build a replica."""
        world.open()

    def planning(self) -> AbstractContextManager[None]:
        """Return a context for the time in which scenarios are built once and the plan is made."""
        return nullcontext()

    def planned(self, request: SweepRequest, plan: Plan) -> None:
        """The plan is made; runs that are not stored come next."""

    def runs_done(self, done: int, total: int) -> None:
        """`done` of `total` runs are stored."""
        if self.progress is not None:
            self.progress(done, total)

    def looked(self, status: TargetStatus) -> None:
        """Called after each check of the target; if the sweep continues, a longer plan follows."""

    def extended(self, plan: Plan) -> None:
        """Seeds were added to reach the target."""

"""`Runner`: execute all steps of a run and hand its rows to a recorder."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from functools import lru_cache
from time import perf_counter
from typing import Any

from mayavi.errors import RunHalted, UsageError
from mayavi.sim.rows import (
    AccountRow,
    ActionRow,
    KpiRow,
    Recorder,
    RunCounts,
    RunEnd,
    RunInfo,
    RunStatus,
    SnapshotRow,
)
from mayavi.sim.rows_digest import RowsDigest
from mayavi.sim.scheduler import Scheduler, finish
from mayavi.sim.world_state import WorldState

Progress = Callable[[int, int], None]
"""Called after each step as `progress(steps_done, steps)`."""
Kpis = Callable[[WorldState], Iterable[KpiRow]]
"""Computes the KPIs of the whole run after its last step."""
Accounts = Callable[[], Iterable[AccountRow]]
"""Returns the borrowing accounts after the last step."""
Replayed = Callable[[], dict[str, Any]]
"""Returns what was replayed, as JSON data."""


_COUNTS = ("actions", "failed", "raised", "transactions")
_TOTALS = {**dict.fromkeys(_COUNTS, "count"), "gas_used": "gas", "fees_wei": "wei"}
"""Totals of a scheduler that are KPIs of every run, and their units."""


class Runner:
    """Run `steps` steps of a scheduler into a recorder.

    Each step is recorded when it is done; market figures from before the first step go with the first. The KPIs of a
    run are the scheduler's totals (actions, failures, transactions, gas, fees), followed by those of `kpis`.
    """

    def __init__(
        self,
        world: WorldState,
        scheduler: Scheduler,
        *,
        steps: int,
        recorder: Recorder,
        info: RunInfo,
        kpis: Kpis | None = None,
        accounts: Accounts | None = None,
        replayed: Replayed | None = None,
    ) -> None:
        if type(steps) is not int or steps < 1:
            raise UsageError(f"a run of {steps!r} steps does nothing", "give at least one step")
        if scheduler.world is not world:
            raise UsageError("the scheduler belongs to another world", "give both the same `WorldState`")
        self.world, self.scheduler, self.steps = world, scheduler, steps
        self.recorder, self.info, self.kpis, self.accounts = recorder, info, kpis, accounts
        self.replayed = replayed
        self._digest = RowsDigest()
        self._counts = RunCounts()
        self._store_seconds = 0.0

    def run(self, progress: Progress | None = None) -> RunEnd:
        """Run to the end.

        A halt ends the run as `halted`, with the traceback in `error`. Any other exception, a keyboard interrupt
        included, ends it as `interrupted` and is raised again.
        """
        return finish(self.run_in_parts(progress))

    def run_in_parts(
        self, progress: Progress | None = None, *, pause_before: str | None = None, before_figures: bool = False
    ) -> Generator[None, None, RunEnd]:
        """Run to the end like `run`, but yield where `Scheduler.tick_in_parts` does."""
        started, kernel_before = perf_counter(), self.world.fork.kernel_seconds
        status: RunStatus = "finished"
        error, kpis, accounts = "", tuple[KpiRow, ...](), tuple[AccountRow, ...]()
        self._to_store(self.recorder.begin, self.info)
        try:
            for step in range(self.steps):
                rows = yield from self.scheduler.tick_in_parts(pause_before, before_figures=before_figures)
                self._keep(*rows, done=step + 1)
                if progress is not None:
                    progress(step + 1, self.steps)
            kpis = self._all_kpis()
            accounts = self._all_accounts()
        except RunHalted as halt:
            status, error = "halted", f"{halt.message}\n{halt.traceback}"
            for row in self.scheduler.unfinished:
                self.scheduler.tally.count(row)
            self._keep(self.scheduler.unfinished, [])
        except BaseException as failure:
            text = f"{type(failure).__name__}: {failure}"
            try:
                self._to_store(self.recorder.end, self._end("interrupted", (), (), started, kernel_before, text))
            except Exception as second:  # a full disk refuses the end of a run as it refused its rows
                failure.add_note(f"the end of the run could not be recorded either: {second}")
            raise
        end = self._end(status, kpis, accounts, started, kernel_before, error)
        self.recorder.end(end)
        return end

    def _keep(self, actions: list[ActionRow], snapshots: Sequence[SnapshotRow], done: int = 0) -> None:
        self._counts = self.scheduler.tally.end_step(actions, snapshots, done)
        self._digest.add(actions)
        self._digest.add(snapshots)
        self._to_store(self.recorder.record, actions, snapshots)

    def _all_kpis(self) -> tuple[KpiRow, ...]:
        tally = self.scheduler.tally
        rows = [_total(name, int(getattr(tally, name)), unit) for name, unit in _TOTALS.items()]
        if self.kpis is not None:
            rows += self.kpis(self.world)
        self._digest.add(rows)
        return tuple(rows)

    def _all_accounts(self) -> tuple[AccountRow, ...]:
        rows = () if self.accounts is None else tuple(self.accounts())
        self._digest.add(rows)
        return rows

    def _end(
        self,
        status: RunStatus,
        kpis: tuple[KpiRow, ...],
        accounts: tuple[AccountRow, ...],
        started: float,
        kernel_before: float,
        error: str,
    ) -> RunEnd:
        digest = self.world.fork.digest()
        total = perf_counter() - started - self.scheduler.away_seconds
        kernel = self.world.fork.kernel_seconds - kernel_before
        parts = {"prepare": 0.0, "store": self._store_seconds, **self.scheduler.seconds, "kernel": kernel}
        timings = {**parts, "engine": total - sum(parts.values()), "total": total}
        replayed = {} if self.replayed is None else self.replayed()
        return RunEnd(status, self._digest.hexdigest(), kpis, digest, timings, error, self._counts, accounts, replayed)

    def _to_store(self, write: Callable[..., None], *rows: object) -> None:
        started = perf_counter()
        write(*rows)
        self._store_seconds += perf_counter() - started


@lru_cache(maxsize=1 << 10)
def _total(name: str, total: int, unit: str) -> KpiRow:
    return KpiRow(name, str(total), float(total), unit)

"""`Runner`: a whole run from the first step to the last, written down as it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter

from mayavi.errors import RunHalted, UsageError
from mayavi.sim.rows import ActionRow, KpiRow, Recorder, RowsDigest, RunEnd, RunInfo, RunStatus, SnapshotRow
from mayavi.sim.scheduler import Scheduler
from mayavi.sim.world_state import WorldState

Progress = Callable[[int, int], None]
"""Told how many steps are done, and of how many."""
Kpis = Callable[[WorldState], Iterable[KpiRow]]
"""Figures of the whole run, asked for when the last step is done."""


class Runner:
    """Runs `steps` steps of a scheduler into a recorder.

    Each step is handed over when it is done, the market before the first step with the first. `kpis` gives the
    scenario's own figures; the counts of actions, failures and gas come before them.
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
    ) -> None:
        if type(steps) is not int or steps < 1:
            raise UsageError(f"a run of {steps!r} steps does nothing", "give at least one step")
        if scheduler.world is not world:
            raise UsageError("the scheduler belongs to another world", "give both the same `WorldState`")
        self.world, self.scheduler, self.steps = world, scheduler, steps
        self.recorder, self.info, self.kpis = recorder, info, kpis
        self._digest = RowsDigest()
        self._counts = {"actions": 0, "failed": 0, "raised": 0, "transactions": 0, "gas_used": 0, "fees_wei": 0}
        self._seconds = {"prepare": 0.0, "store": 0.0}

    def run(self, progress: Progress | None = None) -> RunEnd:
        """Run to the end. A halt ends it as `halted` with the traceback in `error`; whatever else stops it, an
        interrupt for instance, marks it `interrupted` and is raised.
        """
        started, kernel_before = perf_counter(), self.world.fork.kernel_seconds
        status: RunStatus = "finished"
        error, kpis = "", tuple[KpiRow, ...]()
        self._to_store(self.recorder.begin, self.info)
        try:
            begun, kernel = perf_counter(), self.world.fork.kernel_seconds
            self.world.prepare()
            self._seconds["prepare"] = perf_counter() - begun - (self.world.fork.kernel_seconds - kernel)
            for step in range(self.steps):
                self._keep(*self.scheduler.tick())
                if progress is not None:
                    progress(step + 1, self.steps)
            kpis = self._all_kpis()
        except RunHalted as halt:
            status, error = "halted", f"{halt.message}\n{halt.traceback}"
            self._keep(self.scheduler.unfinished, [])
        except BaseException as failure:
            text = f"{type(failure).__name__}: {failure}"
            try:
                self._to_store(self.recorder.end, self._end("interrupted", (), started, kernel_before, text))
            except Exception as second:  # a full disk refuses the end of a run as it refused its rows
                failure.add_note(f"nor could the end of the run be recorded: {second}")
            raise
        end = self._end(status, kpis, started, kernel_before, error)
        self.recorder.end(end)
        return end

    def _keep(self, actions: list[ActionRow], snapshots: list[SnapshotRow]) -> None:
        counts = self._counts
        for row in actions:
            if row.kind == "rest" and row.position < 0:
                continue
            counts["actions"] += 1
            counts["transactions"] += row.transactions
            counts["gas_used"] += row.gas_used
            counts["fees_wei"] += int(row.fee_wei)
            if row.status != "success":
                counts[row.status] += 1
        self._digest.add(actions)
        self._digest.add(snapshots)
        self._to_store(self.recorder.record, actions, snapshots)

    def _all_kpis(self) -> tuple[KpiRow, ...]:
        units = {"gas_used": "gas", "fees_wei": "wei"}
        rows = [
            KpiRow(name, str(count), float(count), units.get(name, "count")) for name, count in self._counts.items()
        ]
        if self.kpis is not None:
            rows += self.kpis(self.world)
        self._digest.add(rows)
        return tuple(rows)

    def _end(
        self, status: RunStatus, kpis: tuple[KpiRow, ...], started: float, kernel_before: float, error: str
    ) -> RunEnd:
        digest = self.world.fork.digest()
        total, kernel = perf_counter() - started, self.world.fork.kernel_seconds - kernel_before
        parts = {**self._seconds, **self.scheduler.seconds, "kernel": kernel}
        timings = {**parts, "engine": total - sum(parts.values()), "total": total}
        return RunEnd(status, self._digest.hexdigest(), kpis, digest, timings, error)

    def _to_store(self, write: Callable[..., None], *rows: object) -> None:
        started = perf_counter()
        write(*rows)
        self._seconds["store"] += perf_counter() - started

"""Recorders in memory: `MemoryRecorder` for runs that need not be stored, `StepBuffer` for those stored later."""

from __future__ import annotations

from collections.abc import Sequence

from mayavi.sim.rows import ActionRow, Recorder, RunEnd, RunInfo, SnapshotRow


class MemoryRecorder:
    """Keep all rows of a run in lists."""

    def __init__(self) -> None:
        self.info: RunInfo | None = None
        self.actions: list[ActionRow] = []
        self.snapshots: list[SnapshotRow] = []
        self.ended: RunEnd | None = None

    def begin(self, info: RunInfo) -> None:
        """Start a run."""
        self.info = info

    def record(self, actions: list[ActionRow], snapshots: Sequence[SnapshotRow]) -> None:
        """Keep the rows of one step."""
        self.actions += actions
        self.snapshots += snapshots

    def end(self, end: RunEnd) -> None:
        """Keep the result."""
        self.ended = end


class StepBuffer:
    """Keep the rows of a run step by step, until they are handed to another recorder."""

    def __init__(self) -> None:
        self.info: RunInfo | None = None
        self.steps: list[tuple[list[ActionRow], Sequence[SnapshotRow]]] = []
        self.ended: RunEnd | None = None

    def begin(self, info: RunInfo) -> None:
        """Start a run."""
        self.info = info

    def record(self, actions: list[ActionRow], snapshots: Sequence[SnapshotRow]) -> None:
        """Keep the rows of one step."""
        self.steps.append((actions, snapshots))

    def end(self, end: RunEnd) -> None:
        """Keep the result."""
        self.ended = end

    def into(self, recorder: Recorder) -> tuple[RunInfo, RunEnd]:
        """Hand the run, which has ended, to `recorder`; return its first and last record."""
        assert self.info is not None
        assert self.ended is not None
        recorder.begin(self.info)
        for actions, snapshots in self.steps:
            recorder.record(actions, snapshots)
        recorder.end(self.ended)
        return self.info, self.ended

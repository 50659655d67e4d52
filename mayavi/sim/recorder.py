"""`MemoryRecorder`: a recorder for tests, notebooks and runs that need not be stored."""

from __future__ import annotations

from mayavi.sim.rows import ActionRow, RunEnd, RunInfo, SnapshotRow


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

    def record(self, actions: list[ActionRow], snapshots: list[SnapshotRow]) -> None:
        """Keep the rows of one step."""
        self.actions += actions
        self.snapshots += snapshots

    def end(self, end: RunEnd) -> None:
        """Keep the result."""
        self.ended = end

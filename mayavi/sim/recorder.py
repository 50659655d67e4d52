"""A recorder that keeps everything in memory: for tests, notebooks and runs that nobody needs to find again."""

from __future__ import annotations

from mayavi.sim.rows import ActionRow, RunEnd, RunInfo, SnapshotRow


class MemoryRecorder:
    """What a run left, as lists."""

    def __init__(self) -> None:
        self.info: RunInfo | None = None
        self.actions: list[ActionRow] = []
        self.snapshots: list[SnapshotRow] = []
        self.ended: RunEnd | None = None

    def begin(self, info: RunInfo) -> None:
        """The run starts."""
        self.info = info

    def record(self, actions: list[ActionRow], snapshots: list[SnapshotRow]) -> None:
        """A step is done."""
        self.actions += actions
        self.snapshots += snapshots

    def end(self, end: RunEnd) -> None:
        """The run is over."""
        self.ended = end

"""Snapshots of a running fork: nested, journaled, cheap."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from mayavi._kernel import Evm
from mayavi.errors import StateError, UsageError


class Snapshot:
    """A moment to come back to. As a context manager it goes back at the end, whatever happened in between.

    with fork.snapshot():
        fork.send(...)      # gone after the block
    """

    __slots__ = ("_registry", "id", "marker")

    def __init__(self, registry: SnapshotRegistry, snapshot_id: int, marker: int) -> None:
        self._registry = registry
        self.id = snapshot_id
        self.marker = marker

    @property
    def open(self) -> bool:
        """Whether it can still be reverted to or kept."""
        return self._registry.is_open(self)

    def revert(self) -> None:
        """Go back to this moment; this snapshot and all later ones are closed."""
        self._registry.revert(self)

    def keep(self) -> None:
        """Let everything since stand; this snapshot and all later ones are closed."""
        self._registry.keep(self)

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.open:
            self.revert()

    def __repr__(self) -> str:
        return f"<Snapshot {self.id} {'open' if self.open else 'closed'}>"


class SnapshotRegistry:
    """The open snapshots of one EVM. Going back costs what was written since, however large the world is.

    `marker` tells moments apart: `wrote()` moves it to a number never used before, going back brings it back.
    """

    __slots__ = ("_evm", "_last", "marker", "reverted")

    def __init__(self, evm: Evm) -> None:
        self._evm = evm
        self._last = 0
        self.marker = 0
        self.reverted: tuple[Callable[[int], None], ...] = ()
        """Who is told, with the marker gone back to, when what was done is undone."""

    def wrote(self) -> int:
        """Something was written: the new marker."""
        self.marker = self._last = self._last + 1
        return self._last

    def take(self) -> Snapshot:
        """Open a snapshot of this moment: state, block number and time."""
        return Snapshot(self, self._evm.snapshot(), self.marker)

    def is_open(self, snapshot: Snapshot) -> bool:
        """Whether `snapshot` belongs here and is still open."""
        return snapshot._registry is self and self._evm.has_snapshot(snapshot.id)

    def revert(self, snapshot: Snapshot) -> None:
        """Go back to `snapshot`; it and all later ones are closed."""
        self._check(snapshot)
        self._evm.revert(snapshot.id)
        self.marker = snapshot.marker
        for told in self.reverted:
            told(snapshot.marker)

    def keep(self, snapshot: Snapshot) -> None:
        """Let everything since `snapshot` stand; it and all later ones are closed."""
        self._check(snapshot)
        self._evm.release(snapshot.id)

    def _check(self, snapshot: Snapshot) -> None:
        if not isinstance(snapshot, Snapshot):
            raise UsageError(f"{snapshot!r} is not a snapshot", "`fork.snapshot()` takes one")
        if snapshot._registry is not self:
            raise StateError(f"snapshot {snapshot.id} was taken on another fork", "revert it on the fork that took it")
        if not self._evm.has_snapshot(snapshot.id):
            raise StateError(
                f"snapshot {snapshot.id} is closed",
                "a snapshot is closed once it, or an earlier one, was reverted or kept; take a new one",
            )

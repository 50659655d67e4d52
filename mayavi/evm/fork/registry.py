"""Snapshots of a running fork: nested, journaled, cheap."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from mayavi._kernel import Evm
from mayavi.errors import StateError, UsageError


class Snapshot:
    """Snapshot of a fork's state.

    As a context manager it reverts on exit, also after an exception.

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
        """Whether the snapshot can still be reverted to or kept."""
        return self._registry.is_open(self)

    def revert(self) -> None:
        """Revert to this snapshot, which closes it and all later ones."""
        self._registry.revert(self)

    def keep(self) -> None:
        """Keep all changes made since. Closes this snapshot and all later ones."""
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
    """Open snapshots of one EVM. The cost of a revert grows with the writes since, not with the size of the world.

    `marker` is the version number of the state: `record_write()` sets a new one, a revert restores the old one.
    """

    __slots__ = ("_evm", "_last", "marker", "reverted")

    def __init__(self, evm: Evm) -> None:
        self._evm = evm
        self._last = 0
        self.marker = 0
        self.reverted: tuple[Callable[[int], None], ...] = ()
        """Callbacks after a revert; each gets the restored marker."""

    def record_write(self) -> int:
        """Register a write and return the new marker."""
        self.marker = self._last = self._last + 1
        return self._last

    def take(self) -> Snapshot:
        """Take a snapshot of state, block number and time."""
        return Snapshot(self, self._evm.snapshot(), self.marker)

    def is_open(self, snapshot: Snapshot) -> bool:
        """Whether `snapshot` is of this EVM and still open."""
        return snapshot._registry is self and self._evm.has_snapshot(snapshot.id)

    def revert(self, snapshot: Snapshot) -> None:
        """Revert to `snapshot`, which closes it and all later ones."""
        if type(snapshot) is not Snapshot or snapshot._registry is not self or not self._evm.has_snapshot(snapshot.id):
            raise self._refusal(snapshot)
        self._evm.revert(snapshot.id)
        self.marker = snapshot.marker
        for callback in self.reverted:
            callback(snapshot.marker)

    def keep(self, snapshot: Snapshot) -> None:
        """Keep all changes since `snapshot`; closes it and all later ones."""
        if type(snapshot) is not Snapshot or snapshot._registry is not self:
            raise self._refusal(snapshot)
        try:
            self._evm.release(snapshot.id)
        except KeyError:
            raise self._refusal(snapshot) from None

    def _refusal(self, snapshot: object) -> UsageError | StateError:
        """Return why a snapshot cannot be reverted to or kept."""
        if not isinstance(snapshot, Snapshot):
            return UsageError(f"{snapshot!r} is not a snapshot", "`fork.snapshot()` takes one")
        if snapshot._registry is not self:
            return StateError(f"snapshot {snapshot.id} was taken on another fork", "revert it on the fork that took it")
        return StateError(
            f"snapshot {snapshot.id} is closed",
            "a snapshot is closed once it, or an earlier one, was reverted or kept; take a new one",
        )

"""Source of a run's world: the offline replica, a node, or a snapshot file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, get_args

from mayavi.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

Kind = Literal["replica", "rpc", "snapshot"]
Progress = Callable[[str, int, int], None]

MOST_OPEN = 2
_replicas: dict[str, Fork] = {}


@dataclass(frozen=True, slots=True)
class WorldSource:
    """Description of a world. It can be pickled, and opens the same world in another process."""

    kind: Kind = "replica"
    chain: str | None = None
    """None: the chain of the scenario, or that of the snapshot."""
    path: Path | None = None
    rpc_url: str | None = field(default=None, repr=False)  # it may hold a key
    block: int | str | None = None

    @classmethod
    def of(
        cls,
        kind: str | None = None,
        *,
        chain: str | None = None,
        snapshot: Path | str | None = None,
        rpc_url: str | None = None,
        block: int | str | None = None,
    ) -> WorldSource:
        """Build a source from command-line options; `UsageError` if they contradict each other."""
        if kind is None:
            kind = "snapshot" if snapshot is not None else "rpc" if rpc_url is not None else "replica"
        if kind not in get_args(Kind):
            raise UnknownName.of("source", kind, get_args(Kind), "a world is a replica, a snapshot, or read over rpc")
        if snapshot is not None and kind != "snapshot":
            raise UsageError(
                f"the source {kind} reads no snapshot file", "leave the file out, or take the source snapshot"
            )
        if rpc_url is not None and kind != "rpc":
            raise UsageError(f"the source {kind} asks no node", "leave the URL out, or take the source rpc")
        if block is not None and kind != "rpc":
            raise UsageError(f"block {block} needs a node to read it from", "take the source rpc")
        if kind != "snapshot":
            return cls(cast(Kind, kind), chain, rpc_url=rpc_url, block=block)
        if snapshot is None:
            raise UsageError("the source snapshot needs a file", "name it: --snapshot FILE")
        path = Path(snapshot)
        if not path.is_file():
            raise UsageError(
                f"there is no snapshot at '{path}'",
                "`mayavi world build --output FILE` writes one; for training `mayavi snapshot warm` does",
            )
        return cls("snapshot", chain, path.absolute())

    @classmethod
    def named(cls, source: str, *, rpc_url: str | None = None, block: int | str | None = None) -> WorldSource:
        """Parse `replica`, `snapshot:PATH` or `rpc`."""
        kind, colon, path = source.partition(":")
        if colon and kind == "rpc":
            raise UsageError(
                "the source rpc takes no address", "the node's URL is read from MAYAVI_RPC_URL, or given with --rpc-url"
            )
        if colon and kind == "replica":
            raise UsageError(f"the source replica takes no '{path}'", "name the chain: --set chain=arbitrum")
        if kind == "snapshot" and not path:
            raise UsageError("the source snapshot needs a file", "name it: snapshot:PATH")
        return cls.of(kind, snapshot=path or None, rpc_url=rpc_url, block=block)

    def on(self, chain: str) -> WorldSource:
        """Copy of this source for `chain`."""
        return replace(self, chain=chain)

    def open(self, progress: Progress | None = None) -> Fork:
        """Open the world as an independent fork. A file is read once in each process, and then copied.

        `progress(what, done, total)` is called while a replica is built.
        """
        from mayavi.evm.chains import chain as known_chain
        from mayavi.evm.fork import Fork

        if self.kind == "rpc":
            return Fork.from_rpc(self.rpc_url, self.block, chain=self.chain)
        if self.kind == "replica":
            return _replica(self.chain or "ethereum", progress).copy()
        fork = _from_file(str(self.path)).copy()
        if self.chain is not None and known_chain(self.chain).chain_id != fork.chain_id:
            there = known_chain(fork.chain_id).name
            raise UsageError(
                f"'{self.path}' holds {there}, not {self.chain}",
                f"give --chain {there}, or of an environment the setting chain={there}",
            )
        return fork


@lru_cache(maxsize=MOST_OPEN)
def _from_file(path: str) -> Fork:
    from mayavi.evm.fork import Fork

    return Fork.load_snapshot(path)


def _replica(chain: str, progress: Progress | None) -> Fork:
    from mayavi.worlds import open_world

    if chain not in _replicas:
        while len(_replicas) >= MOST_OPEN:
            del _replicas[next(iter(_replicas))]
        _replicas[chain] = open_world(chain, progress=progress)
    return _replicas[chain]

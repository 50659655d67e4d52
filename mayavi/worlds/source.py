"""Source of a run's world: the offline replica, a node, or a snapshot file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, get_args

from mayavi.errors import UnknownName, UsageError
from mayavi.worlds.tables.paths import full_market_name, market_chain, replica_block

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

Kind = Literal["replica", "rpc", "snapshot"]
Progress = Callable[[str, int, int], None]

DEFAULT_CHAIN = "ethereum"
MOST_OPEN = 2
_MARKETS = "`mayavi world list` shows the markets of Aave V3.6"
_replicas: dict[tuple[str, int | None], Fork] = {}


@dataclass(frozen=True, slots=True)
class WorldSource:
    """Description of a world. It can be pickled, and opens the same world in another process."""

    kind: Kind = "replica"
    chain: str | None = None
    """None: the chain of the scenario, or that of the snapshot."""
    path: Path | None = None
    rpc_url: str | None = field(default=None, repr=False)  # it may hold a key
    block: int | str | None = None
    """Block of the node or of the replica; None: the latest one, or the default replica."""
    world: str | None = None
    """Full name of a market's replica, `ethereum@2025-12`; None: the chain's own."""

    @classmethod
    def of(
        cls,
        kind: str | None = None,
        *,
        chain: str | None = None,
        snapshot: Path | str | None = None,
        rpc_url: str | None = None,
        block: int | str | None = None,
        world: str | None = None,
    ) -> WorldSource:
        """Build a source from command-line options; `UsageError` if they contradict each other."""
        if world is not None:
            return cls._of_market(world, kind, chain, block)
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
        if block is not None and kind == "snapshot":
            raise UsageError(
                f"a snapshot has its own block, and block {block} is given too",
                "leave the block out, or take the source rpc or replica",
            )
        if kind == "replica" and chain is not None:
            block = replica_block(chain, block)
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
    def _of_market(cls, world: str, kind: str | None, chain: str | None, block: int | str | None) -> WorldSource:
        if kind not in (None, "replica"):
            raise UsageError(f"the world {world} is a replica, and the source {kind} is given", "leave one of them out")
        if block is not None:
            raise UsageError(f"the world {world} has its own block, and block {block} is given too", "leave it out")
        return cls("replica", chain=None, world=full_market_name(world)).on(chain or market_chain(world))

    @classmethod
    def named(cls, source: str, *, rpc_url: str | None = None, block: int | str | None = None) -> WorldSource:
        """Parse `replica`, `replica:BLOCK`, `replica:MARKET`, `snapshot:PATH` or `rpc`."""
        kind, colon, path = source.partition(":")
        if colon and kind == "rpc":
            raise UsageError(
                "the source rpc takes no address", "the node's URL is read from MAYAVI_RPC_URL, or given with --rpc-url"
            )
        if colon and kind == "replica":
            if "@" in path:
                if rpc_url is not None:
                    raise UsageError("the source replica asks no node", "leave the URL out, or take the source rpc")
                return replace(cls.of(world=path, block=block), chain=None)
            if not path.isdecimal():
                hint = "name a block, replica:17666333, a market, replica:ethereum@2025-12, or --set chain=arbitrum"
                raise UsageError(f"the source replica takes no '{path}'", hint)
            if block not in (None, int(path)):
                raise UsageError(f"two blocks are given: {path} and {block}", "leave one of them out")
            return cls.of(kind, rpc_url=rpc_url, block=int(path))
        if kind == "snapshot" and not path:
            raise UsageError("the source snapshot needs a file", "name it: snapshot:PATH")
        return cls.of(kind, snapshot=path or None, rpc_url=rpc_url, block=block)

    @property
    def name(self) -> str:
        """What `named` parses, except for the URL and the block of a node: `replica:17666333`."""
        if self.kind == "snapshot":
            return f"snapshot:{self.path}"
        if self.world is not None:
            return f"replica:{self.world}"
        return f"replica:{self.block}" if self.kind == "replica" and self.block is not None else self.kind

    def on(self, chain: str) -> WorldSource:
        """Copy of this source for `chain`; `UsageError` if it is a market of another one."""
        if self.world is not None and (own := market_chain(self.world)) != chain:
            raise UsageError(
                f"the world {self.world} is a market of {own}, not of {chain}", f"{_MARKETS}; or take {own}"
            )
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
            return _replica(self.world or self.chain or DEFAULT_CHAIN, self.block, progress).copy()
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


def _replica(chain: str, block: int | str | None, progress: Progress | None) -> Fork:
    from mayavi.worlds import open_world

    key = chain, replica_block(chain, block)
    if key not in _replicas:
        while len(_replicas) >= MOST_OPEN:
            del _replicas[next(iter(_replicas))]
        _replicas[key] = open_world(chain, block=key[1], progress=progress)
    return _replicas[key]

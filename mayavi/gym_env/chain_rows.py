"""`ChainRowsEnv`: rows on a `Fleet`, each with its own chain; one kernel call steps all of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, ClassVar, TypeVar

from mayavi.errors import MissingStateError
from mayavi.evm.fleet import Fleet, KeptRow
from mayavi.evm.path_cache import PathCache
from mayavi.gym_env.configuration import ChainConfig
from mayavi.gym_env.rows import Rows, RowsEnv
from mayavi.worlds.source import WorldSource

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

C = TypeVar("C", bound=ChainConfig)


class ChainRowsEnv(RowsEnv[C]):
    """N episodes of one environment on real contracts.

    In addition to the methods of `RowsEnv`, a subclass provides `prepare(fork)`. It sets up the state that all episodes
    share, once, before the fleet is made of the chain. `start` takes rows from there to the start of their episodes by
    real transactions.
    """

    takes_world: ClassVar[bool] = True
    keeps_paths: ClassVar[bool] = True
    """Whether recorded paths of other processes are taken up."""

    def __init__(
        self,
        config: C,
        rows: int = 1,
        *,
        world: WorldSource | Fork | None = None,
        threads: int | None = None,
        specialise: str | None = None,
    ) -> None:
        """Open `world`, by default the replica. A fork is copied; both share the state fetched from a node.

        `specialise` is that of `Fleet`.
        """
        super().__init__(config, rows, threads=threads)
        if world is None or isinstance(world, WorldSource):
            fork = (world or WorldSource()).on(config.chain).open()
        else:
            fork = world.copy()
        remedy = f"read it beforehand: mayavi snapshot warm --env {self.name} --rollouts 100 --output FILE"
        try:
            self.prepare(fork)
        except MissingStateError as error:
            raise MissingStateError(error.message, remedy) from None
        self.world_digest = identity_of(fork)
        """Identity of the world that all episodes start from."""
        self.world_name = name_of(fork)
        start = fork if fork.fetches_missing else fork.frozen()
        cache = PathCache(self.world_digest) if self.keeps_paths and not fork.fetches_missing else None
        self.fleet = Fleet(start, rows, lacking=remedy, specialise=specialise, cache=cache)
        self._self_check_seeded = False

    def begin(self, rows: Sequence[int] | Rows, episodes: Sequence[int]) -> None:
        """Start `episodes` in `rows`. The first one decides which replays the self-check interprets too."""
        if not self._self_check_seeded and len(episodes):
            self.fleet.seed_self_check(int(episodes[0]))
            self._self_check_seeded = True
        super().begin(rows, episodes)

    @abstractmethod
    def prepare(self, fork: Fork) -> None:
        """Set up the state that all episodes share: funded accounts, approvals, pools. Called once."""

    def keep_paths(self) -> None:
        """Write the recorded paths to the cache if there are new ones; the next environment starts with them."""
        counts = [*self.fleet.statistics(), *self.fleet.program_statistics()]
        if any(each["recordings"] for each in counts):
            self.fleet.save_paths()

    def identities(self, rows: Rows) -> list[bytes]:
        """Hash of each chain's whole state."""
        return self.fleet.identities(rows.tolist())

    def _reset_state(self, rows: Rows) -> None:
        self.fleet.reset(rows)

    def _copy_state(self, sources: Rows, targets: Rows) -> None:
        for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
            self.fleet.copy_row(source, target)

    def _save_state(self, rows: Rows) -> list[KeptRow]:
        return [self.fleet.keep(row) for row in rows.tolist()]

    def _restore_state(self, kept: Sequence[KeptRow], rows: Rows) -> None:
        for each, row in zip(kept, rows.tolist(), strict=True):
            self.fleet.put(row, each)


def name_of(fork: Fork) -> str | None:
    """Name of a world: that of its market, such as `ethereum@2025-12`, or of its chain."""
    return fork.source.get("world") or fork.source.get("chain")


def identity_of(fork: Fork) -> str:
    """Identity of a world: its digest, or chain and block where it is read from a node on demand."""
    if not fork.fetches_missing:
        return fork.digest()
    return sha256(f"mayavi world {fork.chain_id} {fork.source['block_hash']}".encode()).hexdigest()

"""`ChainRowsEnv`: rows that stand on a `Fleet`, a chain of its own under each; one kernel call steps all of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

from mayavi.errors import MissingStateError
from mayavi.evm.fleet import Fleet, KeptRow
from mayavi.gym_env.configuration import ChainConfig
from mayavi.gym_env.rows import Rows, RowsEnv
from mayavi.worlds.source import WorldSource

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

C = TypeVar("C", bound=ChainConfig)


class ChainRowsEnv(RowsEnv[C]):
    """N episodes of one environment on real contracts.

    Beyond what `RowsEnv` asks for, a subclass provides `prepare(fork)`: what all episodes share, put on the chain once,
    before it is frozen under the fleet. `start` puts rows that stand there where their episodes start, by real
    transactions.
    """

    def __init__(
        self, config: C, rows: int = 1, *, world: WorldSource | Fork | None = None, threads: int | None = None
    ) -> None:
        """On `world`, by default the replica. Of a fork a twin is taken: what is learnt for the rows, it knows too."""
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
        """The identity of the world all episodes start from."""
        self.fleet = Fleet(fork if fork.learns else fork.frozen(), rows, lacking=remedy)

    @abstractmethod
    def prepare(self, fork: Fork) -> None:
        """Put on the chain what all episodes share: funded accounts, approvals, pools. Called once."""

    def identities(self, rows: Rows) -> list[bytes]:
        """A hash of each chain's state, to the last slot."""
        return self.fleet.identities(rows.tolist())

    def _renew_under(self, rows: Rows) -> None:
        self.fleet.reset(rows)

    def _copy_under(self, sources: Rows, targets: Rows) -> None:
        for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
            self.fleet.copy_row(source, target)

    def _keep_under(self, rows: Rows) -> list[KeptRow]:
        return [self.fleet.keep(row) for row in rows.tolist()]

    def _put_under(self, kept: Sequence[KeptRow], rows: Rows) -> None:
        for each, row in zip(kept, rows.tolist(), strict=True):
            self.fleet.put(row, each)


def identity_of(fork: Fork) -> str:
    """What tells a world from others: its digest, or where it is read from a node as need arises, chain and block."""
    if not fork.learns:
        return fork.digest()
    return sha256(f"mayavi world {fork.chain_id} {fork.source['block_hash']}".encode()).hexdigest()

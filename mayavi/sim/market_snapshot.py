"""`MarketSnapshotHook`: record market figures after every step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from mayavi.errors import UsageError
from mayavi.sim.figure_table import FigureIndex, FigureTable, number
from mayavi.sim.hooks import Hook
from mayavi.sim.market_figures import AaveFigures, BatchReader, CurveFigures, Reader, UniswapFigures
from mayavi.sim.rows import ActionRow, SnapshotRow
from mayavi.sim.snapshot_rows import FigureRows, Moment, SnapshotRows

if TYPE_CHECKING:
    from mayavi.sim.world_state import WorldState


class MarketSnapshotHook(Hook):
    """Record the figures of `readers` before the first and after every `every`-th step, and after step `last`.

    Pool holdings are also valued in dollars if the oracle of the first Aave reader prices all tokens of the pool.
    `first` and `latest` hold the first and the latest figures by subject and metric.

        MarketSnapshotHook([AaveFigures(market, ["WETH", "USDC"]), UniswapFigures(pool), PopulationFigures(…)])
    """

    def __init__(self, readers: Sequence[Reader], *, every: int = 1, last: int | None = None) -> None:
        if every < 1:
            raise UsageError(f"a snapshot every {every} steps is not possible", "give at least 1")
        self.readers, self.every, self.last = tuple(readers), every, last
        self.first, self.latest = FigureIndex(), FigureIndex()
        self._tokens: list[bytes] | None = None
        self._known: tuple[int, Mapping[BatchReader, FigureTable]] = -1, {}

    def after_step(self, world: WorldState, actions: Sequence[ActionRow]) -> Iterable[SnapshotRow]:
        """Read all figures and return them as rows."""
        del actions
        if not self.is_due(world):
            return []
        marker, known = self._known
        if marker != world.fork.marker:
            known = {}
        worth, tables = self._prices().get, list[FigureTable]()
        for reader in self.readers:
            read = known.get(reader) if isinstance(reader, BatchReader) else None
            tables.append(FigureTable.of(reader.read(world, worth)) if read is None else read)
        self.latest = FigureIndex(tables)
        self.first = self.first or self.latest
        moment = world.step, world.fork.block_number, world.fork.timestamp
        return SnapshotRows([_rows(moment, table) for table in tables])

    def is_due(self, world: WorldState) -> bool:
        """Whether figures are read after this step."""
        return not (world.step + 1) % self.every or world.step == self.last

    def take(self, marker: int, known: Mapping[BatchReader, FigureTable]) -> None:
        """Use `known` instead of reading these figures, while the fork's marker equals `marker`."""
        self._known = marker, known

    def _prices(self) -> dict[bytes, int]:
        market = next((reader for reader in self.readers if isinstance(reader, AaveFigures)), None)
        if self._tokens is None:
            pools = [each for each in self.readers if isinstance(each, UniswapFigures | CurveFigures)]
            self._tokens = sorted({token for pool in pools for token in pool.tokens})
        return market.prices_usd_e8(self._tokens) if market and self._tokens else {}


def _rows(moment: Moment, table: FigureTable) -> FigureRows | list[SnapshotRow]:
    """Return figures as rows: of a table, or one by one if a value is no plain integer."""
    try:
        return FigureRows(moment, table)
    except TypeError:
        rows = ((each, number(each.value, each.unit)) for each in table)
        return [
            SnapshotRow(*moment, each.subject, each.metric, str(each.value), scaled, each.unit) for each, scaled in rows
        ]

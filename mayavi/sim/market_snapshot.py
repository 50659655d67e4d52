"""`MarketSnapshotHook`: record market figures after every step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING

from mayavi.errors import UsageError
from mayavi.sim.hooks import Hook
from mayavi.sim.market_figures import AaveFigures, BatchReader, CurveFigures, Figure, Reader, UniswapFigures, unit_size
from mayavi.sim.rows import ActionRow, SnapshotRow, share_line, snapshot_row

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
        self.first: dict[tuple[str, str], Figure] = {}
        self._figures: list[Figure] = []
        self._latest: dict[tuple[str, str], Figure] | None = None
        self._tokens: list[bytes] | None = None
        self._known: tuple[int, Mapping[BatchReader, list[Figure]]] = -1, {}

    def after_step(self, world: WorldState, actions: Sequence[ActionRow]) -> Iterable[SnapshotRow]:
        """Read all figures and return them as rows."""
        del actions
        if not self.is_due(world):
            return []
        marker, known = self._known
        if marker != world.fork.marker:
            known = {}
        worth, figures = self._prices().get, list[Figure]()
        for reader in self.readers:
            read = known.get(reader) if isinstance(reader, BatchReader) else None
            figures += reader.read(world, worth) if read is None else read
        self._figures, self._latest = figures, None
        self.first = self.first or self.latest
        rows = _shared_rows if known else _rows
        return rows((world.step, world.fork.block_number, world.fork.timestamp), figures)

    def is_due(self, world: WorldState) -> bool:
        """Whether figures are read after this step."""
        return not (world.step + 1) % self.every or world.step == self.last

    def take(self, marker: int, known: Mapping[BatchReader, list[Figure]]) -> None:
        """Use `known` instead of reading these figures, while the fork's marker equals `marker`.

        Interleaved runs share the rows of equal figures.
        """
        self._known = marker, known

    @property
    def latest(self) -> dict[tuple[str, str], Figure]:
        """Latest figures by subject and metric; indexed on first use."""
        if self._latest is None:
            self._latest = {(figure.subject, figure.metric): figure for figure in self._figures}
        return self._latest

    def _prices(self) -> dict[bytes, int]:
        market = next((reader for reader in self.readers if isinstance(reader, AaveFigures)), None)
        if self._tokens is None:
            pools = [each for each in self.readers if isinstance(each, UniswapFigures | CurveFigures)]
            self._tokens = sorted({token for pool in pools for token in pool.tokens})
        return market.prices_usd_e8(self._tokens) if market and self._tokens else {}


def _rows(moment: tuple[int, int, int], figures: list[Figure]) -> list[SnapshotRow]:
    """Return the rows of all figures, built column by column, which is faster than one by one."""
    if not figures:
        return []
    subjects, metrics, values, units = zip(*figures, strict=True)
    texts, numbers = zip(*map(_scaled, values, units), strict=True)
    columns = (*map(repeat, moment), subjects, metrics, texts, numbers, units)
    return list(map(snapshot_row, zip(*columns)))  # noqa: B905  # repeats do not end


@lru_cache(maxsize=1 << 14, typed=True)
def _scaled(value: int, unit: str) -> tuple[str, float]:
    """Return a figure as text and as a number; nine of ten figures of a sweep repeat earlier ones."""
    return str(value), value / unit_size(unit)


def _shared_rows(moment: tuple[int, int, int], figures: list[Figure]) -> list[SnapshotRow]:
    """Return the rows of `_rows`; interleaved runs share equal rows, and their lines of the digest."""
    known = _rows_of(moment)
    exact = (known.get(each) if type(each.value) is int else None for each in figures)  # True is equal to 1
    return [row or _shared_row(moment, each, known) for row, each in zip(exact, figures, strict=True)]


def _shared_row(moment: tuple[int, int, int], figure: Figure, known: dict[Figure, SnapshotRow]) -> SnapshotRow:
    (row,) = _rows(moment, [figure])
    if type(figure.value) is int and len(known) < _MOST_ROWS:
        known[figure] = row
        share_line(row)
    return row


@lru_cache(maxsize=8)
def _rows_of(moment: tuple[int, int, int]) -> dict[Figure, SnapshotRow]:
    """Return the shared rows of a moment, by figure."""
    del moment
    return {}


_MOST_ROWS = 1 << 12
"""Most shared rows of one moment."""

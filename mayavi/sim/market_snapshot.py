"""`MarketSnapshotHook`: record market figures after every step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING

from mayavi.errors import UsageError
from mayavi.sim.hooks import Hook
from mayavi.sim.market_figures import AaveFigures, CurveFigures, Figure, Reader, UniswapFigures, unit_size
from mayavi.sim.rows import ActionRow, SnapshotRow, snapshot_row

if TYPE_CHECKING:
    from mayavi.sim.world_state import WorldState


class MarketSnapshotHook(Hook):
    """Record the figures of `readers` before the first and after every `every`-th step, and after step `last`.

    Pool holdings are also valued in dollars if the oracle of the first Aave reader prices all tokens of the pool.
    `first` and `latest` hold figures by subject and metric, as read before the first step and last.

        MarketSnapshotHook([AaveFigures(market, ["WETH", "USDC"]), UniswapFigures(pool), PopulationFigures(…)])
    """

    def __init__(self, readers: Sequence[Reader], *, every: int = 1, last: int | None = None) -> None:
        if every < 1:
            raise UsageError(f"a snapshot every {every} steps is none", "give at least 1")
        self.readers, self.every, self.last = tuple(readers), every, last
        self.first: dict[tuple[str, str], Figure] = {}
        self._figures: list[Figure] = []
        self._latest: dict[tuple[str, str], Figure] | None = None
        self._tokens: list[bytes] | None = None

    def after_step(self, world: WorldState, actions: Sequence[ActionRow]) -> Iterable[SnapshotRow]:
        """Read all figures and return them as rows."""
        del actions
        if (world.step + 1) % self.every and world.step != self.last:
            return []
        worth, figures = self._prices().get, list[Figure]()
        for reader in self.readers:
            figures += reader.read(world, worth)
        self._figures, self._latest = figures, None
        self.first = self.first or self.latest
        return _rows((world.step, world.fork.block_number, world.fork.timestamp), figures)

    @property
    def latest(self) -> dict[tuple[str, str], Figure]:
        """Figures by subject and metric, as read last; sorted out when they are asked for."""
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
    """Return the rows of all figures at once, without code of Python's own for each."""
    if not figures:
        return []
    subjects, metrics, values, units = zip(*figures, strict=True)
    texts, numbers = zip(*map(_scaled, values, units), strict=True)
    columns = (*map(repeat, moment), subjects, metrics, texts, numbers, units)
    return list(map(snapshot_row, zip(*columns)))  # noqa: B905  # repeats do not end


@lru_cache(maxsize=1 << 14, typed=True)
def _scaled(value: int, unit: str) -> tuple[str, float]:
    """Return a figure as text and as a number; nine of ten figures of a sweep were there before."""
    return str(value), value / unit_size(unit)

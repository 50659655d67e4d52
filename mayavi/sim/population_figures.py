"""`PopulationFigures`: figures of the accounts of one lending market together, and of single ones."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mayavi.evm.address import Addresses
from mayavi.evm.units import WAD
from mayavi.protocols.aave.account_data import AccountData
from mayavi.protocols.aave.market import AaveV3
from mayavi.sim.figure_table import FigureTable, TableNames, table_names
from mayavi.sim.market_figures import BatchReader, Call

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mayavi.protocols.compound.market import CompoundV3
    from mayavi.protocols.morpho.market import MorphoMarket
    from mayavi.sim.world_state import WorldState


class PopulationFigures(BatchReader):
    """Accounts of one lending market together: health factors, debt and bad debt.

    `health_factor_below_1_05` counts indebted accounts with a lower health factor, `liquidatable` those below one that
    still have collateral. `bad_debt` is the debt that collateral does not cover, summed account by account. Each
    account has its own `health_factor`, `collateral` and `debt` before the first step, `traced` ones after every step.
    """

    BOUNDS = (100, 105, 110, 125, 150, 200, 300)
    """Bounds of the health factor histogram, in hundredths."""

    def __init__(
        self, name: str, market: AaveV3 | CompoundV3 | MorphoMarket, accounts: Sequence[str], traced: Sequence[str] = ()
    ) -> None:
        self.name, self.market = name, market
        self.accounts, self.traced = tuple(accounts), tuple(traced)
        self._rows = {name: row for row, name in enumerate(self.accounts)}
        self._places = Addresses(())
        self._calls: tuple[Call, ...] | None = None
        self.unit = "eth_e8" if not isinstance(market, AaveV3) and market.quote == "ETH" else "usd_e8"

    def read(self, world: WorldState, worth: Callable[[bytes], int | None]) -> FigureTable:
        """Read the figures of the population, then of single accounts."""
        del worth
        columns = self.columns(world)
        if len(self.accounts) > _FEW:
            return self._figures(world, _summary(*columns), columns)
        listed = [column.tolist() for column in columns]
        return self._figures(world, _summary_of_few(*listed), listed)

    def calls(self, world: WorldState) -> tuple[Call, ...]:
        """Return a call for each account of a few on Aave; none for others, which one batch of a run reads."""
        if self._calls is None:
            self._calls = ()
            if isinstance(self.market, AaveV3) and len(self.accounts) <= _FEW:
                pool = self.market.pool
                encode = pool.getUserAccountData.encode
                self._calls = tuple((pool.address, encode(place)) for place in self._addresses(world))
        return self._calls

    def figures_of(self, world: WorldState, outputs: Sequence[bytes | None]) -> FigureTable | None:
        """Return the figures of the population, then of single accounts; None if an account was not read."""
        size = 32 * len(AccountData._fields)
        rows = [output for output in outputs if output is not None and len(output) >= size]
        if not rows or len(rows) < len(self.accounts):
            return None
        listed = [[min(int.from_bytes(row[at : at + 32]), _MOST) for row in rows] for at in _COLUMNS]
        return self._figures(world, _summary_of_few(*listed), listed)

    def _figures(self, world: WorldState, summary: tuple[list[int], int | None], columns: Sequence[Any]) -> FigureTable:
        """Return the figures of a summary, then those of single accounts."""
        summed, lowest = summary
        values = [len(self.accounts), *summed] if lowest is None else [len(self.accounts), *summed, lowest]
        named = self.accounts if world.step < 0 else self.traced
        if not named:
            return FigureTable(self._names(named, (), is_owed=lowest is not None), values)
        rows = zip(*(each if isinstance(each, list) else each.tolist() for each in columns), strict=True)
        chosen = list(rows)
        if named is not self.accounts:
            chosen = [chosen[self._rows[account]] for account in named]
        owing = tuple([debt > 0 for _, debt, _ in chosen])
        for collateral, debt, factor in chosen:
            values += (collateral, debt, factor) if debt else (collateral, debt)
        return FigureTable(self._names(named, owing, is_owed=lowest is not None), values)

    def _names(self, named: tuple[str, ...], owing: tuple[bool, ...], *, is_owed: bool) -> TableNames:
        """Return the names of the figures of these accounts, of which some have debt; `is_owed`: some account has."""
        return _population_names(self.name, self.unit, named, owing, is_owed=is_owed)

    def columns(self, world: WorldState) -> tuple[Any, Any, Any]:
        """Return collateral, debt and health factor of all accounts as arrays of 64-bit integers."""
        places, market = self._addresses(world), self.market
        if isinstance(market, AaveV3):
            aave = world.observe(("aave accounts", market.pool.address, places), lambda: market.account_data(places))
            return aave.collateral_usd_e8.saturated(), aave.debt_usd_e8.saturated(), aave.health_factor_wad.saturated()
        key = "lending accounts", getattr(market, "id", market.address), places
        comet = world.observe(key, lambda: market.account_data(places))
        debt, limit = comet.debt_value_e8.ints(), comet.liquidation_limit_e8.ints()
        factors = [least * WAD // owed if owed else 0 for least, owed in zip(limit, debt, strict=True)]
        return (
            comet.collateral_value_e8.saturated(),
            comet.debt_value_e8.saturated(),
            np.array([min(factor, _MOST) for factor in factors], dtype=np.uint64),
        )

    def _addresses(self, world: WorldState) -> Addresses:
        if not self._places:
            self._places = Addresses(world.address(name) for name in self.accounts)
        return self._places


@lru_cache(maxsize=256)
def _population_names(
    name: str, unit: str, named: tuple[str, ...], owing: tuple[bool, ...], *, is_owed: bool
) -> TableNames:
    units = {"accounts": "count"} | {metric: unit if metric in _VALUES else "count" for metric in _SUMMED}
    units |= {"health_factor_lowest": "wad"} if is_owed else {}
    listed = [(name, metric, each) for metric, each in units.items()]
    for account, owes in zip(named, owing, strict=True):
        listed += [(account, "collateral", unit), (account, "debt", unit)]
        if owes:
            listed.append((account, "health_factor", "wad"))
    return table_names(*zip(*listed, strict=True))


_BOUND_INTS = [bound * WAD // 100 for bound in PopulationFigures.BOUNDS]
_BOUNDS: NDArray[np.uint64] = np.array(_BOUND_INTS, dtype=np.uint64)
_BELOW = [
    f"health_factor_below_{bound // 100}_{bound % 100:02d}" if bound % 100 else f"health_factor_below_{bound // 100}"
    for bound in PopulationFigures.BOUNDS
]
_VALUES = ("collateral", "debt", "bad_debt")
_SUMMED = ("accounts_with_debt", *_VALUES, "accounts_with_bad_debt", "liquidatable", *_BELOW)
"""Metrics of a population, as `_summary` returns them."""
_MOST = 2**64 - 1
"""What larger values become, such as a health factor without debt."""
_COLUMNS = [32 * AccountData._fields.index(name) for name in ("collateral_usd_e8", "debt_usd_e8", "health_factor_wad")]
"""Where they are in the output of `getUserAccountData`."""
_FEW = 8
"""Accounts up to which Python's integers take less time than arrays."""


def _summary(collateral: Any, debt: Any, factors: Any) -> tuple[list[int], int | None]:
    """Return the metrics named in `_SUMMED`, in that order, and the lowest health factor; None without debt."""
    owing = debt > 0
    short = np.where(debt > collateral, debt, collateral) - collateral
    doomed = owing & (collateral > 0) & (factors < WAD)
    owed = np.sort(factors[owing])
    values = [_total(each) for each in (collateral, debt, short)]
    counts = [int(np.count_nonzero(each)) for each in (owing, short, doomed)]
    below = np.searchsorted(owed, _BOUNDS).tolist()
    return [counts[0], *values, *counts[1:], *below], int(owed[0]) if len(owed) else None


def _summary_of_few(collateral: list[int], debt: list[int], factors: list[int]) -> tuple[list[int], int | None]:
    """Return the same as `_summary`, computed with Python integers."""
    rows = list(zip(collateral, debt, factors, strict=True))
    owed = sorted(factor for _, owes, factor in rows if owes)
    short = [max(0, owes - held) for held, owes, _ in rows]
    values = [sum(held for held, _, _ in rows), sum(owes for _, owes, _ in rows), sum(short)]
    doomed = sum(1 for held, owes, factor in rows if held and owes and factor < WAD)
    counts = [len(owed), *values, sum(1 for each in short if each), doomed]
    return [*counts, *(bisect_left(owed, bound) for bound in _BOUND_INTS)], owed[0] if owed else None


def _total(values: Any) -> int:
    return (int((values >> np.uint64(32)).sum()) << 32) + int((values & np.uint64(2**32 - 1)).sum())

"""KPIs of a whole run: liquidations, bad debt, price moves, sales."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from mayavi.agents.lending.loan import Loan
from mayavi.agents.lending.opening_borrower import OpeningBorrower
from mayavi.errors import BadArgument
from mayavi.evm.units import WAD
from mayavi.scenarios.figures.notes import CONSTANT_PRICE, is_dollar
from mayavi.sim.rows import KpiRow
from mayavi.worlds.tables.morpho_market import VAULTS

if TYPE_CHECKING:
    from mayavi.agents.base import Agent
    from mayavi.scenarios.figures.coarseness import LargestFall
    from mayavi.scenarios.figures.tally import ScenarioTally
    from mayavi.sim.figure_table import Figure
    from mayavi.sim.market_snapshot import MarketSnapshotHook
    from mayavi.sim.world_state import WorldState

_DECIMALS = {"usd_e8": 8, "eth_e8": 8, "wad": 18, "ray": 27, "ppm": 6, "count": 0, "gas": 0, "wei": 0}


@lru_cache(maxsize=1 << 12, typed=True)  # most KPIs of a sweep are those of an earlier run, such as zeros
def kpi(name: str, value: int, unit: str) -> KpiRow:
    """Return an exact KPI; units `e6`, `e18` … are the smallest units of a token. `BadArgument` for another unit."""
    if unit in _DECIMALS:
        decimals = _DECIMALS[unit]
    elif unit[:1] == "e" and unit[1:].isdigit():
        decimals = int(unit[1:])
    else:
        raise BadArgument(f"the KPI '{name}' has the unit '{unit}'", f"take {', '.join(_DECIMALS)}, or e6, e18, …")
    return KpiRow(name, str(value), value / 10**decimals, unit)


NAMED_ACCOUNTS = 5
"""Most accounts without a pool that a KPI, and so a note, names."""
WITHOUT_POOL = "without_pool"
"""Kind of the KPIs that name accounts without a pool: `without_pool.BOOK.ACCOUNT`."""


class ScenarioKpis:
    """Compute the KPIs of a scenario after its last step: `kpis(world)`."""

    def __init__(
        self,
        tally: ScenarioTally,
        snapshots: MarketSnapshotHook,
        *,
        populations: Sequence[str],
        traced: Sequence[str],
        pools: Sequence[str],
        curve_pools: Sequence[str],
        assets: Sequence[tuple[str, str]],
        following: Sequence[str] = (),
        oracles: Mapping[str, str] | None = None,
        borrowers: Mapping[str, Agent] | None = None,
        opening_gaps: Mapping[str, int] | None = None,
        limits: Callable[[], Iterable[tuple[str, int]]] = tuple,
        falls: Mapping[str, LargestFall] | None = None,
        priced: Iterable[str] = (),
    ) -> None:
        self.tally, self.snapshots = tally, snapshots
        self.populations, self.traced = tuple(populations), tuple(traced)
        self.pools, self.curve_pools, self.assets = tuple(pools), tuple(curve_pools), tuple(assets)
        self.following = frozenset(following)
        """Pools whose price follows an outside price."""
        self.oracles = dict(oracles or {})
        """By token: the subject of the market figures that hold the token's price on a lending market."""
        self.borrowers = dict(borrowers or {})
        self.opening_gaps = dict(opening_gaps or {})
        """By token: distance of the first outside price from the oracle's (18 decimals), where a scenario sets it."""
        self.limits = limits
        self.falls = dict(falls or {})
        """By collateral: the largest fall of its price in one step."""
        self.priced = frozenset(priced)
        """Tokens with a price process."""

    def __call__(self, world: WorldState) -> list[KpiRow]:
        """Return all KPIs."""
        limits = (kpi(name, count, "count") for name, count in self.limits())
        metrics = {metric for _, metric in self.snapshots.latest}
        vaults = self._vaults() if "share_price" in metrics else ()
        return [*self._lending(metrics), *self._prices(), *vaults, *self._sales(world), *limits]

    def _vaults(self) -> Iterable[KpiRow]:
        """Give the price of a share of each vault after the last step, and its change."""
        first, latest = self.snapshots.first, self.snapshots.latest
        for subject, metric in latest:
            if metric == "share_price":
                name = subject.removeprefix(VAULTS)
                yield kpi(f"share_price.{name}", latest[subject, metric].value, "wad")
                yield kpi(f"share_price_change.{name}", _change(first, latest, subject, metric), "wad")

    def _lending(self, metrics: Container[str]) -> Iterable[KpiRow]:
        if not self.populations:
            return
        tally, latest = self.tally, self.snapshots.latest
        units = {latest[each, "bad_debt"].unit for each in self.populations}
        unit = units.pop() if len(units) == 1 else "usd_e8"
        yield kpi("liquidations", tally.liquidations, "count")
        yield kpi("liquidated", tally.liquidated_e8, unit)
        yield kpi("liquidated_accounts", len(tally.liquidated_accounts), "count")
        yield kpi("liquidations_failed", tally.liquidations_failed, "count")
        fees = tally.liquidator_fees.get("ETH" if unit == "eth_e8" else "USD", 0)
        yield kpi("liquidator_profit", tally.liquidator_profit_e8 - fees, unit)
        yield kpi("liquidator_profit_before_gas", tally.liquidator_profit_e8, unit)
        if tally.seized_sold_e8:
            gap = (tally.seized_proceeds_e8 - tally.seized_sold_e8) * WAD // tally.seized_sold_e8
            yield kpi("liquidation_sale_gap", gap, "wad")
        for metric, name in (
            ("bad_debt", "bad_debt"),
            ("accounts_with_bad_debt", "bad_debt_accounts"),
            ("liquidatable", "liquidatable_accounts"),
            ("debt", "debt"),
            ("collateral", "collateral"),
        ):
            figures = [latest[each, metric] for each in self.populations]
            total = sum([each.value for each in figures])
            total += {"bad_debt": tally.market_loss_e8, "bad_debt_accounts": len(tally.market_losses_e8)}.get(name, 0)
            yield kpi(name, total, unit if figures[0].unit.endswith("_e8") else "count")
        if "deficit" in metrics:
            yield kpi("deficit", tally.deficit_e8, unit)
        yield from self._openings()
        for account in self.traced:
            figure = latest.get((account, "health_factor"))
            if figure is not None:
                yield kpi(f"health_factor.{account}", figure.value, "wad")

    def _openings(self) -> Iterable[KpiRow]:
        """Count loans that did not open as the scenario wanted them."""
        for name, agent in self.borrowers.items():
            loan = getattr(agent, "loan", None)
            if isinstance(agent, OpeningBorrower):
                yield kpi(f"never_opened.{name}", int(not agent.opened), "count")
            elif isinstance(loan, Loan):
                yield kpi(f"accounts_at_limit.{name}", len(loan.at_limit), "count")  # zero too: a sweep averages it
            else:
                yield from self._mixed_openings(name, agent)
            if isinstance(loan, Loan):
                yield from self._limits(name, loan.at_limit)

    def _mixed_openings(self, name: str, agent: Agent) -> Iterable[KpiRow]:
        """Count loans of several assets that did not open as wanted. Most runs have none, and import none of this."""
        from mayavi.agents.lending.mixed_borrowers import MixedBorrowers
        from mayavi.agents.lending.mixed_loan import MixedLoan
        from mayavi.agents.lending.position_holders import PositionHolders

        loan = getattr(agent, "loan", None)
        limited = loan.at_limit if isinstance(loan, MixedLoan) else {}
        if isinstance(agent, MixedBorrowers):
            yield kpi(f"accounts_at_limit.{name}", len(limited), "count")
        elif isinstance(agent, PositionHolders):
            yield kpi(f"accounts_beyond_limit.{name}", len(agent.beyond_limit), "count")
            yield kpi(f"accounts_without_pool.{name}", len(agent.without_pool), "count")
            for account in agent.without_pool[:NAMED_ACCOUNTS]:
                yield kpi(f"{WITHOUT_POOL}.{name}.{account}", 1, "count")
        yield from self._limits(name, limited)

    def _limits(self, name: str, limited: Mapping[bytes, int]) -> Iterable[KpiRow]:
        if limited:
            yield kpi(f"accounts.{name}", self.snapshots.latest[name, "accounts"].value, "count")
            yield kpi(f"health_factor_limit.{name}", min(limited.values()), "wad")

    def _prices(self) -> Iterable[KpiRow]:
        first, latest = self.snapshots.first, self.snapshots.latest
        for name, gap in sorted(self.opening_gaps.items()):
            yield kpi(f"opening_gap.{name}", gap, "wad")
        for name, fall in sorted(self.falls.items()):
            yield kpi(f"largest_fall.{name}", fall.change_wad, "wad")
            if fall.jump_wad:
                yield kpi(f"jump.{name}", fall.jump_wad, "wad")
            if fall.step_needed:
                yield kpi(f"step_needed.{name}", fall.step_needed, "count")
        for subject, name in self.assets:
            if (subject, "price") in latest:
                yield kpi(f"oracle_change.{name}", _change(first, latest, subject), "wad")
        yield from self._constant_debts()
        for pool in self.pools:
            subject = f"UniswapV3.{pool}"
            if pool not in self.following:
                yield kpi(f"price_impact.{pool}", _change(first, latest, subject), "wad")
                continue
            yield kpi(f"pool_change.{pool}", _change(first, latest, subject), "wad")
            distance = self._pool_gap(pool)
            if distance is not None:
                yield kpi(f"pool_gap.{pool}", distance, "wad")
            yield kpi(f"liquidity_change.{pool}", _change(first, latest, subject, "liquidity"), "wad")
        for (subject, metric), figure in latest.items() if self.curve_pools else ():
            if subject in self.curve_pools and metric.startswith("price_"):
                yield kpi(f"{metric}.{subject}", figure.value, "wad")

    def _constant_debts(self) -> Iterable[KpiRow]:
        """Name debts, dollars apart, that have no price process and stayed while a collateral moved."""
        first, latest = self.snapshots.first, self.snapshots.latest
        if not any(_change(first, latest, subject) for subject, _ in self.assets if (subject, "price") in latest):
            return
        collaterals = {name for _, name in self.assets}
        for token, subject in sorted(self.oracles.items()):
            if token in collaterals | self.priced or is_dollar(token) or (subject, "price") not in latest:
                continue
            if not _change(first, latest, subject):
                yield kpi(f"{CONSTANT_PRICE}.{token}", 1, "count")

    def _pool_gap(self, pool: str) -> int | None:
        """Return the relative distance of a pool's price from the oracle's; None if no oracle prices both tokens."""
        latest, tokens = self.snapshots.latest, pool.rpartition(".")[0].split("/")
        prices = [latest.get((self.oracles.get(token, ""), "price")) for token in tokens]
        if len(prices) != 2 or prices[0] is None or prices[1] is None or prices[0].unit != prices[1].unit:
            return None
        expected = prices[0].value * WAD // prices[1].value
        return (latest[f"UniswapV3.{pool}", "price"].value - expected) * WAD // expected

    def _sales(self, world: WorldState) -> Iterable[KpiRow]:
        from mayavi.protocols.tokens import Erc20

        tally = self.tally
        nothing = {(agent, *pair): [0, 0] for agent, pair in tally.sellers.items()}  # a sweep averages over all runs
        for (agent, sold, bought), (given, got) in sorted((nothing | tally.sold).items()):
            first, second = Erc20(world.fork, sold), Erc20(world.fork, bought)
            yield kpi(f"sold.{agent}.{sold}", given, f"e{first.decimals}")
            yield kpi(f"proceeds.{agent}.{bought}", got, f"e{second.decimals}")
            if given:
                average = got * 10**first.decimals * WAD // (given * 10**second.decimals)
                yield kpi(f"average_price.{agent}.{sold}/{bought}", average, "wad")
        if tally.arbitrages:
            yield kpi("arbitrages", tally.arbitrages, "count")
            yield kpi("arbitrage_profit", tally.arbitrage_profit_e8, "usd_e8")
        if tally.recorded_trades:
            ppm = tally.largest_difference_ppm
            yield kpi("trades_on_record", tally.recorded_trades, "count")
            yield KpiRow("largest_difference_from_record", str(ppm), ppm / 10**6, "ppm")


def _change(
    first: Mapping[tuple[str, str], Figure],
    latest: Mapping[tuple[str, str], Figure],
    subject: str,
    metric: str = "price",
) -> int:
    start, end = first[subject, metric].value, latest[subject, metric].value
    return (end - start) * WAD // start if start else 0

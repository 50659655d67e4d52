"""Figures of a whole run: what was liquidated, what went bad, where prices went, what sellers got."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from mayavi.agents.gas import fee_value_e8
from mayavi.agents.lending.loan import Loan
from mayavi.agents.lending.opening_borrower import OpeningBorrower
from mayavi.evm.units import WAD
from mayavi.sim.hooks import Hook
from mayavi.sim.rows import ActionRow, KpiRow, SnapshotRow

if TYPE_CHECKING:
    from mayavi.agents.base import Agent
    from mayavi.sim.market_figures import Figure
    from mayavi.sim.market_snapshot import MarketSnapshotHook
    from mayavi.sim.world_state import WorldState

_SCALES = {"usd_e8": 8, "eth_e8": 8, "wad": 18, "ray": 27, "count": 0}


def kpi(name: str, value: int, unit: str) -> KpiRow:
    """An exact figure; units `e6`, `e18` … are a token's smallest units."""
    decimals = _SCALES[unit] if unit in _SCALES else int(unit[1:])
    return KpiRow(name, str(value), value / 10**decimals, unit)


class Tally(Hook):
    """Adds up what actions did, as they are executed."""

    def __init__(
        self, sellers: Mapping[str, tuple[str, str]] | None = None, comets: Mapping[str, str] | None = None
    ) -> None:
        self.sellers = dict(sellers or {})
        self.comets = dict(comets or {})
        """Liquidators on Compound, and the market of each."""
        self.lost_e8 = 0
        """What Compound's markets lost: debts they took over for collateral that brought less."""
        self.arbitrages = self.arbitrage_profit_e8 = 0
        self.liquidations = self.lost_liquidations = 0
        self.liquidated_e8 = self.liquidator_profit_e8 = 0
        self.sold_seized_e8 = self.sold_for_e8 = 0
        """What liquidators sold of what they seized, at the oracle's price, and what it brought."""
        self.liquidator_fees: dict[str, int] = {}
        """What gas cost liquidators, the liquidations that failed included: by what the market counts in."""
        self.liquidated_accounts: set[str] = set()
        self.sold: dict[tuple[str, str, str], list[int]] = {}
        """What was sold and what it brought, by agent and the two tokens."""
        self.off_record_ppm = 0
        self.on_record = 0

    def begin(self, world: WorldState) -> None:
        """Note what Compound's markets have absorbed and not sold."""
        self._unsold = {name: _absorbed(world, name) for name in set(self.comets.values())}

    def after_step(self, world: WorldState, actions: Sequence[ActionRow]) -> Iterable[SnapshotRow]:
        """Count the actions of a step."""
        self._losses(world, actions)
        for row in actions:
            if row.kind == "liquidate":
                self._liquidation(row)
                for quote in ("USD", "ETH"):
                    paid = self.liquidator_fees.get(quote, 0)
                    self.liquidator_fees[quote] = paid + fee_value_e8(world, int(row.fee_wei), quote)
            elif row.status != "success":
                continue
            elif row.kind in {"sell", "buy"}:
                self._trade(row.agent, json.loads(row.details))
            elif row.kind == "arbitrage":
                self.arbitrages += 1
                self.arbitrage_profit_e8 += int(json.loads(row.details)["profit_e8"])
        return ()

    def _losses(self, world: WorldState, actions: Sequence[ActionRow]) -> None:
        """A market that absorbs an account takes its debt over, and has the collateral, or what it was sold for."""
        taken = [
            row for row in actions if row.kind == "liquidate" and row.agent in self.comets and row.status == "success"
        ]
        for name in sorted({self.comets[row.agent] for row in taken}):
            facts = [json.loads(row.details) for row in taken if self.comets[row.agent] == name]
            before, after = self._unsold[name], _absorbed(world, name)
            kept = sum((after[asset][0] - before[asset][0]) * after[asset][1] // after[asset][2] for asset in after)
            base_price, unit = _base(world, name)
            paid = sum(int(each["paid"]) for each in facts) * base_price // unit
            self.lost_e8 += max(0, sum(int(each["covered_e8"]) for each in facts) - paid - kept)
            self._unsold[name] = after

    def _liquidation(self, row: ActionRow) -> None:
        if row.status != "success":
            self.lost_liquidations += 1
            return
        facts = json.loads(row.details)
        self.liquidations += int(facts.get("times", 1))
        self.liquidated_e8 += int(facts["covered_e8"])
        self.liquidator_profit_e8 += int(facts.get("profit_e8", 0))
        self.liquidated_accounts.add(facts["borrower"])
        if int(facts.get("received", 0)):
            self.sold_seized_e8 += int(facts["seized_e8"])
            self.sold_for_e8 += int(facts["received_e8"])

    def _trade(self, agent: str, facts: dict[str, str]) -> None:
        if agent in self.sellers:
            (given, taken), amounts = self.sellers[agent], (facts["sold"], facts["received"])
        else:
            (given, taken), amounts = (facts["token_in"], facts["token_out"]), (facts["amount_in"], facts["amount_out"])
        totals = self.sold.setdefault((agent, given, taken), [0, 0])
        totals[0] += int(amounts[0])
        totals[1] += int(amounts[1])
        if "recorded_out" in facts:
            recorded = int(facts["recorded_out"])
            self.on_record += 1
            off = abs(int(facts["amount_out"]) - recorded) * 10**6 // max(recorded, 1)
            self.off_record_ppm = max(self.off_record_ppm, off)


class Figures:
    """The scenario's own figures, asked for when the last step is done."""

    def __init__(
        self,
        tally: Tally,
        market: MarketSnapshotHook,
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
    ) -> None:
        self.tally, self.market = tally, market
        self.populations, self.traced = tuple(populations), tuple(traced)
        self.pools, self.curve_pools, self.assets = tuple(pools), tuple(curve_pools), tuple(assets)
        self.following = frozenset(following)
        """Pools whose price follows one from outside."""
        self.oracles = dict(oracles or {})
        """Where a lending market's price of a token is to be found among the figures."""
        self.borrowers = dict(borrowers or {})
        self.opening_gaps = dict(opening_gaps or {})
        """How far prices begin from the oracle's, with 18 decimals, where the scenario sets them outright."""

    def __call__(self, world: WorldState) -> list[KpiRow]:
        """All of them."""
        rows = [*self._lending(), *self._prices()]
        rows += self._sales(world)
        return rows

    def _lending(self) -> Iterable[KpiRow]:
        if not self.populations:
            return
        tally, latest = self.tally, self.market.latest
        units = {latest[each, "bad_debt"].unit for each in self.populations}
        unit = units.pop() if len(units) == 1 else "usd_e8"
        yield kpi("liquidations", tally.liquidations, "count")
        yield kpi("liquidated", tally.liquidated_e8, unit)
        yield kpi("liquidated_accounts", len(tally.liquidated_accounts), "count")
        yield kpi("liquidations_failed", tally.lost_liquidations, "count")
        fees = tally.liquidator_fees.get("ETH" if unit == "eth_e8" else "USD", 0)
        yield kpi("liquidator_profit", tally.liquidator_profit_e8 - fees, unit)
        yield kpi("liquidator_profit_before_gas", tally.liquidator_profit_e8, unit)
        if tally.sold_seized_e8:
            gap = (tally.sold_for_e8 - tally.sold_seized_e8) * WAD // tally.sold_seized_e8
            yield kpi("liquidation_sale_gap", gap, "wad")
        for metric, name in (
            ("bad_debt", "bad_debt"),
            ("accounts_with_bad_debt", "bad_debt_accounts"),
            ("liquidatable", "liquidatable_accounts"),
            ("debt", "debt"),
            ("collateral", "collateral"),
        ):
            total = sum(latest[each, metric].value for each in self.populations)
            total += tally.lost_e8 if name == "bad_debt" else 0
            yield kpi(name, total, unit if latest[self.populations[0], metric].unit.endswith("_e8") else "count")
        yield from self._openings()
        for account in self.traced:
            figure = latest.get((account, "health_factor"))
            if figure is not None:
                yield kpi(f"health_factor.{account}", figure.value, "wad")

    def _openings(self) -> Iterable[KpiRow]:
        """Loans that did not open as the scenario wanted them."""
        for name, agent in self.borrowers.items():
            loan = getattr(agent, "loan", None)
            if isinstance(agent, OpeningBorrower):
                yield kpi(f"never_opened.{name}", int(not agent.opened), "count")
            elif isinstance(loan, Loan):
                yield kpi(f"accounts_at_limit.{name}", len(loan.at_limit), "count")  # none too: a sweep takes the mean
            if isinstance(loan, Loan) and loan.at_limit:
                yield kpi(f"accounts.{name}", self.market.latest[name, "accounts"].value, "count")
                yield kpi(f"health_factor_limit.{name}", min(loan.at_limit.values()), "wad")

    def _prices(self) -> Iterable[KpiRow]:
        first, latest = self.market.first, self.market.latest
        for name, leap in sorted(self.opening_gaps.items()):
            yield kpi(f"opening_gap.{name}", leap, "wad")
        for subject, name in self.assets:
            if (subject, "price") in latest:
                yield kpi(f"oracle_change.{name}", _change(first, latest, subject), "wad")
        for pool in self.pools:
            subject = f"UniswapV3.{pool}"
            if pool not in self.following:
                yield kpi(f"price_impact.{pool}", _change(first, latest, subject), "wad")
                continue
            yield kpi(f"pool_change.{pool}", _change(first, latest, subject), "wad")
            gap = self._gap(pool)
            if gap is not None:
                yield kpi(f"pool_gap.{pool}", gap, "wad")
            yield kpi(f"liquidity_change.{pool}", _change(first, latest, subject, "liquidity"), "wad")
        for (subject, metric), figure in latest.items():
            if subject in self.curve_pools and metric.startswith("price_"):
                yield kpi(f"{metric}.{subject}", figure.value, "wad")

    def _gap(self, pool: str) -> int | None:
        """How far a pool's price is from the oracle's, as a share of that; None where no oracle knows both tokens."""
        latest, tokens = self.market.latest, pool.rpartition(".")[0].split("/")
        prices = [latest.get((self.oracles.get(token, ""), "price")) for token in tokens]
        if len(prices) != 2 or prices[0] is None or prices[1] is None or prices[0].unit != prices[1].unit:
            return None
        expected = prices[0].value * WAD // prices[1].value
        return (latest[f"UniswapV3.{pool}", "price"].value - expected) * WAD // expected

    def _sales(self, world: WorldState) -> Iterable[KpiRow]:
        from mayavi.protocols.tokens import Erc20

        tally = self.tally
        nothing = {(agent, *pair): [0, 0] for agent, pair in tally.sellers.items()}  # a sweep takes the mean over all
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
        if tally.on_record:
            yield kpi("trades_on_record", tally.on_record, "count")
            yield KpiRow(
                "largest_difference_from_record", str(tally.off_record_ppm), tally.off_record_ppm / 10**6, "ppm"
            )


def _absorbed(world: WorldState, name: str) -> dict[str, tuple[int, int, int]]:
    """What a market of Compound has absorbed and not sold: amount, price and unit of each asset."""
    from mayavi.protocols.compound.market import CompoundV3

    market = CompoundV3(world.fork, name)
    return {
        asset.symbol: (
            market.collateral_reserves(asset.address),
            int(market.contract.getPrice(asset.price_feed)),
            int(10**asset.decimals),
        )
        for asset in market.assets
    }


def _base(world: WorldState, name: str) -> tuple[int, int]:
    from mayavi.protocols.compound.market import CompoundV3

    market = CompoundV3(world.fork, name)
    return market.price_e8(), int(10**market.base.decimals)


def _change(
    first: Mapping[tuple[str, str], Figure],
    latest: Mapping[tuple[str, str], Figure],
    subject: str,
    metric: str = "price",
) -> int:
    start, end = first[subject, metric].value, latest[subject, metric].value
    return (end - start) * WAD // start if start else 0

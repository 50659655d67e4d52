"""Totals that a scenario's KPIs and the summary of a run are computed from."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mayavi.agents.gas import fee_value_e8
from mayavi.sim.rows import ActionRow
from mayavi.sim.tally import RunTally

if TYPE_CHECKING:
    from mayavi.sim.world_state import WorldState

Facts = dict[str, Any]
"""Decoded `details` of an action."""

_NUMBER = re.compile(r"(?<![\w./-])(?<!reverted: )(?:0x[0-9a-fA-F]{40}|\d[\d_,]*(?:\.\d+)?)(?![\w/])")
"""Amounts and addresses, but neither digits inside names nor error numbers."""


def gist(reason: str) -> str:
    """Replace amounts and addresses in a failure reason, so that failures of one kind compare equal."""
    return _NUMBER.sub("…", reason)


class ScenarioTally(RunTally):
    """Liquidations, trades, arbitrage, failures and market losses, added up action by action.

    `sellers` maps vesting recipients to the tokens they sell and receive, `absorbers` maps liquidators on Compound V3
    to their market.
    """

    def __init__(
        self, sellers: Mapping[str, tuple[str, str]] | None = None, absorbers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self.sellers = dict(sellers or {})
        self.absorbers = dict(absorbers or {})
        self.failures: Counter[str] = Counter()
        """Failed actions by the gist of their reason."""
        self.raised_by: Counter[str] = Counter()
        """Actions whose agent's code raised, by agent."""
        self.liquidations = self.liquidations_failed = 0
        self.liquidated_e8 = self.liquidator_profit_e8 = 0
        self.liquidated_accounts: dict[str, None] = {}
        """Liquidated accounts, in the order of their first liquidation."""
        self.seized_sold_e8 = self.seized_proceeds_e8 = 0
        """Seized collateral that liquidators sold: value at the oracle's price, and proceeds of the sales."""
        self.liquidator_fees: dict[str, int] = {}
        """Gas cost of all liquidation attempts, failed ones included, in `USD` and in `ETH`, with eight decimals."""
        self.market_loss_e8 = 0
        """Losses of Compound V3 markets: debt they absorbed for collateral that returned less."""
        self.times_liquidated: Counter[str] = Counter()
        self.covered_e8: Counter[str] = Counter()
        self.loss_e8: Counter[str] = Counter()
        """By account: number of liquidations, debt that they covered, and its part in the losses of its market."""
        self.arbitrages = self.arbitrage_profit_e8 = 0
        self.sold: dict[tuple[str, str, str], list[int]] = {}
        """Amounts sold and received, by agent, token sold and token received."""
        self.recorded_trades = self.largest_difference_ppm = 0
        """Trades with a recorded amount, and the largest difference from such an amount."""
        self._unsold: dict[str, dict[str, tuple[int, int, int]]] = {}

    def begin(self, world: WorldState) -> None:
        """Read the collateral that Compound V3 markets hold unsold before the run."""
        self._unsold = {market: _unsold_collateral(world, market) for market in set(self.absorbers.values())}

    def add_step(self, world: WorldState, actions: Sequence[ActionRow]) -> None:
        """Add the actions of one step; each row's details are decoded at most once."""
        absorbed: dict[str, list[Facts]] = {}
        for row in actions:
            self.count(row)
            if row.kind == "liquidate":
                for quote in ("USD", "ETH"):
                    paid = self.liquidator_fees.get(quote, 0)
                    self.liquidator_fees[quote] = paid + fee_value_e8(world, int(row.fee_wei), quote)
                if row.status != "success":
                    self.liquidations_failed += 1
                    continue
                facts = json.loads(row.details)
                self._add_liquidation(facts)
                if row.agent in self.absorbers:
                    absorbed.setdefault(self.absorbers[row.agent], []).append(facts)
            elif row.status != "success":
                continue
            elif row.kind in {"sell", "buy"}:
                self._add_trade(row.agent, json.loads(row.details))
            elif row.kind == "arbitrage":
                self.arbitrages += 1
                self.arbitrage_profit_e8 += int(json.loads(row.details)["profit_e8"])
        for market in sorted(absorbed):
            self._add_market_loss(world, market, absorbed[market])

    def count(self, row: ActionRow) -> None:
        """Add one action to the totals that need no chain reads, including failures by reason."""
        super().count(row)
        if row.status == "failed":
            self.failures[gist(row.reason)] += 1
        elif row.status == "raised":
            self.raised_by[row.agent] += 1

    def _add_liquidation(self, facts: Facts) -> None:
        self.liquidations += int(facts.get("times", 1))
        self.liquidated_e8 += int(facts["covered_e8"])
        self.times_liquidated[facts["borrower"]] += int(facts.get("times", 1))
        self.covered_e8[facts["borrower"]] += int(facts["covered_e8"])
        self.liquidator_profit_e8 += int(facts.get("profit_e8", 0))
        self.liquidated_accounts.setdefault(facts["borrower"])
        if int(facts.get("received", 0)):
            self.seized_sold_e8 += int(facts["seized_e8"])
            self.seized_proceeds_e8 += int(facts["received_e8"])

    def _add_market_loss(self, world: WorldState, market: str, liquidations: Sequence[Facts]) -> None:
        """Add the loss of a Compound V3 market in a step: debt absorbed, less payments and collateral still held."""
        before, after = self._unsold[market], _unsold_collateral(world, market)
        kept = sum((after[asset][0] - before[asset][0]) * after[asset][1] // after[asset][2] for asset in after)
        base_price, unit = _base_price(world, market)
        paid = sum(int(each["paid"]) for each in liquidations) * base_price // unit
        covered = sum(int(each["covered_e8"]) for each in liquidations)
        loss = max(0, covered - paid - kept)
        self.market_loss_e8 += loss
        self._unsold[market] = after
        unpaid = [max(0, int(each["covered_e8"]) - int(each["paid"]) * base_price // unit) for each in liquidations]
        for facts, part in zip(liquidations, split(loss, unpaid), strict=True):
            self.loss_e8[facts["borrower"]] += part

    def _add_trade(self, agent: str, facts: Facts) -> None:
        if agent in self.sellers:
            (given, taken), amounts = self.sellers[agent], (facts["sold"], facts["received"])
        else:
            (given, taken), amounts = (facts["token_in"], facts["token_out"]), (facts["amount_in"], facts["amount_out"])
        totals = self.sold.setdefault((agent, given, taken), [0, 0])
        totals[0] += int(amounts[0])
        totals[1] += int(amounts[1])
        if "recorded_out" in facts:
            recorded = int(facts["recorded_out"])
            self.recorded_trades += 1
            difference_ppm = abs(int(facts["amount_out"]) - recorded) * 10**6 // max(recorded, 1)
            self.largest_difference_ppm = max(self.largest_difference_ppm, difference_ppm)


def split(total: int, weights: Sequence[int]) -> list[int]:
    """Split `total` in proportion to `weights`, to the unit; equally if all are zero."""
    parts, whole = list(weights) if any(weights) else [1] * len(weights), 0
    bounds = [0]
    for weight in parts:
        whole += weight
        bounds.append(whole)
    return [total * high // whole - total * low // whole for low, high in pairwise(bounds)]


def _unsold_collateral(world: WorldState, name: str) -> dict[str, tuple[int, int, int]]:
    """Return amount, price and unit of each asset that a Compound V3 market absorbed and has not sold."""
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


def _base_price(world: WorldState, name: str) -> tuple[int, int]:
    from mayavi.protocols.compound.market import CompoundV3

    market = CompoundV3(world.fork, name)
    return market.price_e8(), int(10**market.base.decimals)

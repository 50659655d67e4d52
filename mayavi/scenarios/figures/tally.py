"""Totals that a scenario's KPIs and the summary of a run are computed from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mayavi.agents.gas import fee_value_e8
from mayavi.scenarios.figures.absorptions import Absorptions
from mayavi.scenarios.figures.limits import REFUSALS, refused_by
from mayavi.scenarios.figures.reasons import ReasonTally
from mayavi.sim.rows import ActionRow
from mayavi.sim.tally import RunTally

if TYPE_CHECKING:
    from mayavi.sim.world_state import WorldState

Facts = dict[str, Any]
"""Decoded `details` of an action."""


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
        self.failures = ReasonTally()
        """Failed actions by reason."""
        self.decisions = ReasonTally()
        """Declined actions by reason."""
        self.refused: dict[str, set[str]] = {limit: set() for limit in REFUSALS}
        """By limit of a market: accounts of which it refused an action."""
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
        self.times_liquidated: Counter[str] = Counter()
        self.covered_e8: Counter[str] = Counter()
        """By account: number of liquidations, and debt that they covered."""
        self.market_losses_e8: dict[str, int] = {}
        """Losses of markets by account: debt that Compound V3 absorbed for collateral that returned less, and debt that
        Aave V3.3 and later burnt, or Morpho's suppliers bore, because no collateral was left."""
        self.deficit_e8 = 0
        """Debt that Aave burnt, part of `market_losses_e8`."""
        self.arbitrages = self.arbitrage_profit_e8 = 0
        self.sold: dict[tuple[str, str, str], list[int]] = {}
        """Amounts sold and received, by agent, token sold and token received."""
        self.recorded_trades = self.largest_difference_ppm = 0
        """Trades with a recorded amount, and the largest difference from such an amount."""
        self._absorptions = Absorptions(self.absorbers.values())

    def begin(self, world: WorldState) -> None:
        """Start to watch what Compound V3 markets absorb."""
        self._absorptions.begin(world)

    @property
    def market_loss_e8(self) -> int:
        """Sum of `market_losses_e8`."""
        return sum(self.market_losses_e8.values())

    def add_step(self, world: WorldState, actions: Sequence[ActionRow]) -> None:
        """Add the actions of one step; each row's details are decoded at most once."""
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
                    self._add_market_loss(world, self.absorbers[row.agent], facts)
            elif row.status != "success":
                continue
            elif row.kind in {"sell", "buy"}:
                self._add_trade(row.agent, json.loads(row.details))
            elif row.kind == "arbitrage":
                self.arbitrages += 1
                self.arbitrage_profit_e8 += int(json.loads(row.details)["profit_e8"])
        self._absorptions.end_step()

    def count(self, row: ActionRow) -> None:
        """Add one action to the totals that need no chain reads, including failures by reason."""
        super().count(row)
        if row.status == "failed":
            self.failures.add(row.reason)
            if limit := refused_by(row.reason):
                self.refused[limit].add(row.account or row.agent)
        elif row.status == "declined":
            self.decisions.add(row.reason)
        elif row.status == "raised":
            self.raised_by[row.agent] += 1

    def _add_liquidation(self, facts: Facts) -> None:
        self.liquidations += int(facts.get("times", 1))
        self.liquidated_e8 += int(facts["covered_e8"])
        self.times_liquidated[facts["borrower"]] += int(facts.get("times", 1))
        self.covered_e8[facts["borrower"]] += int(facts["covered_e8"])
        self.liquidator_profit_e8 += int(facts.get("profit_e8", 0))
        self.liquidated_accounts.setdefault(facts["borrower"])
        if deficit := int(facts.get("deficit_e8", 0)):
            self.deficit_e8 += deficit
            self._add_loss(facts["borrower"], deficit)
        if lost := int(facts.get("bad_debt_e8", 0)):
            self._add_loss(facts["borrower"], lost)
        if int(facts.get("received", 0)):
            self.seized_sold_e8 += int(facts["seized_e8"])
            self.seized_proceeds_e8 += int(facts["received_e8"])

    def _add_market_loss(self, world: WorldState, market: str, facts: Facts) -> None:
        borrower = facts["borrower"]
        loss = self._absorptions.loss_e8(market, world.address(borrower), facts)
        if loss:
            self._add_loss(borrower, loss)

    def _add_loss(self, borrower: str, loss_e8: int) -> None:
        self.market_losses_e8[borrower] = self.market_losses_e8.get(borrower, 0) + loss_e8

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

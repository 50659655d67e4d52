"""What limited liquidators, arbitrageurs and borrowers in a run, as KPIs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mayavi.agents.liquidation.limits import LIMITS

if TYPE_CHECKING:
    from mayavi.agents.liquidation.liquidator import LiquidatorAgent
    from mayavi.agents.trading.arbitrageur import ArbitrageurAgent
    from mayavi.agents.trading.curve_arbitrageur import CurveArbitrageur
    from mayavi.scenarios.figures.tally import ScenarioTally
    from mayavi.sim.scheduler import Scheduler

PREFIX = "limited."

TEXTS = {
    "capital": "the capital of the liquidators ({} accounts)",
    "depth": "the depth of the pools they sell in ({} accounts)",
    "gas": "the cost of gas and the least profit ({} accounts)",
    "most_a_block": "the liquidations a liquidator sends in a block ({} accounts)",
    "latency": "their attention and latency ({} accounts)",
    "block_gas": "the gas limit of a block ({} transactions)",
    "arbitrage_capital": "the capital of the arbitrageurs ({} blocks)",
}
"""By limit: how a note names it, with its count."""

REFUSALS = {
    "cap": "a supply cap, borrow cap or debt ceiling of the market ({} accounts)",
    "liquidity": "the tokens that the market has not lent out ({} accounts)",
}
"""By limit that refuses an action: how a note names it, with its count."""

_REFUSED = {
    "cap": re.compile(r"supply cap of|borrow cap of|CapExceeded|CAP_EXCEEDED|debt ceiling of|DEBT_CEILING_EXCEEDED"),
    "liquidity": re.compile(r"the rest is lent out"),
}


def refused_by(reason: str) -> str | None:
    """Return the limit among `REFUSALS` that the reason of a failed action names; None for other reasons."""
    return next((limit for limit, words in _REFUSED.items() if words.search(reason)), None)


@dataclass
class Limits:
    """Liquidators and arbitrageurs of a run, which count what limited them."""

    liquidators: list[LiquidatorAgent] = field(default_factory=list)
    arbitrageurs: list[ArbitrageurAgent | CurveArbitrageur] = field(default_factory=list)

    def counts(self, scheduler: Scheduler, tally: ScenarioTally) -> Iterator[tuple[str, int]]:
        """Yield the name of each limit and its count: accounts, transactions or blocks. Zeros too, for averages.

        Limits that refuse an action come only where they did; a sweep counts the other runs as zero.
        """
        if self.liquidators:
            for limit in LIMITS:
                yield PREFIX + limit, len(set().union(*(each.limited[limit] for each in self.liquidators)))
            yield PREFIX + "block_gas", scheduler.left_out
        if self.arbitrageurs:
            yield PREFIX + "arbitrage_capital", sum(each.short_of_capital for each in self.arbitrageurs)
        for name in REFUSALS:
            if accounts := tally.refused[name]:
                yield PREFIX + name, len(accounts)

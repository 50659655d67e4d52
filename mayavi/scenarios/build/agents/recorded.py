"""Builders of agents that repeat a record."""

from __future__ import annotations

from mayavi.agents.base import Agent
from mayavi.errors import BadScenario, UnknownName
from mayavi.scenarios.build.agents.agent_set import AgentSet
from mayavi.scenarios.build.agents.registry import agent_kind
from mayavi.scenarios.build.chain.creation import ISSUER, account
from mayavi.scenarios.build.chain.lending_markets import market_name
from mayavi.scenarios.models.agents.recorded import CurveBalances, RecordedLiquidations


@agent_kind(RecordedLiquidations, last=True)
def build_recorded_liquidations(agents: AgentSet, name: str, model: RecordedLiquidations) -> list[Agent]:
    """Build liquidators that repeat a record."""
    from mayavi.agents.liquidation.recorded_liquidations import RecordedLiquidation, RecordedLiquidationsAgent

    market = market_name(model.protocol, model.market)
    known = [each for group in agents.borrower_groups.values() if group.market == market for each in group.accounts]
    if not known:
        raise BadScenario(f"agents.{name}: no agent borrows on {model.protocol}", "add an agent of kind positions")
    calls = []
    for row in model.rows:
        if row.borrower not in known:
            raise UnknownName.of("borrower", row.borrower, known, f"there are: {', '.join(known[:5])}")
        step = row.seconds // agents.step_seconds
        if step >= agents.config.steps:
            break
        seized = None if row.seized is None else agents.units(row.collateral, row.seized)
        repaid = agents.units(row.debt, row.repaid)
        calls.append(RecordedLiquidation(step, row.liquidator, row.borrower, row.collateral, row.debt, repaid, seized))
    return [RecordedLiquidationsAgent(name, market=market, calls=calls)]


@agent_kind(CurveBalances)
def build_curve_balances(agents: AgentSet, name: str, model: CurveBalances) -> list[Agent]:
    """Build the provider that moves a Curve pool to recorded balances."""
    from mayavi.agents.trading.curve_balances import CurveBalancesAgent

    if model.pool.removeprefix("Curve.") not in agents.config.curve_pools:
        raise BadScenario(
            f"agents.{name}: {model.pool} is not a pool that the scenario creates, so nobody can withdraw from it",
            "create it under `curve_pools`",
        )
    coins = list(agents.config.curve_pools[model.pool.removeprefix("Curve.")].balances)
    record: dict[int, dict[str, int]] = {}
    for row in model.rows:
        if set(row.balances) != set(coins):
            raise BadScenario(
                f"agents.{name}: the record has balances of {', '.join(row.balances)}",
                f"{model.pool} trades {', '.join(coins)}",
            )
        record[row.seconds // agents.step_seconds] = {
            coin: agents.units(coin, amount) for coin, amount in row.balances.items()
        }
    agents.use_curve_pool(model.pool, *coins)
    return [CurveBalancesAgent(name, pool=model.pool, record=record, holder=account(ISSUER), give=agents.give)]

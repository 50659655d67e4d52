"""Detect whether a scenario draws random numbers, so that another seed must give other rows."""

from __future__ import annotations

from mayavi.scenarios.models.agents.kinds import AgentModel
from mayavi.scenarios.models.agents.lending import Borrower, CurveBorrower
from mayavi.scenarios.models.agents.trading import CurveHolders, Traders
from mayavi.scenarios.models.config import ScenarioConfig
from mayavi.scenarios.models.prices import (
    GbmPrice,
    JumpDiffusionPrice,
    OrnsteinUhlenbeckPrice,
    Price,
    RampPrice,
    StepPrice,
)
from mayavi.scenarios.models.values.distributions import Constant, Distribution


def draws(config: ScenarioConfig) -> bool:
    """Whether prices, populations or trades are random. The order of equal intents may be random in any scenario."""
    return any(map(_is_random_price, config.prices.values())) or any(map(_is_random_agent, config.agents.values()))


def _is_random_price(price: Price | None) -> bool:
    if isinstance(price, StepPrice | RampPrice):
        return _is_random_price(price.before) or _is_random_price(price.then)
    return isinstance(price, GbmPrice | OrnsteinUhlenbeckPrice | JumpDiffusionPrice) and price.volatility > 0


def _is_random_agent(agent: AgentModel) -> bool:
    if isinstance(agent, Traders):
        return agent.trades_a_step > 0
    if isinstance(agent, CurveHolders):
        return _varies(agent.amount) or _varies(agent.flees_below)
    if isinstance(agent, CurveBorrower) and agent.collateral.amount is None and _varies(agent.size_usd):
        return True
    if isinstance(agent, Borrower) and not agent.fixed_collateral and _varies(agent.size_usd):
        return True
    if isinstance(agent, Borrower):
        return agent.health_factor is not None and _varies(agent.health_factor)
    return isinstance(agent, CurveBorrower) and _varies(agent.depeg)


def _varies(what: Distribution) -> bool:
    return not isinstance(what, Constant)

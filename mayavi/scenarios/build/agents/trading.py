"""Builders of trading agents: arbitrageurs, vesting recipients, traders, Curve holders, replayed launches."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from mayavi.agents.base import Agent, World
from mayavi.errors import BadScenario
from mayavi.scenarios.build.agents.agent_set import AgentSet, numbered
from mayavi.scenarios.build.agents.registry import agent_kind
from mayavi.scenarios.build.chain.creation import reserve
from mayavi.scenarios.build.distributions import distribution
from mayavi.scenarios.build.pricing import oracle_usd_e8
from mayavi.scenarios.models.agents.trading import Arbitrageur, CurveHolders, LaunchTrader, Traders, VestingRecipient
from mayavi.scenarios.models.config import pool_tokens

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.protocols.aave.market import AaveV3

V4_PREFIX = "UniswapV4."


@dataclass(frozen=True)
class OutsidePrice:
    """Price of a token off chain: from the run's price processes, otherwise from the oracle on chain."""

    drawn: frozenset[str]
    _markets: list[AaveV3] = field(init=False, repr=False, compare=False, default_factory=list)
    """Aave on the chain of the last question."""

    def usd_e8(self, world: World, token: str) -> int:
        """Return the price in dollars with eight decimals."""
        from mayavi.markets.price_paths import to_usd_e8

        if token in self.drawn:
            return to_usd_e8(world.price_usd(token))
        return world.observe(("oracle", token), lambda: oracle_usd_e8(world.fork, token, self._market(world.fork)))

    def _market(self, fork: Fork) -> AaveV3 | None:
        from mayavi.protocols.aave.market import AaveV3

        if not self._markets or self._markets[0].fork is not fork:
            self._markets[:] = [AaveV3(fork)] if f"{AaveV3.prefix}.Pool" in fork.labels else []
        return self._markets[0] if self._markets else None


@agent_kind(Arbitrageur)
def build_arbitrageurs(agents: AgentSet, name: str, model: Arbitrageur) -> list[Agent]:
    """Build arbitrageurs of a Uniswap V3, Uniswap V4 or Curve pool."""
    from mayavi.agents.trading.arbitrageur import ArbitrageurAgent
    from mayavi.agents.trading.curve_arbitrageur import CurveArbitrageur

    capital, reference = agents.capital(model.capital), OutsidePrice(frozenset(agents.config.prices))
    names = [numbered(name, number, model.count) for number in range(model.count)]
    if model.pool.startswith("Curve."):
        agents.use_curve_pool(model.pool, *capital)
        on_curve = [
            CurveArbitrageur(
                own, pool=model.pool, capital=capital, reference=reference, priority_fee_wei=model.priority_fee
            )
            for own in names
        ]
        agents.limits.arbitrageurs += on_curve
        return list(on_curve)
    if model.pool.startswith(V4_PREFIX):
        return _v4_arbitrageurs(agents, name, model, names, reference)
    pool = agents.use_pool(model.pool)
    built = [
        ArbitrageurAgent(
            own, pool=pool, capital=capital, reference=reference, to=model.to, priority_fee_wei=model.priority_fee
        )
        for own in names
    ]
    agents.limits.arbitrageurs += built
    return list(built)


def _v4_arbitrageurs(
    agents: AgentSet, name: str, model: Arbitrageur, names: list[str], reference: OutsidePrice
) -> list[Agent]:
    """Build arbitrageurs of a Uniswap V4 pool that the scenario creates."""
    from mayavi.agents.trading.v4_arbitrageur import V4Arbitrageur

    created = agents.config.uniswap_v4_pools
    known = model.pool.removeprefix(V4_PREFIX)
    tokens = pool_tokens(known)
    if known not in created or tokens is None:
        raise BadScenario(f"agents.{name}: there is no pool '{model.pool}'", "create it under `uniswap_v4_pools`")
    spacing = created[known].tick_spacing
    built = [
        V4Arbitrageur(
            own,
            pool=(tokens[0], tokens[1], tokens[2] if spacing is None else (tokens[2], spacing)),
            capital=agents.capital(model.capital),
            reference=reference,
            to=model.to,
            priority_fee_wei=model.priority_fee,
        )
        for own in names
    ]
    agents.limits.arbitrageurs += built
    return list(built)


@agent_kind(VestingRecipient)
def build_vesting_recipient(agents: AgentSet, name: str, model: VestingRecipient) -> list[Agent]:
    """Build a recipient of vested tokens that sells them into a pool."""
    from mayavi.agents.trading.selling import SalePlan, SellsAbove, SellsAtOnce, SellsOverSteps, SellsShare
    from mayavi.agents.trading.vesting import VestingRecipientAgent

    pool, symbol = agents.use_pool(model.pool), model.token.symbol
    if symbol not in pool[:2]:
        raise BadScenario(f"agents.{name}: {symbol} is not in the pool {model.pool}", "sell into one that has it")
    other = pool[1] if symbol == pool[0] else pool[0]
    amount = agents.units(symbol, model.token.amount or Decimal(0))
    plan: SalePlan
    if model.sells == "twap":
        plan = SellsOverSteps(model.over)
    elif model.sells == "threshold":
        plan = SellsAbove(model.threshold or 1)
    else:
        plan = SellsAtOnce()
    if model.share != 1:
        plan = SellsShare(plan, model.share)
    reserve(agents.fork, symbol, amount)
    agents.sellers[name] = symbol, other
    return [
        VestingRecipientAgent(
            name,
            token=symbol,
            amount=amount,
            route=(symbol, other, pool[2]),
            start_seconds=model.cliff,
            duration_seconds=model.duration,
            plan=plan,
        )
    ]


@agent_kind(Traders)
def build_traders(agents: AgentSet, name: str, model: Traders) -> list[Agent]:
    """Build traders that buy and sell at random."""
    from mayavi.agents.trading.noise_traders import NoiseTraders

    return [
        NoiseTraders(
            name,
            pool=agents.use_pool(model.pool),
            trades_a_step=float(model.trades_a_step),
            size=distribution(model.size),
            buys=model.buys,
            capital=agents.capital(model.capital),
            give=agents.give,
        )
    ]


@agent_kind(CurveHolders)
def build_curve_holders(agents: AgentSet, name: str, model: CurveHolders) -> list[Agent]:
    """Build holders that sell a coin on a Curve pool when its outside price falls."""
    from mayavi.agents.trading.curve_holders import CurveHolders as CurveHoldersAgent

    agents.use_curve_pool(model.pool, model.holds, model.wants)
    if model.holds not in agents.config.prices:
        raise BadScenario(
            f"agents.{name}: nothing moves the outside price of {model.holds}", f"add prices.{model.holds}"
        )
    return [
        CurveHoldersAgent(
            name,
            members=model.count,
            pool=model.pool,
            coin=model.holds,
            wants=model.wants,
            amount=distribution(model.amount),
            flees_below=distribution(model.flees_below),
            patience=float(model.patience),
        )
    ]


@agent_kind(LaunchTrader)
def build_launch(agents: AgentSet, name: str, model: LaunchTrader) -> list[Agent]:
    """Build an agent that repeats the recorded trades of a token launch."""
    from mayavi.agents.trading.recorded_trades import RecordedTrade, RecordedTradesAgent
    from mayavi.scenarios.models.agents.launch_record import read_launch

    token, quote, fee = agents.use_pool(model.pool)
    record = read_launch(model.data or "", f"agents.{name}")
    trades = []
    for entry in record.trades:
        step = entry.seconds // agents.step_seconds
        if step >= agents.config.steps:
            break
        sold, bought = (quote, token) if entry.event == "buy" else (token, quote)
        given, got = (entry.quote, entry.token) if entry.event == "buy" else (entry.token, entry.quote)
        amount = agents.units(sold, (given or Decimal(0)) * model.volume)
        out = None if got is None else agents.units(bought, got)
        trades.append(RecordedTrade(step, entry.event, entry.account, amount, out))  # type: ignore[arg-type]
    holdings = {account: agents.units(token, amount) for account, amount in record.holdings.items()}
    return [
        RecordedTradesAgent(name, token=token, quote=quote, fee=fee, trades=trades, holdings=holdings, give=agents.give)
    ]

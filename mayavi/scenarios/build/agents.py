"""From the agents a scenario describes to those that act."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mayavi.agents.base import Agent, World
from mayavi.errors import BadScenario, BadSeries, ExecutionError, UnknownName, UsageError
from mayavi.scenarios.build.creation import give, reserve, units
from mayavi.scenarios.build.pricing import E8, oracle_usd_e8
from mayavi.scenarios.build.routes import pool_named, pools_of, route_between
from mayavi.scenarios.models.agents import (
    AgentModel,
    Arbitrageur,
    BehaviourName,
    Borrower,
    CurveBorrower,
    CurveHolders,
    LaunchTrader,
    Liquidator,
    OracleShock,
    Traders,
    VestingRecipient,
)
from mayavi.scenarios.models.config import PRICES, ScenarioConfig, pool_tokens
from mayavi.scenarios.models.distributions import (
    Choice,
    Constant,
    Distribution,
    LogNormal,
    Normal,
    Pareto,
    Uniform,
)

if TYPE_CHECKING:
    from mayavi.agents.lending.behaviours import Behaviour
    from mayavi.evm.fork import Fork
    from mayavi.protocols.uniswap.route import RouteLike


@dataclass
class Lenders:
    """Accounts that borrow on one market, for liquidators and figures: by the name of the agent that holds them."""

    market: str
    accounts: tuple[str, ...]
    collateral: str
    debt: str


@dataclass
class Cast:
    """All who act in a scenario, and what is to be looked at because of them."""

    config: ScenarioConfig
    fork: Fork
    step_seconds: int
    seed: int
    agents: dict[str, list[Agent]] = field(default_factory=dict)
    """By the name in the scenario."""
    lenders: dict[str, Lenders] = field(default_factory=dict)
    pools: list[str] = field(default_factory=list)
    curve_pools: list[str] = field(default_factory=list)
    sellers: dict[str, tuple[str, str]] = field(default_factory=dict)
    """What vesting recipients sell, and for what."""
    absorbers: dict[str, str] = field(default_factory=dict)
    """Liquidators on Compound, and the market of each."""

    @classmethod
    def of(cls, config: ScenarioConfig, fork: Fork, step_seconds: int, seed: int) -> Cast:
        """Everybody that `config` names. Liquidators come last, as they watch the others."""
        cast = cls(config, fork, step_seconds, seed)
        late = [name for name, model in config.agents.items() if isinstance(model, Liquidator)]
        for name in [*(each for each in config.agents if each not in late), *late]:
            try:
                cast.agents[name] = cast._made(name, config.agents[name])
                for agent in cast.agents[name]:
                    agent.priority_fee_wei = config.agents[name].priority_fee
            except (BadScenario, BadSeries):
                raise
            except (UsageError, ExecutionError) as error:
                raise BadScenario(f"agents.{name}: {error.message}", error.hint) from error
        cast.agents = {name: cast.agents[name] for name in config.agents}
        # What is looked at does not depend on the order in which the file names it.
        cast.lenders = dict(sorted(cast.lenders.items()))
        cast.pools.sort()
        cast.curve_pools.sort()
        return cast

    def _made(self, name: str, model: AgentModel) -> list[Agent]:
        makers: dict[type, Callable[[str, Any], list[Agent]]] = {
            Borrower: self._borrower,
            Liquidator: self._liquidator,
            Arbitrageur: self._arbitrageur,
            OracleShock: self._oracle_shock,
            VestingRecipient: self._vesting,
            Traders: self._traders,
            CurveBorrower: self._curve_borrower,
            CurveHolders: self._curve_holders,
            LaunchTrader: self._launch,
        }
        return makers[type(model)](name, model)

    # -- lending ------------------------------------------------------------------------------------------------------

    def _borrower(self, name: str, model: Borrower) -> list[Agent]:
        from mayavi.agents.lending.borrower import BorrowerAgent
        from mayavi.agents.lending.borrower_population import BorrowerPopulation
        from mayavi.agents.lending.open_market import lending_market
        from mayavi.agents.lending.opening_borrower import OpeningBorrower

        market = market_name(model.protocol, model.market)
        lending = lending_market(self.fork, market)
        collateral, debt = model.collateral.symbol, model.debt.symbol
        price_e8, decimals = lending.price_e8(collateral), lending.decimals(collateral)
        route = route_between(self.fork, collateral, debt)
        shared: dict[str, Any] = {"collateral": collateral, "debt": debt, "market": market, "route": route}
        behaviours = self._behaviours(model)
        if model.debt.amount is not None:
            if model.count > 1:
                raise BadScenario(
                    f"agents.{name}: {model.count} borrowers cannot all owe {model.debt.amount} {debt}",
                    "give a `health_factor` instead of an amount of debt",
                )
            if model.collateral.amount is None:
                raise BadScenario(f"agents.{name}: a debt needs an amount of collateral", "collateral: 1 WETH")
            if len(behaviours) > 1:
                raise BadScenario(
                    f"agents.{name}: one borrower cannot behave in {len(behaviours)} ways",
                    "give one `behaviour`, or a `health_factor` instead of an amount of debt: then it is drawn",
                )
            self.lenders[name] = Lenders(market, (name,), collateral, debt)
            return [
                OpeningBorrower(
                    name,
                    collateral_amount=units(model.collateral.amount, decimals),
                    debt_amount=units(model.debt.amount, lending.decimals(debt)),
                    behaviour=behaviours[0][0],
                    cash_share=model.cash,
                    **shared,
                )
            ]
        assert model.health_factor is not None
        alone = model.count == 1 and len(behaviours) == 1  # shares of several behaviours are drawn from: a population
        if alone and model.collateral.amount is not None and isinstance(model.health_factor, Constant):
            self.lenders[name] = Lenders(market, (name,), collateral, debt)
            return [
                BorrowerAgent(
                    name,
                    collateral_amount=units(model.collateral.amount, decimals),
                    target=model.health_factor.constant,
                    behaviour=behaviours[0][0],
                    cash_share=model.cash,
                    **shared,
                )
            ]
        if model.collateral.amount is not None:
            size: Any = float(model.collateral.amount)
        else:
            size = distribution(model.size_usd, Decimal(E8) / price_e8)
        crowd = BorrowerPopulation(
            name,
            members=model.count,
            collateral_amount=size,
            target=distribution(model.health_factor),
            behaviours=behaviours,
            cash_share=model.cash,
            **shared,
        )
        self.lenders[name] = Lenders(market, crowd.accounts, collateral, debt)
        return [crowd]

    def _behaviours(self, model: Borrower) -> list[tuple[Behaviour, float]]:
        from mayavi.agents.lending.behaviours import KeepsBand, Panics, Passive

        kinds: dict[BehaviourName, Behaviour] = {
            "hold": Passive(),
            "band": KeepsBand(model.band[0], model.band[1]),
            "panic": Panics(below=model.panic_below, sells=True),
        }
        if isinstance(model.behaviour, str):
            return [(kinds[model.behaviour], 1.0)]
        # In the order of `kinds`, not of the file: whoever sorts the keys of a YAML file changes nobody's behaviour.
        return [(kinds[kind], float(model.behaviour[kind])) for kind in kinds if model.behaviour.get(kind)]

    def _liquidator(self, name: str, model: Liquidator) -> list[Agent]:
        from mayavi.agents.lending.liquidator import FrictionlessLiquidator, LiquidatorAgent

        market = market_name(model.protocol, model.market)
        for watched in model.watches or []:
            if watched not in self.lenders:
                raise UnknownName.of("borrower", watched, self.lenders, f"there are: {', '.join(self.lenders)}")
        chosen = [
            lenders
            for each, lenders in sorted(self.lenders.items())
            if lenders.market == market and (model.watches is None or each in model.watches)
        ]
        if not chosen:
            raise BadScenario(f"agents.{name}: nobody borrows on {model.protocol}", "add an agent of kind borrower")
        collaterals, debts = _unique(each.collateral for each in chosen), _unique(each.debt for each in chosen)
        pairs = sorted({(each.collateral, each.debt) for each in chosen})
        shared: dict[str, Any] = {
            "watch": [account for lenders in chosen for account in lenders.accounts],
            "collaterals": collaterals,
            "debts": debts,
            "pairs": pairs,
            "market": market,
            "priority_fee_wei": model.priority_fee,
        }
        routes = {} if model.frictionless else self._ways_to_sell(name, pairs)
        made: list[Agent] = []
        for number in range(model.count):
            own = numbered(name, number, model.count)
            self.absorbers |= {own: market} if model.protocol == "compound_v3" else {}
            if model.frictionless:
                made.append(FrictionlessLiquidator(own, **shared))
                continue
            capital = {symbol: self._units(symbol, amount) for symbol, amount in model.capital.items()}
            made.append(
                LiquidatorAgent(
                    own,
                    routes=routes,
                    capital=capital,
                    flash_loan=model.flash_loan,
                    least_profit=model.least_profit,
                    most_a_step=model.most_a_step,
                    **shared,
                )
            )
        return made

    def _ways_to_sell(self, name: str, pairs: Sequence[tuple[str, str]]) -> dict[str | tuple[str, str], RouteLike]:
        """How a liquidator turns each collateral into the debt it backs; the pools on the way are recorded."""
        routes: dict[str | tuple[str, str], RouteLike] = {}
        for collateral, debt in pairs:
            if collateral == debt:
                continue
            route = route_between(self.fork, collateral, debt)
            if route is None:
                raise BadScenario(
                    f"agents.{name}: no pool of {self.config.chain} sells {collateral} for {debt}, and a liquidator "
                    "sells what it seizes",
                    f"give the scenario one: `pools: {{{collateral}/{debt}.3000: {{price: …, liquidity: …}}}}`; or "
                    f"`frictionless: true`, who sells nothing",
                )
            routes[collateral, debt] = route
            self.pools += [pool for pool in pools_of(self.fork, route) if pool not in self.pools]
        return routes

    # -- prices -------------------------------------------------------------------------------------------------------

    def price_poster(self) -> list[Agent]:
        """Who posts the processes' prices to the feeds: one agent, or more where markets listen to different feeds."""
        from mayavi.agents.oracle.price_path import PricePathAgent

        feeds = {symbol: self._feeds(symbol) for symbol in sorted(self.config.prices)}
        most = max((len(each) for each in feeds.values()), default=0)
        return [
            PricePathAgent(
                numbered(PRICES, number, most),
                feeds={symbol: each[number] for symbol, each in feeds.items() if len(each) > number},
            )
            for number in range(most)
        ]

    def _feeds(self, symbol: str) -> list[str]:
        """Every feed from which a market of this scenario learns the price of `symbol`; none for tokens of its own."""
        from mayavi.protocols.aave.market import AaveV3
        from mayavi.protocols.aave.spark import SparkLend
        from mayavi.protocols.compound.market import CompoundV3, markets_of

        found: dict[bytes, None] = {}
        if symbol in self.config.tokens:
            return []
        for kind in (AaveV3, SparkLend):
            if f"{kind.prefix}.Pool" in self.fork.labels:
                market = kind(self.fork)
                if symbol in market.symbols:
                    found[market.oracle.getSourceOfAsset(market.address_of(symbol))] = None
        used = {lenders.market for lenders in self.lenders.values()}
        for name in [each for each in markets_of(self.fork) if each in used]:
            comet = CompoundV3(self.fork, name)
            if comet.is_base(symbol):
                found[comet.contract.baseTokenPriceFeed()] = None
            found |= {asset.price_feed: None for asset in comet.assets if asset.symbol == symbol}
        if not found:
            found[self.fork.address_of(f"Chainlink.{symbol}/USD")] = None
        return [self.fork.name(address) for address in found]

    def _oracle_shock(self, name: str, model: OracleShock) -> list[Agent]:
        from mayavi.agents.oracle.shock import OracleShockAgent, PathShock, RampShock, Shock, StepShock

        shock: Shock
        if model.path is not None:
            before = Decimal(oracle_usd_e8(self.fork, model.asset)) / E8
            shock = PathShock([Fraction(price) / Fraction(before) for price in model.path], model.at)
        elif model.steps > 1:
            shock = RampShock(model.at, model.at + model.steps, model.size or 0)
        else:
            shock = StepShock(model.at, model.size or 0)
        return [OracleShockAgent(name, feeds=self._feeds(model.asset), shock=shock)]

    # -- pools --------------------------------------------------------------------------------------------------------

    def _arbitrageur(self, name: str, model: Arbitrageur) -> list[Agent]:
        from mayavi.agents.trading.arbitrageur import ArbitrageurAgent
        from mayavi.agents.trading.curve_arbitrageur import CurveArbitrageur

        capital = {symbol: self._units(symbol, amount) for symbol, amount in model.capital.items()}
        if model.pool.startswith("Curve."):
            self._curve_pool(model.pool, *capital)
            return [
                CurveArbitrageur(
                    numbered(name, number, model.count),
                    pool=model.pool,
                    capital=capital,
                    reference=Reference(frozenset(self.config.prices)),
                    priority_fee_wei=model.priority_fee,
                )
                for number in range(model.count)
            ]
        pool = self._pool(model.pool)
        return [
            ArbitrageurAgent(
                numbered(name, number, model.count),
                pool=pool,
                capital=capital,
                reference=Reference(frozenset(self.config.prices)),
                to=model.to,
                priority_fee_wei=model.priority_fee,
            )
            for number in range(model.count)
        ]

    def _vesting(self, name: str, model: VestingRecipient) -> list[Agent]:
        from mayavi.agents.trading.selling import SalePlan, SellsAbove, SellsAtOnce, SellsOverSteps, SellsShare
        from mayavi.agents.trading.vesting import VestingRecipientAgent

        pool, symbol = self._pool(model.pool), model.token.symbol
        if symbol not in pool[:2]:
            raise BadScenario(f"agents.{name}: {symbol} is not in the pool {model.pool}", "sell into one that has it")
        other = pool[1] if symbol == pool[0] else pool[0]
        amount = self._units(symbol, model.token.amount or Decimal(0))
        plan: SalePlan
        if model.sells == "twap":
            plan = SellsOverSteps(model.over)
        elif model.sells == "threshold":
            plan = SellsAbove(model.threshold or 1)
        else:
            plan = SellsAtOnce()
        if model.share != 1:
            plan = SellsShare(plan, model.share)
        reserve(self.fork, symbol, amount)
        self.sellers[name] = symbol, other
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

    def _traders(self, name: str, model: Traders) -> list[Agent]:
        from mayavi.agents.trading.noise_traders import NoiseTraders

        return [
            NoiseTraders(
                name,
                pool=self._pool(model.pool),
                trades_a_step=float(model.trades_a_step),
                size=distribution(model.size),
                buys=model.buys,
                capital={symbol: self._units(symbol, amount) for symbol, amount in model.capital.items()},
                give=self._give,
            )
        ]

    def _curve_borrower(self, name: str, model: CurveBorrower) -> list[Agent]:
        from mayavi.agents.lending.curve_borrower import CurveBorrowerAgent
        from mayavi.markets import stream

        collateral, market = model.collateral.symbol, market_name(model.protocol, "")
        self._curve_pool(model.pool, collateral, model.debt)
        if model.collateral.amount is not None:
            sizes = [model.collateral.amount] * model.count
        else:
            scale = Decimal(E8) / oracle_usd_e8(self.fork, collateral)
            drawn = distribution(model.size_usd, scale).sample(model.count, stream(self.seed, name, "size"))
            sizes = [Decimal(repr(each)) for each in drawn.tolist()]
        depegs = distribution(model.depeg).sample(model.count, stream(self.seed, name, "depeg")).tolist()
        made = [
            CurveBorrowerAgent(
                numbered(name, number, model.count),
                collateral=collateral,
                amount=self._units(collateral, sizes[number]),
                debt=model.debt,
                pool=model.pool,
                target=model.health_factor,
                loops=model.loops,
                depeg=depegs[number],
                floor=model.floor,
                low=model.repay_below,
                market=market,
            )
            for number in range(model.count)
        ]
        self.lenders[name] = Lenders(market, tuple(agent.name for agent in made), collateral, model.debt)
        return list(made)

    def _curve_holders(self, name: str, model: CurveHolders) -> list[Agent]:
        from mayavi.agents.trading.curve_holders import CurveHolders as CurveHoldersAgent

        self._curve_pool(model.pool, model.holds, model.wants)
        if model.holds not in self.config.prices:
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

    def _curve_pool(self, name: str, *coins: str) -> None:
        from mayavi.protocols.curve.pool import CurveStableSwap

        pool = CurveStableSwap(self.fork, name)
        for coin in coins:
            pool.index(coin)
        if name not in self.curve_pools:
            self.curve_pools.append(name)

    def _launch(self, name: str, model: LaunchTrader) -> list[Agent]:
        from mayavi.agents.trading.recorded_trades import RecordedTrade, RecordedTradesAgent
        from mayavi.scenarios.models.launch_record import read_launch

        token, quote, fee = self._pool(model.pool)
        record = read_launch(model.data or "", f"agents.{name}")
        trades = []
        for entry in record.trades:
            step = entry.seconds // self.step_seconds
            if step >= self.config.steps:
                break
            sold, bought = (quote, token) if entry.event == "buy" else (token, quote)
            given, got = (entry.quote, entry.token) if entry.event == "buy" else (entry.token, entry.quote)
            amount = self._units(sold, (given or Decimal(0)) * model.volume)
            out = None if got is None else self._units(bought, got)
            trades.append(RecordedTrade(step, entry.event, entry.account, amount, out))  # type: ignore[arg-type]
        holdings = {account: self._units(token, amount) for account, amount in record.holdings.items()}
        return [
            RecordedTradesAgent(
                name,
                token=token,
                quote=quote,
                fee=fee,
                trades=trades,
                holdings=holdings,
                give=self._give,
            )
        ]

    def _pool(self, name: str) -> tuple[str, str, int]:
        """Tokens and fee of a pool that exists; its figures will be recorded."""
        pool_named(self.fork, name)
        tokens = pool_tokens(name)
        assert tokens is not None  # pool_named refuses other names
        if name not in self.pools:
            self.pools.append(name)
        return tokens

    def _give(self, symbol: str, holder: bytes, amount: int) -> None:
        give(self.fork, symbol, holder, amount)

    def _units(self, symbol: str, amount: Decimal) -> int:
        from mayavi.protocols.tokens import Erc20

        return units(amount, Erc20(self.fork, symbol).decimals)


@dataclass(frozen=True)
class Reference:
    """What a token is worth outside: by the run's own price processes, else by the oracle on the chain."""

    drawn: frozenset[str]

    def usd_e8(self, world: World, token: str) -> int:
        """In dollars with eight decimals."""
        from mayavi.markets.price_paths import to_usd_e8

        if token in self.drawn:
            return to_usd_e8(world.price_usd(token))
        return world.observe(("oracle", token), lambda: oracle_usd_e8(world.fork, token))


def market_name(protocol: str, market: str) -> str:
    """What agents call the market."""
    return {"aave_v3": "AaveV3", "spark": "Spark"}.get(protocol, market)


def numbered(name: str, number: int, count: int) -> str:
    """`bot`, or `bot-3` where there are several."""
    return name if count == 1 else f"{name}-{number}"


def distribution(model: Distribution, scale: Decimal = Decimal(1)) -> Any:
    """The distribution that a scenario describes, all its values times `scale`."""
    from mayavi.markets import distributions as d

    def scaled(value: Decimal | None) -> float | None:
        return None if value is None else float(value * scale)

    def bounds(between: Sequence[Decimal] | None) -> dict[str, float | None]:
        return {} if between is None else {"low": scaled(between[0]), "high": scaled(between[1])}

    if isinstance(model, Constant):
        return d.Constant(float(model.constant * scale))
    if isinstance(model, Uniform):
        return d.Uniform(float(model.uniform[0] * scale), float(model.uniform[1] * scale))
    if isinstance(model, Normal):
        normal = model.normal
        return d.Normal(float(normal.mean * scale), float(normal.deviation * scale), **bounds(normal.between))
    if isinstance(model, LogNormal):
        spread = model.lognormal
        return d.LogNormal(float(spread.median * scale), float(spread.sigma), **bounds(spread.between))
    if isinstance(model, Pareto):
        law = model.pareto
        return d.Pareto(float(law.minimum * scale), float(law.shape), scaled(law.maximum))
    assert isinstance(model, Choice)
    if isinstance(model.choice, dict):
        options = tuple(float(Decimal(key) * scale) for key in model.choice)
        return d.Choice(options, tuple(float(weight) for weight in model.choice.values()))
    return d.Choice(tuple(float(value * scale) for value in model.choice))


def _unique(names: Any) -> list[str]:
    return list(dict.fromkeys(names))

"""Builders of lending agents: borrowers, liquidators, Curve loopers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from mayavi.agents.base import Agent
from mayavi.errors import BadScenario, UnknownName, UsageError
from mayavi.scenarios.build.agents.agent_set import AgentSet, BorrowerGroup, numbered
from mayavi.scenarios.build.agents.behaviours import behaviours_of
from mayavi.scenarios.build.agents.registry import agent_kind
from mayavi.scenarios.build.chain.creation import units
from mayavi.scenarios.build.chain.lending_markets import COMPOUND, market_name
from mayavi.scenarios.build.chain.routes import pool_hint, pools_of, route_between
from mayavi.scenarios.build.distributions import distribution
from mayavi.scenarios.build.pricing import E8, oracle_usd_e8
from mayavi.scenarios.models.agents.lending import Borrower, CurveBorrower, Liquidator
from mayavi.scenarios.models.chain.new_exchanges import SaleRouteModel
from mayavi.scenarios.models.values.distributions import Constant
from mayavi.scenarios.models.values.quantities import Asset

if TYPE_CHECKING:
    from mayavi.agents.lending.borrower import BorrowerAgent
    from mayavi.agents.lending.borrower_population import BorrowerPopulation
    from mayavi.agents.liquidation.sale_routes import SaleRouteLike


@agent_kind(Borrower)
def build_borrower(agents: AgentSet, name: str, model: Borrower) -> list[Agent]:
    """Build one borrower with a given loan, one with a given health factor, or a population drawn at random."""
    if model.mixed:
        from mayavi.scenarios.build.agents.positions import build_mixed_borrowers

        return build_mixed_borrowers(agents, name, model)
    borrowers = agents.alike(name, lambda: [_borrower(agents, name, model)])
    market = market_name(model.protocol, model.market)
    for each in borrowers:
        agents.borrower_groups[name] = BorrowerGroup(market, each.accounts, each.collateral, each.debt)
    return [*borrowers]


def _borrower(agents: AgentSet, name: str, model: Borrower) -> BorrowerAgent | BorrowerPopulation:
    from mayavi.agents.lending.borrower import BorrowerAgent
    from mayavi.agents.lending.open_market import lending_market
    from mayavi.agents.lending.opening_borrower import OpeningBorrower

    assert isinstance(model.collateral, Asset)
    assert isinstance(model.debt, Asset)
    market = market_name(model.protocol, model.market)
    collateral, debt = model.collateral.symbol, model.debt.symbol

    def read_terms() -> tuple[int, int, int]:
        lending = lending_market(agents.fork, market)
        price_e8, decimals = lending.price_e8(collateral), lending.decimals(collateral)
        return price_e8, decimals, lending.decimals(debt) if model.fixed_debt else 0

    terms = "loan terms", market, collateral, debt, model.fixed_debt
    price_e8, decimals, debt_decimals = agents.fork.read_once(terms, read_terms)
    route = route_between(agents.fork, collateral, debt)
    shared: dict[str, Any] = {"collateral": collateral, "debt": debt, "market": market, "route": route}
    behaviours = behaviours_of(model)
    if model.debt.amount is not None:
        _check_single_loan(name, model, model.debt, len(behaviours))
        assert model.collateral.amount is not None
        return OpeningBorrower(
            name,
            collateral_amount=units(model.collateral.amount, decimals),
            debt_amount=units(model.debt.amount, debt_decimals),
            behaviour=behaviours[0][0],
            cash_share=model.cash,
            **shared,
        )
    assert model.health_factor is not None
    single = model.count == 1 and len(behaviours) == 1  # only a population draws one of several behaviours
    if single and model.collateral.amount is not None and isinstance(model.health_factor, Constant):
        return BorrowerAgent(
            name,
            collateral_amount=units(model.collateral.amount, decimals),
            target=model.health_factor.constant,
            behaviour=behaviours[0][0],
            cash_share=model.cash,
            **shared,
        )
    if model.collateral.amount is not None:
        size: Any = float(model.collateral.amount)
    else:
        size = distribution(model.size_usd, Decimal(E8) / price_e8)
    from mayavi.agents.lending.borrower_population import BorrowerPopulation

    return BorrowerPopulation(
        name,
        members=model.count,
        collateral_amount=size,
        target=distribution(model.health_factor),
        behaviours=behaviours,
        cash_share=model.cash,
        **shared,
    )


def _check_single_loan(name: str, model: Borrower, debt: Asset, behaviours: int) -> None:
    """Raise `BadScenario` if a fixed debt comes with several borrowers, no collateral amount or several behaviours."""
    if model.count > 1:
        raise BadScenario(
            f"agents.{name}: {model.count} borrowers cannot all owe {debt.amount} {debt.symbol}",
            "give a `health_factor` instead of an amount of debt",
        )
    if not model.fixed_collateral:
        raise BadScenario(f"agents.{name}: a debt needs an amount of collateral", "collateral: 1 WETH")
    if behaviours > 1:
        raise BadScenario(
            f"agents.{name}: one borrower cannot behave in {behaviours} ways",
            "give one `behaviour`; or give a `health_factor` instead of an amount of debt, and one is drawn",
        )


@agent_kind(Liquidator, last=True)
def build_liquidators(agents: AgentSet, name: str, model: Liquidator) -> list[Agent]:
    """Build liquidators that watch the borrowers of one market."""
    from mayavi.agents.liquidation.frictionless import FrictionlessLiquidator
    from mayavi.agents.liquidation.liquidator import LiquidatorAgent

    market, groups = market_name(model.protocol, model.market), agents.borrower_groups
    for watched in model.watches or []:
        if watched not in groups:
            raise UnknownName.of("borrower", watched, groups, f"there are: {', '.join(groups)}")
    chosen = [
        group
        for each, group in sorted(groups.items())
        if group.market == market and (model.watches is None or each in model.watches)
    ]
    if not chosen:
        raise BadScenario(f"agents.{name}: no agent borrows on {model.protocol}", "add an agent of kind borrower")
    pairs = sorted({pair for each in chosen for pair in each.pairs})
    shared: dict[str, Any] = {
        "watch": [account for group in chosen for account in group.accounts],
        "collaterals": list(dict.fromkeys(asset for each in chosen for asset in each.collaterals)),
        "debts": list(dict.fromkeys(asset for each in chosen for asset in each.debts)),
        "pairs": pairs,
        "market": market,
        "priority_fee_wei": model.priority_fee,
    }
    routes = {} if model.frictionless else _sale_routes(agents, name, pairs, model.routes)
    built: list[LiquidatorAgent] = []
    for number in range(model.count):
        own = numbered(name, number, model.count)
        if model.protocol == COMPOUND:
            agents.absorbers[own] = market
        if model.frictionless:
            built.append(FrictionlessLiquidator(own, **shared))
            continue
        built.append(
            LiquidatorAgent(
                own,
                routes=routes,
                capital=agents.capital(model.capital),
                flash_loan=model.flash_loan,
                least_profit=model.least_profit,
                most_a_block=model.most_a_block,
                latency_blocks=model.latency_blocks,
                notices=float(model.notices),
                **shared,
            )
        )
    agents.limits.liquidators += built
    return list(built)


def _sale_routes(
    agents: AgentSet, name: str, pairs: Sequence[tuple[str, str]], given: Mapping[str, SaleRouteModel]
) -> dict[str | tuple[str, str], SaleRouteLike]:
    """Find a route to sell each collateral for its debt, and add the pools of the routes to `agents.pools`."""
    routes: dict[str | tuple[str, str], SaleRouteLike] = {}
    for each in given:
        for token in each.split("/"):
            if token not in agents.fork.labels:
                fault = UnknownName.of(
                    "token", token, sorted(agents.fork.labels), "write COLLATERAL or COLLATERAL/DEBT"
                )
                raise BadScenario(f"agents.{name}.routes.{each}: {fault.message}", fault.hint)
    for collateral, debt in pairs:
        if collateral == debt:
            continue
        if key := next((each for each in (f"{collateral}/{debt}", collateral) if each in given), None):
            routes[collateral, debt] = _named_route(agents, f"agents.{name}.routes.{key}", given[key])
            continue
        route = route_between(agents.fork, collateral, debt)
        if route is None:
            raise BadScenario(
                f"agents.{name}: no pool of {agents.config.chain} sells {collateral} for {debt}, and a liquidator "
                "sells what it seizes",
                f"{pool_hint(agents.fork, f'{collateral}/{debt}.3000')}; or set "
                "`frictionless: true`, which sells nothing",
            )
        routes[collateral, debt] = route
        agents.pools += [pool for pool in pools_of(agents.fork, route) if pool not in agents.pools]
    return routes


def _named_route(agents: AgentSet, place: str, model: SaleRouteModel) -> SaleRouteLike:
    """Return the route at `place` of the scenario; raise `BadScenario` if it cannot be opened on this chain."""
    from mayavi.agents.liquidation.sale_routes import open_route
    from mayavi.scenarios.build.chain.new_exchanges import route_of

    route = route_of(model)
    try:
        open_route(agents.fork, route)
    except UsageError as error:
        raise BadScenario(f"{place}: {error.message}", error.hint) from error
    for each in (model, model.then):
        if each is not None and each.uniswap_v3 is not None:
            named = pools_of(agents.fork, tuple(each.uniswap_v3))
            agents.pools += [pool for pool in named if pool not in agents.pools]
    return route


@agent_kind(CurveBorrower)
def build_curve_borrowers(agents: AgentSet, name: str, model: CurveBorrower) -> list[Agent]:
    """Build borrowers that loop one stablecoin against another through a Curve pool."""
    from mayavi.agents.lending.curve_borrower import CurveBorrowerAgent
    from mayavi.markets import stream

    collateral, market = model.collateral.symbol, market_name(model.protocol)
    agents.use_curve_pool(model.pool, collateral, model.debt)
    if model.collateral.amount is not None:
        sizes = [model.collateral.amount] * model.count
    else:
        scale = Decimal(E8) / oracle_usd_e8(agents.fork, collateral)
        drawn = distribution(model.size_usd, scale).sample(model.count, stream(agents.seed, name, "size"))
        sizes = [Decimal(repr(each)) for each in drawn.tolist()]
    depegs = distribution(model.depeg).sample(model.count, stream(agents.seed, name, "depeg")).tolist()
    built = [
        CurveBorrowerAgent(
            numbered(name, number, model.count),
            collateral=collateral,
            amount=agents.units(collateral, sizes[number]),
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
    accounts = tuple(agent.name for agent in built)
    agents.borrower_groups[name] = BorrowerGroup(market, accounts, collateral, model.debt)
    return list(built)

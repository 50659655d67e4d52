"""Create the Uniswap V4 pools and Pendle markets of a scenario, and open the routes that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.agents.liquidation.sale_routes import PendleRoute, SaleRouteLike, V4Route
from mayavi.errors import BadScenario
from mayavi.evm.state import is_before
from mayavi.scenarios.build.chain.creation import account, give, units
from mayavi.scenarios.build.pricing import pool_price
from mayavi.scenarios.models.chain.new_exchanges import (
    NewPendleMarket,
    NewV4Pool,
    PoolRouteModel,
    SaleRouteModel,
    pt_parts,
)
from mayavi.scenarios.models.config import pool_tokens

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.protocols.uniswap.route import RouteLike

_RULES = "cancun"


def create_v4_pool(fork: Fork, name: str, pool: NewV4Pool) -> None:
    """Create a Uniswap V4 pool with liquidity, and Uniswap V4 itself where the fork has none."""
    from mayavi.protocols.uniswap_v4.currency import Currency
    from mayavi.protocols.uniswap_v4.market import UniswapV4
    from mayavi.worlds.deploy.uniswap_v4 import deploy_uniswap_v4

    tokens = pool_tokens(name)
    if tokens is None:
        raise BadScenario(f"'{name}' is not a pool name of the form TOKEN/OTHER.FEE", "such as WETH/USDC.500")
    _bring_up_to_date(fork)
    deploy_uniswap_v4(fork)
    uniswap, provider = UniswapV4(fork), account(f"provider of UniswapV4.{name}")
    fee = tokens[2] if pool.tick_spacing is None else (tokens[2], pool.tick_spacing)
    made = uniswap.create_pool(tokens[0], tokens[1], fee, pool_price(fork, name, pool.price))
    amounts = {symbol: units(amount, Currency(fork, symbol).decimals) for symbol, amount in pool.liquidity.items()}
    for symbol, amount in amounts.items():
        if Currency(fork, symbol).token is None:
            fork.set_balance(provider, fork.balance(provider) + amount)
        else:
            give(fork, symbol, provider, amount)
    ticks = made.full_range
    if pool.range is not None:
        lower, upper = sorted(made.tick_at(price, tokens[0]) for price in pool.range)
        ticks = lower, upper
    pair = [amounts.get(each, 0) for each in tokens[:2]]
    ordered = (pair[0], pair[1]) if made.is_currency0(tokens[0]) else (pair[1], pair[0])
    uniswap.mint(made, *ticks, ordered, sender=provider)


def create_pendle_pt(fork: Fork, name: str, model: NewPendleMarket) -> None:
    """Create a Pendle market with liquidity, and a price feed of its PT."""
    from mayavi.protocols.dollar_feed import dollar_feed
    from mayavi.protocols.pendle.market import PendleMarket
    from mayavi.protocols.tokens import Erc20
    from mayavi.worlds.deploy.pendle import create_pendle_market, deploy_pt_feed

    parts = pt_parts(name)
    if parts is None:
        raise BadScenario(f"'{name}' is not a PT of the form PT-TOKEN-DATE", "such as PT-wstETH-11JUL2024")
    _bring_up_to_date(fork)
    token, expiry = parts
    made = create_pendle_market(
        fork,
        token,
        expiry=expiry,
        asset=model.asset,
        rate=model.rate,
        growth=model.growth,
        implied_rate=model.implied_rate,
        scalar_root=model.scalar_root,
        fee=model.fee,
    )
    if made.pt != name:
        raise BadScenario(f"the PT of {token} with that expiry is called '{made.pt}', not '{name}'", "rename it")
    market, provider = PendleMarket(fork, made.market), account(f"provider of {made.market}")
    amount = units(model.liquidity, Erc20(fork, token).decimals)
    give(fork, token, provider, 2 * amount)
    market.wrap(2 * amount, sender=provider)
    market.add_liquidity(amount, market.mint_py(amount, sender=provider), sender=provider)
    discount = model.implied_rate if model.discount is None else model.discount
    deploy_pt_feed(fork, made.market, dollar_feed(fork, model.asset or token), discount=discount)


def route_of(model: SaleRouteModel) -> SaleRouteLike:
    """Return the route that a scenario describes."""
    if model.pendle is None:
        return _over_pools(model)
    then = None if model.then is None else _over_pools(model.then)
    return PendleRoute(f"Pendle.{model.pendle.removeprefix('PT-')}", then)


def _over_pools(model: PoolRouteModel) -> RouteLike | V4Route:
    if model.uniswap_v3 is not None:
        return tuple(model.uniswap_v3)
    parts = model.uniswap_v4 or []
    return V4Route(tuple(tuple(part) if isinstance(part, list) else part for part in parts))


def _bring_up_to_date(fork: Fork) -> None:
    """Run the fork under the rules of Cancun, if it has older ones."""
    if is_before(fork.hardfork, _RULES):
        fork.set_hardfork(_RULES)

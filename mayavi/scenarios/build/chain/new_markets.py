"""Create the reserves of Aave V3, the Aave V2 market and the Curve pools of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

from mayavi.errors import UsageError
from mayavi.evm.units import RAY
from mayavi.scenarios.build.chain.creation import ISSUER, account, give, units
from mayavi.scenarios.models.chain.new_markets import NewCurvePool, NewReserve, NewReserveV2

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.protocols.aave.market import AaveV3

_BPS = 10_000
_FEE_UNIT = 10**10


def list_on_aave_v3(fork: Fork, reserves: Mapping[str, NewReserve]) -> None:
    """Add reserves to the chain's Aave V3 market, at the prices of the chain's feeds, and supply their liquidity."""
    from mayavi.protocols.aave.listing import ReserveTerms, list_reserve
    from mayavi.protocols.aave.market import AaveV3
    from mayavi.protocols.dollar_feed import dollar_feed

    market = AaveV3(fork)
    for symbol, model in reserves.items():
        terms = ReserveTerms(
            ltv_bps=_bps(model.ltv),
            liquidation_threshold_bps=_bps(model.liquidation_threshold),
            liquidation_bonus_bps=_BPS + _bps(model.liquidation_bonus),
            reserve_factor_bps=_bps(model.reserve_factor),
            optimal_usage_bps=_whole_bps(model.optimal_usage, f"optimal_usage of {symbol}"),
            base_rate_bps=_whole_bps(model.base_rate, f"base_rate of {symbol}"),
            slope1_bps=_whole_bps(model.slope1, f"slope1 of {symbol}"),
            slope2_bps=_whole_bps(model.slope2, f"slope2 of {symbol}"),
            emodes=tuple(model.emodes),
        )
        list_reserve(market, symbol, dollar_feed(fork, symbol), terms)
        _supply(market, symbol, model.supplied)


def _supply(market: AaveV3, symbol: str, tokens: Decimal) -> None:
    """Supply what other accounts have supplied."""
    supplier = account(f"supplier of {market.prefix}")
    if amount := units(tokens, market.token(symbol).decimals):
        give(market.fork, symbol, supplier, amount)
        market.account(supplier).supply(symbol, amount)


def create_aave_v2(fork: Fork, reserves: Mapping[str, NewReserveV2]) -> None:
    """Deploy an Aave V2 market over the chain's tokens and price feeds, and supply its liquidity."""
    from mayavi.protocols.aave_v2.market import AaveV2
    from mayavi.protocols.chainlink.price_feed import PriceFeed
    from mayavi.protocols.dollar_feed import dollar_feed
    from mayavi.protocols.tokens import Erc20
    from mayavi.worlds.deploy.aave_v2 import ReserveV2, deploy_aave_v2
    from mayavi.worlds.deploy.deployment import Deployment

    issuer, listed = account(ISSUER), {}
    for symbol, model in reserves.items():
        token, feed = Erc20(fork, symbol), dollar_feed(fork, symbol)
        if model.price is not None:
            PriceFeed(fork, feed).set_price(model.price)
        listed[symbol] = ReserveV2(
            asset=token.address,
            decimals=token.decimals,
            price_feed=feed,
            ltv_bps=_bps(model.ltv),
            liquidation_threshold_bps=_bps(model.liquidation_threshold),
            liquidation_bonus_bps=_BPS + _bps(model.liquidation_bonus),
            reserve_factor_bps=_bps(model.reserve_factor),
            optimal_usage_ray=_ray(model.optimal_usage),
            base_rate_ray=_ray(model.base_rate),
            slope1_ray=_ray(model.slope1),
            slope2_ray=_ray(model.slope2),
        )
    deployment = Deployment(fork, deployer=issuer)
    deploy_aave_v2(deployment, listed, admin=issuer, treasury=account("treasury of AaveV2"))
    fork.labels.update(deployment.checksummed_labels())
    for symbol, model in reserves.items():
        _supply(AaveV2(fork), symbol, model.supplied)


def create_curve_pool(fork: Fork, name: str, pool: NewCurvePool) -> None:
    """Deploy a Curve pool with its LP token; the issuer deposits the balances."""
    from mayavi.evm.address import checksum
    from mayavi.protocols.curve.pool import CurveStableSwap
    from mayavi.protocols.tokens import Erc20
    from mayavi.worlds.deploy.curve import create_pool
    from mayavi.worlds.deploy.deployment import Deployment
    from mayavi.worlds.tables.curve import CurvePool

    label, issuer = f"Curve.{name}", account(ISSUER)
    if label in fork.labels:
        raise UsageError(f"there is a pool '{label}' on this chain already", "give the new one another name")
    deployment = Deployment(fork, deployer=issuer)
    deployment.labels = {coin: fork.address_of(coin) for coin in pool.balances}
    create_pool(
        deployment,
        CurvePool(
            name=name,
            address=checksum(account(f"pool {label}")),
            lp_token=checksum(account(f"pool {label} LP")),
            lp_name=f"Curve LP token of {name}",
            lp_symbol=f"crv{name}",
            coins=tuple(pool.balances),
            owner=checksum(issuer),
            a=pool.a,
            fee_e10=int(pool.fee * _FEE_UNIT),
            admin_fee_e10=int(pool.admin_fee * _FEE_UNIT),
            balances=(),
        ),
    )
    fork.labels.update({each: checksum(deployment[each]) for each in (label, f"{label}.LP")})
    amounts = {coin: units(amount, Erc20(fork, coin).decimals) for coin, amount in pool.balances.items()}
    for coin, amount in amounts.items():
        give(fork, coin, issuer, amount)
    CurveStableSwap(fork, label).add_liquidity(amounts, sender=issuer)


def _bps(share: Decimal) -> int:
    return int(share * _BPS)


def _whole_bps(share: Decimal, what: str) -> int:
    if share * _BPS % 1:
        raise UsageError(f"{what} is {share}", "Aave V3 counts in hundredths of a percent: 0.01%")
    return _bps(share)


def _ray(share: Decimal) -> int:
    return int(share * RAY)

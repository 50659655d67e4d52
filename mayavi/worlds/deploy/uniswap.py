"""Deploy Uniswap V3: factory, periphery contracts and pools with liquidity around a price.

A pool's address follows from the factory's address and the pool's creation code, which the npm package has unchanged,
so pools get their real addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal, localcontext

from mayavi.evm.address import ZERO_ADDRESS, to_address
from mayavi.worlds.deploy.deployment import Deployment
from mayavi.worlds.deploy.liquidity import bands, sqrt_price_x96
from mayavi.worlds.deploy.tokens import fund
from mayavi.worlds.tables.chain import Pool, Token, Uniswap

LOWEST_FEE, LOWEST_FEE_TICK_SPACING = 100, 1
"""The 0.01 % tier, added by governance in November 2021; the constructor does not create it."""

_CONTRACTS = (
    "factory",
    "factory_owner",
    "swap_router",
    "quoter",
    "quoter_v2",
    "tick_lens",
    "interface_multicall",
    "nft_descriptor",
    "position_descriptor",
    "position_manager",
)
_FOREVER = 2**256 - 1
_MINT = "mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256))"
CREATE_POOL, INITIALIZE = "createPool(address,address,uint24)", "initialize(uint160)"
"""Steps of the factory and the pool, for pools that get their liquidity in another way."""


def deploy_uniswap(deployment: Deployment, uniswap: Uniswap, *, wrapped_native: str, native: str) -> None:
    """Deploy the contracts without pools. Labels are `UniswapV3.Factory`, `UniswapV3.QuoterV2`, …

    A contract missing on the real chain, such as the SwapRouter on Base, gets an address of its own.
    """
    at: Mapping[str, str | None] = dict.fromkeys(_CONTRACTS) | uniswap.addresses
    weth = deployment[wrapped_native]
    factory = deployment.place("UniswapV3.Factory", "UniswapV3Factory", at=at["factory"])
    deployment.send(factory, "enableFeeAmount(uint24,int24)", LOWEST_FEE, LOWEST_FEE_TICK_SPACING)
    if owner := at["factory_owner"]:
        deployment.send(factory, "setOwner(address)", to_address(owner))
    deployment.place("UniswapV3.SwapRouter", "SwapRouter", factory, weth, at=at["swap_router"])
    deployment.place("UniswapV3.Quoter", "Quoter", factory, weth, at=at["quoter"])
    deployment.place("UniswapV3.QuoterV2", "QuoterV2", factory, weth, at=at["quoter_v2"])
    deployment.place("UniswapV3.TickLens", "TickLens", at=at["tick_lens"])
    deployment.place("UniswapV3.Multicall", "UniswapInterfaceMulticall", at=at["interface_multicall"])
    library = deployment.place("UniswapV3.NFTDescriptor", "NFTDescriptor", at=at["nft_descriptor"])
    descriptor = deployment.place(
        "UniswapV3.PositionDescriptor",
        "NonfungibleTokenPositionDescriptor",
        weth,
        native.encode().ljust(32, b"\0"),
        at=at["position_descriptor"],
        libraries={"NFTDescriptor": library},
    )
    deployment.place(
        "UniswapV3.PositionManager", "NonfungiblePositionManager", factory, weth, descriptor, at=at["position_manager"]
    )


def create_pool(
    deployment: Deployment, uniswap: Uniswap, pool: Pool, tokens: Mapping[str, Token], *, holder: bytes
) -> None:
    """Create one pool at its price, with the liquidity of its profile held by `holder`.

    Its label is `UniswapV3.WETH/USDC.500`, with the fee in millionths.
    """
    symbol0, symbol1 = sorted((pool.base, pool.quote), key=lambda symbol: deployment[symbol])
    token0, token1 = deployment[symbol0], deployment[symbol1]
    price, value1 = _price_and_value(pool, tokens, base_is_token0=symbol0 == pool.base)
    manager = deployment["UniswapV3.PositionManager"]
    deployment.send(
        manager,
        "createAndInitializePoolIfNecessary(address,address,uint24,uint160)",
        token0,
        token1,
        pool.fee,
        sqrt_price_x96(price),
    )
    address = deployment.view("UniswapV3.Factory", "getPool(address,address,uint24)(address)", token0, token1, pool.fee)
    assert address != ZERO_ADDRESS
    deployment.label(f"UniswapV3.{pool.name}", address, expected=pool.address)

    spacing = deployment.view(address, "tickSpacing()(int24)")
    positions = bands(price, value1, uniswap.profiles[pool.profile], spacing)
    for symbol, amount in (
        (symbol0, sum(band.amount0 for band in positions)),
        (symbol1, sum(band.amount1 for band in positions)),
    ):
        fund(deployment, symbol, tokens[symbol], holder, amount)
        deployment.send(symbol, "approve(address,uint256)", manager, amount, sender=holder)
    for band in positions:
        deployment.send(
            manager,
            _MINT,
            (
                token0,
                token1,
                pool.fee,
                band.lower_tick,
                band.upper_tick,
                band.amount0,
                band.amount1,
                0,
                0,
                holder,
                _FOREVER,
            ),
            sender=holder,
        )


def _price_and_value(pool: Pool, tokens: Mapping[str, Token], *, base_is_token0: bool) -> tuple[Decimal, Decimal]:
    """Return token1 per token0 in smallest units, and the pool's value in smallest units of token1."""
    base_unit, quote_unit = 10 ** tokens[pool.base].decimals, 10 ** tokens[pool.quote].decimals
    with localcontext(Context(prec=60)):
        quote_per_base = Decimal(pool.price) * quote_unit / base_unit
        value_in_base = Decimal(pool.value_locked_usd) / Decimal(pool.base_price_usd) * base_unit
        if base_is_token0:
            return quote_per_base, value_in_base * quote_per_base
        return 1 / quote_per_base, value_in_base

"""Scale the liquidity of the Uniswap V3 pools that a world has, through the position manager."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from mayavi.errors import BadScenario, ExecutionError, UsageError
from mayavi.scenarios.build.chain.creation import give
from mayavi.scenarios.build.chain.routes import pool_named
from mayavi.scenarios.models.config import ScenarioConfig, pool_tokens

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.protocols.uniswap.pool import UniswapV3Pool
    from mayavi.protocols.uniswap.position import UniswapV3Position


def scale_pools(config: ScenarioConfig, fork: Fork) -> None:
    """Scale the pools by `pool_depth`. Owners add to their positions or withdraw from them; prices stay."""
    depths = config.pool_depth
    if not isinstance(depths, dict):
        if depths == 1:
            return
        own = set(config.pools) | {name for each in config.agents.values() if (name := _created_pool(each))}
        depths = {name: depths for name in pool_names(fork) if name not in own}
        if not depths:
            raise BadScenario("pool_depth scales no pool: this chain has no Uniswap V3 pool", "leave it out")
    for name, factor in depths.items():
        try:
            scale_pool(pool_named(fork, name), factor)
        except (UsageError, ExecutionError) as error:
            raise BadScenario(f"pool_depth of '{name}': {error.message}", error.hint) from error


def scale_pool(pool: UniswapV3Pool, factor: Decimal) -> None:
    """Multiply the liquidity of every position in `pool` by `factor`."""
    from mayavi.protocols.uniswap.position import UniswapV3Position

    for position in UniswapV3Position.in_pool(pool) if factor != 1 else ():
        _scale(position, pool, Fraction(factor))


def _scale(position: UniswapV3Position, pool: UniswapV3Pool, factor: Fraction) -> None:
    liquidity, owner = position.liquidity, position.owner
    if factor < 1:
        removed = liquidity - math.floor(liquidity * factor)
        if removed:
            position.decrease(removed)
            position.collect()
        return
    needed = [math.ceil(amount * (factor - 1)) for amount in position.amounts]
    for token, amount in zip((pool.token0, pool.token1), needed, strict=True):
        give(pool.fork, token.symbol, owner, amount)
    if any(needed):
        position.increase(needed)


def pool_names(fork: Fork) -> list[str]:
    """Return the names of the labelled Uniswap V3 pools: `WETH/USDC.500`."""
    labels = [label.removeprefix("UniswapV3.") for label in fork.labels if label.startswith("UniswapV3.")]
    return [name for name in labels if "/" in name and pool_tokens(name)]


def _created_pool(model: object) -> str | None:
    from mayavi.scenarios.models.agents.trading import LaunchTrader

    return model.pool if isinstance(model, LaunchTrader) else None

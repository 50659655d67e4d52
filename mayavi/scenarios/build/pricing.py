"""Outside prices of a scenario: initial values, processes, and paths drawn from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from mayavi.errors import BadScenario, BadSeries, ExecutionError, UnknownName, UsageError
from mayavi.scenarios.models.config import ScenarioConfig, pool_tokens
from mayavi.scenarios.models.prices import (
    GbmPrice,
    JumpDiffusionPrice,
    OrnsteinUhlenbeckPrice,
    PathPrice,
    Price,
    RampPrice,
    StepPrice,
)

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.markets.price_paths import PricePaths
    from mayavi.markets.process import PriceProcess
    from mayavi.markets.series import Series
    from mayavi.protocols.aave.market import AaveV3

E8 = 10**8


def price_drawer(
    config: ScenarioConfig, fork: Fork, step_seconds: int
) -> Callable[[Sequence[int]], Iterator[PricePaths]]:
    """Return the function that draws the paths of each of some seeds. Initial prices are those of `fork` now."""
    from mayavi.markets import Correlation, PricePaths
    from mayavi.scenarios.models.attachments import in_yaml

    start = {symbol: start_usd_e8(config, fork, symbol) / E8 for symbol in config.prices}
    pairs = {(pair.split("/")[0], pair.split("/")[1]): float(value) for pair, value in config.correlations.items()}
    correlation = Correlation(pairs) if pairs else None

    def draw(seeds: Sequence[int]) -> Iterator[PricePaths]:
        try:
            yield from PricePaths.draw_each(
                processes, start, steps=config.steps, step_seconds=step_seconds, seeds=seeds, correlation=correlation
            )
        except BadSeries as error:
            raise BadSeries(error.message, in_yaml(error.hint)) from None

    try:
        processes = {symbol: process_of(price, symbol) for symbol, price in config.prices.items()}
    except BadSeries as error:
        raise BadSeries(error.message, in_yaml(error.hint)) from None
    return draw


def check_file(price: PathPrice, series: Series, steps: int, step_seconds: int) -> None:
    """Raise `BadSeries` if a price series does not cover a run of `steps` steps."""
    import numpy as np

    from mayavi.markets import HistoricalPath

    path = HistoricalPath(series, price.begin, price.anchored, price.fill, float(price.max_gap))
    path.driven(1.0, np.zeros(steps), step_seconds, np.random.default_rng(0))


def start_usd_e8(config: ScenarioConfig, fork: Fork, symbol: str) -> int:
    """Return the initial price of `symbol`: the scenario's `start`, the oracle's, or that of the pool it creates."""
    price = config.prices.get(symbol)
    if price is not None and price.start is not None:
        return int((price.start * E8).to_integral_value())
    try:
        return oracle_usd_e8(fork, symbol)
    except (UsageError, ExecutionError):
        for name, pool in config.pools.items():
            tokens = pool_tokens(name)
            if tokens and symbol == tokens[0] and pool.price is not None:
                return int((pool.price * oracle_usd_e8(fork, tokens[1])).to_integral_value())
        raise BadScenario(
            f"no oracle of {config.chain} prices {symbol}", f"give its initial price: prices.{symbol}.start"
        ) from None


def opening_gaps_wad(config: ScenarioConfig, fork: Fork, prices: PricePaths | None) -> dict[str, int]:
    """Return the relative distance from the oracle's price of prices that a file or `start` sets, with 18 decimals.

    Borrowers open at the oracle's price and the first step posts the other one, which is a shock of its own.
    """
    gaps = {}
    for symbol, price in config.prices.items():
        if prices is None or not (price.start is not None or (isinstance(price, PathPrice) and not price.anchored)):
            continue
        try:
            oracle = oracle_usd_e8(fork, symbol)
        except (UsageError, ExecutionError):
            continue  # no oracle prices a token that the scenario creates
        gaps[symbol] = (prices.usd_e8(symbol, 0) - oracle) * 10**18 // oracle
    return gaps


def oracle_usd_e8(fork: Fork, symbol: str, market: AaveV3 | None = None) -> int:
    """Return the price of `symbol` by Aave's oracle, else by its Chainlink feed, in dollars with eight decimals.

    `market` is Aave on this fork, if it is open already.
    """
    return fork.read_once(("oracle price", symbol), lambda: _oracle_usd_e8(fork, symbol, market))


def _oracle_usd_e8(fork: Fork, symbol: str, market: AaveV3 | None) -> int:
    from mayavi.protocols.aave.market import AaveV3
    from mayavi.protocols.chainlink.price_feed import PriceFeed

    try:
        return (market or AaveV3(fork)).price_usd_e8(symbol)
    except UnknownName:
        feed = PriceFeed(fork, f"Chainlink.{symbol}/USD")
        return feed.answer * E8 // int(10**feed.decimals)


def pool_price(fork: Fork, pool: str, given: Decimal | None) -> Decimal:
    """Return the initial price of a new pool, TOKEN/OTHER.FEE: the given one, or that of the world's price feeds."""
    tokens = pool_tokens(pool)
    if given is not None or tokens is None:
        return given or Decimal(1)  # a name that is not a pool's is refused where the pool is made
    try:
        first, second = (oracle_usd_e8(fork, symbol) for symbol in tokens[:2])
    except (UsageError, ExecutionError) as error:
        raise BadScenario(
            f"the pool {pool} has no price, and no feed gives one: {error.message}", "give its `price`"
        ) from None
    return Decimal(first) / Decimal(second)


def process_of(price: Price | None, symbol: str) -> PriceProcess:
    """Return the price process that a scenario describes."""
    from mayavi import markets  # each process is imported on use

    if isinstance(price, StepPrice | RampPrice):
        size, to = _number(price.size), _number(price.to)
        parts = {"before": process_of(price.before, symbol), "then": process_of(price.then, symbol)}
        if isinstance(price, StepPrice):
            return markets.Step(price.at, size, to, **parts)
        return markets.Ramp(price.at, price.at + price.steps, size, to, **parts)
    if isinstance(price, GbmPrice):
        return markets.GeometricBrownianMotion(float(price.volatility), float(price.drift))
    if isinstance(price, OrnsteinUhlenbeckPrice):
        from mayavi.markets.process import SECONDS_PER_YEAR
        from mayavi.numerics import portable

        reversion = float(portable.log(2.0)) * SECONDS_PER_YEAR / price.half_life
        return markets.OrnsteinUhlenbeck(reversion, float(price.volatility), _number(price.mean))
    if isinstance(price, JumpDiffusionPrice):
        return markets.JumpDiffusion.of_mean_size(
            float(price.volatility),
            float(price.jumps_per_year),
            float(price.jump_mean),
            float(price.jump_deviation),
            float(price.drift),
        )
    if isinstance(price, PathPrice):
        from mayavi.scenarios.models.attachments import READING, series_of

        return markets.HistoricalPath(
            series_of(price.data or "", symbol, {key: getattr(price, key) for key in READING}),
            price.begin,
            price.anchored,
            price.fill,
            float(price.max_gap),
        )
    return markets.Constant()


def _number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)

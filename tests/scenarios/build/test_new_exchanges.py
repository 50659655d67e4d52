"""A scenario creates Uniswap V4 pools and Pendle markets, and its liquidators sell through them."""

from __future__ import annotations

import json

import pytest

from mayavi import Fork
from mayavi.errors import BadScenario
from mayavi.protocols import PendleMarket, PriceFeed, UniswapV4
from mayavi.scenarios.build.build import build, set_up
from mayavi.scenarios.loading import load_text
from tests.scenarios.play import play
from tests.states import state_of

PT = "PT-wstETH-11JUL2024"
SCENARIO = """\
name: pt
chain: ethereum
steps: 5
step_blocks: 100
seed: 3
prices:
  WETH: {process: step, at: 2, size: -20%}
uniswap_v4_pools:
  WETH/USDC.500: {price: 2_562, liquidity: {WETH: 20_000, USDC: 60_000_000}}
  wstETH/WETH.300: {price: 1.1547, tick_spacing: 5, range: [1.1, 1.2], liquidity: {wstETH: 10_000, WETH: 12_000}}
  ETH/USDC.3000: {price: 2_562, liquidity: {ETH: 20_000, USDC: 60_000_000}}
pendle_markets:
  PT-wstETH-11JUL2024: {asset: WETH, rate: 1.1547, growth: 3%, implied_rate: 3%, discount: 5%, liquidity: 10_000}
aave_v2:
  PT-wstETH-11JUL2024: {ltv: 75%, liquidation_threshold: 80%, liquidation_bonus: 8%}
  USDC: {ltv: 80%, liquidation_threshold: 85%, liquidation_bonus: 5%, supplied: 10_000_000}
agents:
  looper: {kind: borrower, protocol: aave_v2, collateral: 100 PT-wstETH-11JUL2024, debt: USDC, health_factor: 1.1}
  whale: {kind: borrower, collateral: 100 WETH, debt: USDC, health_factor: 1.1}
  pt_bot:
    kind: liquidator
    protocol: aave_v2
    capital: {USDC: 5_000_000}
    notices: 100%
    routes:
      PT-wstETH-11JUL2024: {pendle: PT-wstETH-11JUL2024, then: {uniswap_v4: [wstETH, [300, 5], WETH, 500, USDC]}}
  v4_bot:
    kind: liquidator
    flash_loan: true
    notices: 100%
    routes: {WETH/USDC: {uniswap_v4: [WETH, 500, USDC]}}
"""


def test_liquidators_exit_through_the_markets_that_the_scenario_creates() -> None:
    run = play("", text=SCENARIO)
    assert not run.broken
    done = [row for row in run.actions if (row.kind, row.status) == ("liquidate", "success")]
    first = {row.agent: json.loads(row.details) for row in reversed(done)}
    assert first.keys() == {"pt_bot", "v4_bot"}
    assert (first["pt_bot"]["collateral"], first["v4_bot"]["collateral"]) == (PT, "WETH")
    for facts in first.values():
        assert int(facts["received"]) > int(facts["paid"]) > 0
    again = play("", text=SCENARIO)
    assert again.actions == run.actions
    assert state_of(again.built.world.fork) == state_of(run.built.world.fork)


def test_collateral_is_unwrapped_for_pools_of_ether() -> None:
    text = SCENARIO.replace("{uniswap_v4: [WETH, 500, USDC]}}\n", "{uniswap_v4: [ETH, 3000, USDC]}}\n")
    run = play("", text=text)
    done = [row for row in run.actions if (row.kind, row.status) == ("liquidate", "success")]
    assert {row.agent for row in done} == {"pt_bot", "v4_bot"}
    pool = UniswapV4(run.built.world.fork).pool("ETH", "USDC", 3000)
    assert float(pool.price("ETH")) < 2_562


@pytest.mark.parametrize("pool", ["ETH/USDC.3000", "WETH/USDC.500"])
def test_an_arbitrageur_brings_a_pool_of_uniswap_v4_to_the_price(pool: str) -> None:
    arbitrageur = (
        f"  arb: {{kind: arbitrageur, pool: UniswapV4.{pool}, capital: {{WETH: 50_000, USDC: 100_000_000}}}}\n"
    )
    run = play("", text=SCENARIO + arbitrageur)
    assert not run.broken
    traded = run.details("arbitrage")
    assert traded
    for facts in traded:
        assert int(facts["profit_e8"]) > 0
    first, other, fee = pool.split("/")[0], "USDC", int(pool.rpartition(".")[2])
    price = float(UniswapV4(run.built.world.fork).pool(first, other, fee).price(first))
    assert price == pytest.approx(2_562.92 * 0.8, rel=fee / 10**6 + 1e-3)


def test_an_unknown_pool_of_uniswap_v4_is_refused() -> None:
    text = SCENARIO + "  arb: {kind: arbitrageur, pool: UniswapV4.ETH/USDC.100, capital: {WETH: 1, USDC: 1}}\n"
    with pytest.raises(BadScenario, match=r"there is no pool 'UniswapV4\.ETH/USDC.100'"):
        build(load_text(text).config, Fork.replica("ethereum"), seed=1)


def test_the_world_is_what_the_scenario_says() -> None:
    fork = Fork.replica("ethereum")
    set_up(load_text(SCENARIO).config, fork)
    assert fork.hardfork == fork.copy().hardfork == "cancun"
    market = PendleMarket(fork, "Pendle.wstETH-11JUL2024")
    assert market.state.total_sy == 10_000 * 10**18
    assert float(market.implied_rate) == pytest.approx(0.03, rel=1e-6)
    years = (market.expiry - fork.timestamp) / (365 * 86_400)
    ether = PriceFeed(fork, "Chainlink.ETH/USD").price
    assert float(PriceFeed(fork, f"Pendle.{PT}/USD").price / ether) == pytest.approx(1 - 0.05 * years, rel=1e-6)
    uniswap = UniswapV4(fork)
    assert float(uniswap.pool("WETH", "USDC", 500).price("WETH")) == pytest.approx(2_562)
    assert uniswap.pool("ETH", "USDC", 3000).liquidity > 0
    assert uniswap.pool("wstETH", "WETH", (300, 5)).liquidity > 0
    assert Fork.replica("ethereum").hardfork == "shanghai"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("PT-wstETH-11JUL2024: {asset", "PT-wstETH: {asset", "is not a PT of the form PT-TOKEN-DATE"),
        ("PT-wstETH-11JUL2024: {asset", "PT-wstETH-31FOO2024: {asset", "is not a PT of the form PT-TOKEN-DATE"),
        (
            "PT-wstETH-11JUL2024: {asset",
            "PT-wstETH-11JUL2020: {asset",
            "11 July 2020, is not after the world's time, 13",
        ),
        ("WETH/USDC.500: {price", "WETH/USDC: {price", "is not a pool name of the form TOKEN/OTHER.FEE"),
        ("tick_spacing: 5, ", "", "implies no tick spacing"),
        ("liquidity: {WETH: 20_000, USDC", "liquidity: {WETH: 20_000, DAI", "'DAI' is not in the pool"),
        ("[WETH, 500, USDC]}}\n", "[WETH, 3000, USDC]}}\n", "routes.WETH/USDC: there is no pool UniswapV4"),
        ("WETH/USDC: {uniswap_v4:", "WETHH/USDC: {uniswap_v4:", "routes.WETHH/USDC: unknown token 'WETHH'"),
        ("WETH/USDC: {uniswap_v4:", "WETH/USDC: {pendle: PT-x, uniswap_v4:", "is not one route"),
        (
            "WETH/USDC: {uniswap_v4:",
            "WETH/USDC: {then: {uniswap_v3: [WETH, 500, USDC]}, uniswap_v4:",
            "without `pendle`",
        ),
        (
            "then: {uniswap_v4: [wstETH, [300, 5], WETH",
            "then: {uniswap_v4: [WETH",
            "pays wstETH, and the route goes on",
        ),
        ("pendle: PT-wstETH-11JUL2024, then", "pendle: PT-wstETH-12JUL2024, then", "Pendle.wstETH-12JUL2024"),
    ],
)
def test_what_does_not_fit_is_refused(old: str, new: str, message: str) -> None:
    assert old in SCENARIO
    with pytest.raises(BadScenario, match=message):
        build(load_text(SCENARIO.replace(old, new)).config, Fork.replica("ethereum"), seed=1)

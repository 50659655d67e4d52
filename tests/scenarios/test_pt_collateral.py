"""PT of Pendle as collateral in scenarios: markets of Morpho, and what a liquidator can sell."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mayavi import Fork
from mayavi.errors import BadScenario
from mayavi.protocols import Erc20, MorphoBlue, PendleMarket, PriceFeed
from mayavi.scenarios.build.build import set_up
from mayavi.scenarios.loading import load_text
from tests.scenarios.play import Played, play
from tests.states import state_of

PT, MORPHO = "PT-wstETH-11JUL2024", "PT-wstETH-11JUL2024/USDC.86"
PENDLE = "Pendle.wstETH-11JUL2024"
SCENARIO = """\
name: pt
chain: ethereum
steps: 4
step_blocks: 100
prices:
  WETH: {process: step, at: 2, size: -11%}
pendle_markets:
  PT-wstETH-11JUL2024: {asset: WETH, rate: 1.1547, growth: 3%, implied_rate: 3%, discount: 5%, liquidity: 10_000}
morpho:
  markets:
    PT-wstETH-11JUL2024/USDC.86: {supplied: 10_000_000}
  vaults:
    ptUSDC: {caps: {PT-wstETH-11JUL2024/USDC.86: 1_000_000}, deposits: 1_000_000}
agents:
  looper:
    kind: borrower
    protocol: morpho
    market: PT-wstETH-11JUL2024/USDC.86
    collateral: 100 PT-wstETH-11JUL2024
    debt: USDC
    health_factor: 1.1
    behaviour: hold
  bot:
    kind: liquidator
    protocol: morpho
    market: PT-wstETH-11JUL2024/USDC.86
    capital: {USDC: 5_000_000}
    notices: 100%
    routes:
      PT-wstETH-11JUL2024: {pendle: PT-wstETH-11JUL2024, then: {uniswap_v3: [wstETH, 100, WETH, 500, USDC]}}
"""


def with_exit_of(wsteth: str) -> str:
    return SCENARIO.replace("liquidity: 10_000}", f"liquidity: {wsteth}}}")


def sold_to_pendle(run: Played) -> int:
    """Return the PT that the market holds more than at the start."""
    fork = Fork.replica("ethereum")
    set_up(load_text(SCENARIO).config, fork)
    market = PendleMarket(run.built.world.fork, PENDLE)
    return market.state.total_pt - PendleMarket(fork, PENDLE).state.total_pt


def test_a_borrower_on_morpho_is_liquidated_and_its_pt_leaves_through_pendle() -> None:
    run = play("", text=SCENARIO)
    assert not run.broken
    (done,) = run.details("liquidate")
    assert (done["collateral"], done["debt"], done["borrower"]) == (PT, "USDC", "looper")
    assert int(done["received"]) > int(done["paid"]) > 0
    assert sold_to_pendle(run) == int(done["seized"]) > 0
    fork = run.built.world.fork
    (bot,) = (agent for agent in run.built.world.agents if agent.name == "bot")
    address = run.built.world.address(bot.name)
    assert Erc20(fork, "USDC").balance_of(address) == 5_000_000 * 10**6 + int(done["profit"])
    for token in (PT, "SY-wstETH", "wstETH", "WETH"):
        assert Erc20(fork, token).balance_of(address) == 0
    assert run.kpis["bad_debt"] == run.kpis["liquidatable_accounts"] == 0
    assert run.kpis["share_price_change.ptUSDC"] >= 0
    again = play("", text=SCENARIO)
    assert again.actions == run.actions
    assert state_of(again.built.world.fork) == state_of(fork)


def test_an_exit_that_takes_a_part_is_used_for_that_part() -> None:
    run = play("", text=with_exit_of("10"))
    full = play("", text=SCENARIO).details("liquidate")[0]
    done = run.details("liquidate")
    assert not run.broken
    assert 0 < sum(int(each["seized"]) for each in done) < int(full["seized"]) // 2
    assert all(int(each["received"]) > int(each["paid"]) for each in done)
    assert run.kpis["limited.depth"] == run.kpis["liquidatable_accounts"] == 1
    account = MorphoBlue(run.built.world.fork).market(MORPHO).account(run.built.world.address("looper"))
    assert account.data().liquidatable


def test_where_no_exit_pays_the_borrower_is_left_alone() -> None:
    thin = with_exit_of("0.001")
    run = play("", text=thin)
    assert not run.broken
    assert not run.details("liquidate")
    assert run.kpis["limited.depth"] == run.kpis["liquidatable_accounts"] == 1
    assert run.kpis["liquidations_failed"] == 0
    lost = play("", text=thin.replace("size: -11%", "size: -40%"))
    assert not lost.details("liquidate")
    assert lost.kpis["bad_debt"] > 0


def test_the_oracle_of_the_market_is_the_feed_of_the_pt() -> None:
    fork = Fork.replica("ethereum")
    set_up(load_text(SCENARIO).config, fork)
    market = MorphoBlue(fork).market(MORPHO)

    def expected() -> int:
        pt, dollar = (PriceFeed(fork, feed).answer for feed in (f"Pendle.{PT}/USD", "Chainlink.USDC/USD"))
        return int(Fraction(pt, dollar) * 10**24)  # 36 + 6 - 18 decimals

    before = market.price_e36
    assert before == expected()
    PriceFeed(fork, "Chainlink.ETH/USD").move_by("-0.1")
    assert market.price_e36 == expected()
    assert market.price_e36 / before == pytest.approx(0.9, rel=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("PT-wstETH-11JUL2024/USDC.86", "PT-wstETH-12JUL2024/USDC.86", "PT-wstETH-12JUL2024"),
        ("market: PT-wstETH-11JUL2024/USDC.86", "market: PT-wstETH-11JUL2024/USDC.77", "unknown Morpho market"),
    ],
)
def test_a_pt_that_nothing_creates_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(BadScenario, match=message):
        play("", text=SCENARIO.replace(old, new))


def test_a_liquidator_without_a_way_out_of_the_pt_is_refused() -> None:
    text = SCENARIO[: SCENARIO.index("    routes:")]
    with pytest.raises(BadScenario, match=f"bot.*{PT}"):
        play("", text=text)

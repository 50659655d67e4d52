"""Shocks move a feed by the exact share at the exact step."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mayavi.agents import OracleShockAgent, PathShock, RampShock, StepShock
from mayavi.agents.oracle.shock import Shock
from mayavi.errors import BadArgument, UnknownName
from mayavi.protocols import AaveV3, PriceFeed
from tests.agents.stage import ETH_FEED, Stage, details, replica


def answers(shock: Shock, steps: int, chain: str = "ethereum") -> tuple[int, list[int], list[str]]:
    """Return the feed's answer before, after each step, and the agent's actions."""
    fork = replica(chain)
    feed = PriceFeed(fork, ETH_FEED)
    before = feed.answer
    stage = Stage(fork, [OracleShockAgent("crash", feeds=[ETH_FEED], shock=shock)])
    said, did = [], []
    for _ in range(steps):
        did += [row.kind for row in stage.step()]
        said.append(feed.answer)
    return before, said, did


@pytest.mark.parametrize("chain", ["ethereum", "base"])
def test_a_step_is_all_at_once_and_then_stays(chain: str) -> None:
    before, said, did = answers(StepShock(at=2, by=-0.3), 4, chain)
    assert said == [before, before, before * 7 // 10, before * 7 // 10]
    assert did == ["rest", "rest", "shock_price", "rest"]


def test_a_ramp_goes_in_a_straight_line() -> None:
    before, said, did = answers(RampShock(start=1, end=4, by="-0.3"), 6)
    shares = [Fraction(1), Fraction(1), Fraction(9, 10), Fraction(8, 10), Fraction(7, 10), Fraction(7, 10)]
    assert said == [before * share.numerator // share.denominator for share in shares]
    assert did == ["rest", "rest", "shock_price", "shock_price", "shock_price", "rest"]


def test_a_path_gives_each_step_its_share_and_the_last_stays() -> None:
    before, said, _ = answers(PathShock([0.9, 1, "1.1"], start=1), 5)
    assert said == [before, before * 9 // 10, before, before * 11 // 10, before * 11 // 10]


def test_the_record_tells_the_answer_before_and_after_and_what_follows_the_feed_follows_it() -> None:
    fork = replica()
    market = AaveV3(fork)
    staked, before = market.price_usd_e8("wstETH"), PriceFeed(fork, ETH_FEED).answer
    stage = Stage(fork, [OracleShockAgent("crash", feeds=[ETH_FEED, "Chainlink.USDC/USD"], shock=StepShock(0, -0.5))])
    rows = stage.step()
    assert len(rows) == 2
    facts = {details(row)["feed"]: details(row) for row in rows}
    assert (facts[ETH_FEED]["answer_before"], facts[ETH_FEED]["answer"]) == (before, before // 2)
    assert facts[ETH_FEED]["decimals"] == 8
    assert facts[ETH_FEED]["round"] == PriceFeed(fork, ETH_FEED).latest_round.round_id
    assert market.price_usd_e8("wstETH") == pytest.approx(staked / 2, rel=1e-7)


def test_shocks_that_make_no_sense_are_refused() -> None:
    for wrong in (
        lambda: StepShock(0, -1),
        lambda: StepShock(-1, -0.1),
        lambda: RampShock(3, 3, -0.1),
        lambda: PathShock([]),
        lambda: PathShock([0.5, 0]),
        lambda: OracleShockAgent("crash", feeds=[], shock=StepShock(0, 0.1)),
        lambda: OracleShockAgent("crash", feeds=ETH_FEED, shock=StepShock(0, 0.1)),
    ):
        with pytest.raises(BadArgument):
            wrong()
    with pytest.raises(UnknownName, match="ETH/UDS"):
        Stage(replica(), [OracleShockAgent("crash", feeds=["Chainlink.ETH/UDS"], shock=StepShock(0, 0.1))])

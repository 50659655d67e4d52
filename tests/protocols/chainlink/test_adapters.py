"""Moving the price adapters of a market of Aave V3.6: capped ratios and principal tokens."""

from __future__ import annotations

import pytest

from mayavi.errors import BadArgument
from mayavi.evm.fork import Fork
from mayavi.protocols.chainlink.price_feed import PriceFeed

pytestmark = pytest.mark.slow


@pytest.fixture
def plasma() -> Fork:
    return Fork.replica("plasma")


def test_a_capped_ratio_falls_and_rises_no_further_than_its_cap(plasma: Fork) -> None:
    feed = PriceFeed(plasma, "Aave.weETH/USD")
    before = feed.answer
    assert feed.move_by(-0.2).answer == before * 8 // 10
    assert feed.move_by(1).answer == before
    assert feed.answer == before
    base = PriceFeed(plasma, "Chainlink.ETH/USD")
    base.move_by(0.1)
    assert feed.answer == pytest.approx(before * 1.1)


@pytest.mark.parametrize("fraction", [-0.5, -0.01, -0.0001])
def test_a_principal_token_falls_by_a_larger_discount(plasma: Fork, fraction: float) -> None:
    feed = PriceFeed(plasma, "Aave.PT-sUSDE-15JAN2026/USD")
    wanted = int(feed.answer * (1 + fraction))
    assert feed.move(wanted).answer == wanted
    base = PriceFeed(plasma, "Aave.USDT/USD")
    assert feed.move(base.answer).answer == base.answer


def test_a_principal_token_is_never_worth_more_than_its_base(plasma: Fork) -> None:
    feed, base = PriceFeed(plasma, "Aave.PT-sUSDE-15JAN2026/USD"), PriceFeed(plasma, "Aave.USDT/USD")
    with pytest.raises(BadArgument, match="is a discount, and its base"):
        feed.move(base.answer + 1)
    plasma.set_block(timestamp=plasma.timestamp + 60 * 86_400)
    assert feed.answer == base.answer
    with pytest.raises(BadArgument, match="is past its maturity"):
        feed.move_by(-0.1)
    base.move_by(-0.1)
    assert feed.answer == base.answer

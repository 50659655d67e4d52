"""Gas of Pendle V2, called directly, within one per cent of reference figures for the same code.

The figures were measured with a small SY of one storage slot for its rate and no incentives, as ours is. Tokens are
sent to the contract before the call, all in one block.
"""

from __future__ import annotations

import pytest

from mayavi import Fork
from mayavi.protocols import PendleMarket
from mayavi.worlds.deploy.pendle import create_pendle_market
from tests.protocols.pendle.worlds import ALICE, DAY

MEASURED = {
    "mintPY": (
        173_020,
        "the first of the YT, to somebody without PT and YT; it also reads the SY's rate for the block",
    ),
    "mint": (241_996, "the first liquidity of the market, ten million of each; its square root costs 750 gas a digit"),
    "swapExactPtForSy": (129_673, "the first sale, in the block of the mint: the treasury has no SY before its fee"),
}
"""Gas by function, and the condition under which it is met."""

AMOUNT = 10**7 * 10**18


@pytest.fixture(scope="module")
def gas_used() -> dict[str, int]:
    fork = Fork.replica("ethereum", hardfork="cancun").copy()
    expiry = (fork.timestamp // DAY + 180) * DAY
    made = create_pendle_market(
        fork, "sDAI", expiry=expiry, implied_rate="0.05", rate="1.05", growth="0.05", asset="DAI"
    )
    market = PendleMarket(fork, made.market)
    fork.deal("sDAI", ALICE, 4 * AMOUNT)
    market.wrap(4 * AMOUNT, sender=ALICE)
    market.sy.transfer(market.yt.address, 2 * AMOUNT, sender=ALICE)
    used = {"mintPY": market._yt.mintPY(ALICE, ALICE, sender=ALICE).gas_used}
    market.sy.transfer(market.address, AMOUNT, sender=ALICE)
    market.pt.transfer(market.address, AMOUNT, sender=ALICE)
    used["mint"] = market.contract.mint(ALICE, AMOUNT, AMOUNT, sender=ALICE).gas_used
    market.pt.transfer(market.address, AMOUNT // 100, sender=ALICE)
    used["swapExactPtForSy"] = market.contract.swapExactPtForSy(ALICE, AMOUNT // 100, b"", sender=ALICE).gas_used
    return used


@pytest.mark.parametrize("what", MEASURED)
def test_it_costs_what_was_measured(gas_used: dict[str, int], what: str) -> None:
    figure, condition = MEASURED[what]
    assert gas_used[what] == pytest.approx(figure, rel=0.01), condition

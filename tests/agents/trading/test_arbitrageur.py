"""An arbitrageur moves a pool to the point where trading stops paying, and not a unit further."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from mayavi.agents import ArbitrageurAgent, FeedPrices, OutsidePrices
from mayavi.errors import BadArgument, UnknownName
from mayavi.evm.units import gwei
from mayavi.markets.price_paths import PricePaths
from mayavi.protocols import Erc20, PriceFeed, UniswapV3
from tests.agents.stage import ETH_FEED, WETH, Stage, details, of, replica

FEEDS = FeedPrices({"WETH": ETH_FEED, "USDC": "Chainlink.USDC/USD"})
RICH = {"WETH": 10**6 * WETH, "USDC": 10**15}


def arbitrageur(name: str = "arb", **options: object) -> ArbitrageurAgent:
    given = {"pool": ("WETH", "USDC", 500), "capital": RICH, "reference": FEEDS}
    return ArbitrageurAgent(name, **{**given, **options})  # type: ignore[arg-type]


def fair(stage: Stage) -> Decimal:
    """Return the price of one WETH in USDC by the feeds."""
    eth, usdc = (PriceFeed(stage.fork, feed).answer for feed in (ETH_FEED, "Chainlink.USDC/USD"))
    return Decimal(eth) / usdc


@pytest.mark.parametrize("chain", ["ethereum", "base"])
@pytest.mark.parametrize("by", ["-0.2", "-0.01", "0.02", "0.25"])
def test_the_pool_ends_at_the_price_less_the_fee(chain: str, by: str) -> None:
    arb = arbitrageur()
    stage = Stage(replica(chain), [arb])
    before = {token: Erc20(stage.fork, token).balance_of(arb.address) for token in RICH}
    row = of(stage.after(by), "arb")
    facts = details(row)
    assert (row.kind, row.status) == ("arbitrage", "success"), row.reason
    price, kept = arb.pool.price("WETH"), Decimal("0.9995")
    edge = fair(stage) / kept if by.startswith("-") else fair(stage) * kept
    assert abs(price / edge - 1) < Decimal("1e-12")
    assert arb.pool.sqrt_price_x96 == facts["sqrt_price_after_x96"]
    # It sold the dear one and bought the cheap one, exactly as reported, at a gain at the reference prices.
    token_in, token_out = ("WETH", "USDC") if by.startswith("-") else ("USDC", "WETH")
    assert (facts["token_in"], facts["token_out"]) == (token_in, token_out)
    assert before[token_in] - Erc20(stage.fork, token_in).balance_of(arb.address) == facts["amount_in"]
    assert Erc20(stage.fork, token_out).balance_of(arb.address) - before[token_out] == facts["amount_out"]
    assert facts["profit_e8"] == facts["expected_profit_e8"] > 0
    assert of(stage.step(), "arb").kind == "rest"


def test_the_edge_brings_more_than_the_reference_price_itself() -> None:
    profit = {}
    for to in ("edge", "reference"):
        stage = Stage(replica(), [arbitrageur(to=to)])
        facts = details(of(stage.after("-0.05"), "arb"))
        profit[to] = facts["profit_e8"]
        off = abs(stage.world.agents[0].pool.price("WETH") / fair(stage) - 1)  # type: ignore[attr-defined]
        assert off < (Decimal("1e-12") if to == "reference" else Decimal("0.00051"))
    assert profit["edge"] > profit["reference"] > 0


def test_inside_the_fee_and_below_the_gas_nothing_is_traded() -> None:
    stage = Stage(replica(), [arbitrageur()])
    assert details(of(stage.after("-0.0004"), "arb"))["note"] == "the price is within the fee of the reference"
    for base_fee, kind in ((1, "arbitrage"), (gwei(500), "rest")):
        stage = Stage(replica(), [arbitrageur()], base_fee_wei=base_fee)
        assert of(stage.after("-0.0008"), "arb").kind == kind


def test_of_two_the_slower_finds_nothing_left() -> None:
    fast, slow = arbitrageur("fast", priority_fee_wei=2), arbitrageur("slow", priority_fee_wei=1)
    stage = Stage(replica(), [slow, fast], ordering="priority_fee")
    rows = stage.after("-0.1")
    assert [(row.agent, row.status) for row in rows] == [("fast", "success"), ("slow", "failed")]
    assert Erc20(stage.fork, "WETH").balance_of(slow.address) == RICH["WETH"]


def test_it_trades_what_it_has_and_stops_when_that_is_gone() -> None:
    arb = arbitrageur(capital={"WETH": 100 * WETH})
    stage = Stage(replica(), [arb])
    facts = details(of(stage.after("-0.2"), "arb"))
    assert facts["amount_in"] == 100 * WETH
    assert details(of(stage.step(), "arb"))["note"] == "there is no WETH to trade with"


def test_the_reference_may_be_the_processes_of_the_run() -> None:
    prices = PricePaths({"ETH": np.array([2_000.0, 2_000.0]), "USDC": np.array([1.0, 1.0])}, 12)
    arb = arbitrageur(reference=OutsidePrices({"WETH": "ETH"}))
    stage = Stage(replica(), [arb], prices=prices)
    stage.step()
    assert Fraction(arb.pool.price("WETH")) == pytest.approx(2_000 / 0.9995, rel=1e-12)
    quote = UniswapV3(stage.fork).quote_exact_input(("WETH", "USDC", 500), WETH)
    assert quote.amount_out == pytest.approx(2_000 * 10**6, rel=1e-4)


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(BadArgument, match="does not trade to 'moon'"):
        arbitrageur(to="moon")
    with pytest.raises(UnknownName, match="no pool of WETH and USDC with a fee of 123"):
        Stage(replica(), [arbitrageur(pool=("WETH", "USDC", 123))])
    stage = Stage(replica(), [arbitrageur(reference=FeedPrices({"WETH": ETH_FEED}))])
    with pytest.raises(UnknownName, match="unknown price 'USDC'"):
        stage.world.agents[0].reference.usd_e8(stage.world, "USDC")  # type: ignore[attr-defined]

"""The market's trades, prices and exits equal an independent integer model, to the unit, over random operations."""

from __future__ import annotations

import math
from collections import Counter
from random import Random

import pytest

from mayavi.errors import CallReverted, InsufficientBalance
from mayavi.protocols import PendleMarket
from mayavi.protocols.revert_context import reason_text
from tests.protocols.pendle.model import ONE, POWERS, Market, RefusedError, exp, ln
from tests.protocols.pendle.worlds import ALICE, DAY, MARKETS, Made, open_market

OPERATIONS = 250


def model_of(market: PendleMarket) -> Market:
    state = market.state
    return Market(
        state.scalar_root,
        0,  # the first anchor, which only the first liquidity needs
        state.ln_fee_rate_root,
        state.expiry,
        state.reserve_fee_percent,
        state.total_pt,
        state.total_sy,
        state.total_lp,
        state.last_ln_implied_rate,
    )


def same(market: PendleMarket, model: Market) -> None:
    state = market.state
    assert (state.total_pt, state.total_sy, state.total_lp, state.last_ln_implied_rate) == (
        model.pt,
        model.sy,
        model.lp,
        model.ln_rate,
    )


@pytest.mark.slow(0.3)
@pytest.mark.parametrize("made", MARKETS, ids=lambda made: made.token)
def test_random_trades_equal_the_model(made: Made) -> None:
    market, rng, done = open_market(made), Random(made.token), Counter[str]()
    fork, model = market.fork, model_of(market)
    for _ in range(OPERATIONS):
        kind = rng.choice(["sell", "sell", "buy", "buy", "add", "remove", "wait", "grow"])
        size = 10 ** rng.uniform(-6.5, 0.2)
        amount = max(1, int(market.state.total_pt * size))
        now, index = fork.timestamp, market.index_e18
        if kind == "wait":
            fork.mine(1, rng.choice([1, 12, 600, DAY // 7, made.days * DAY // 60]))
        elif kind == "grow":
            fork.mine(1, 12)  # the index is kept within a block
        elif kind in ("sell", "buy"):
            done[_trade(market, model, kind, amount, index, now)] += 1
        elif kind == "add" and size < 1 and now < market.expiry:
            added = market.add_liquidity(amount, amount, sender=ALICE)
            assert (added.lp, added.sy, added.pt) == model.add(*_sent(model, amount), index, now)
            done["add"] += 1
        elif kind == "remove" and size < 0.9:
            removed = market.remove_liquidity(max(1, int(model.lp * size / 10)), sender=ALICE)
            assert (removed.sy, removed.pt) == model.remove(removed.lp)
            done["remove"] += 1
        same(market, model)
        assert market.pt_price_e18() == model.price(fork.timestamp)
    assert done["sell"] >= 15
    assert done["buy"] >= 15
    assert sum(count for name, count in done.items() if name.startswith("Market")) >= 2


def _sent(model: Market, amount: int) -> tuple[int, int]:
    """Amounts that the adapter sends of equal ones: the market's proportion."""
    by_pt, by_sy = amount * model.lp // model.pt, amount * model.lp // model.sy
    if by_pt < by_sy:
        return -(-model.sy * by_pt // model.lp), amount
    return amount, -(-model.pt * by_sy // model.lp)


def _trade(market: PendleMarket, model: Market, kind: str, amount: int, index: int, now: int) -> str:
    """Trade on both; return the kind, or the error by which both refused."""
    act = market.sell_pt if kind == "sell" else market.buy_pt
    before = market.sy.balance_of(ALICE), market.pt.balance_of(ALICE)
    if before[1] < amount:
        with pytest.raises(InsufficientBalance):
            act(amount, sender=ALICE)
        return "poor"
    expected = _expected(model, kind, amount, index, now)
    if isinstance(expected, str):
        with pytest.raises(CallReverted) as caught:
            act(amount, sender=ALICE)
        assert reason_text(caught.value) in {expected, "negative"}
        assert (market.sy.balance_of(ALICE), market.pt.balance_of(ALICE)) == before
        return expected
    sy, fee = expected
    quote = market.quote_sell_pt(amount) if kind == "sell" else market.quote_buy_pt(amount)
    traded = act(amount, sender=ALICE)
    assert traded == quote == (amount, sy, fee)
    signs = (1, -1) if kind == "sell" else (-1, 1)
    after = market.sy.balance_of(ALICE), market.pt.balance_of(ALICE)
    assert after == (before[0] + signs[0] * sy, before[1] + signs[1] * amount)
    return kind


def _expected(model: Market, kind: str, amount: int, index: int, now: int) -> tuple[int, int] | str:
    """SY and fee of a trade by the model, or the name of the error by which it refuses."""
    try:
        return (model.sell if kind == "sell" else model.buy)(amount, index, now)
    except RefusedError as refused:
        return str(refused)


@pytest.mark.parametrize("made", MARKETS, ids=lambda made: made.token)
def test_the_exit_to_the_yield_token_equals_the_model_until_and_after_expiry(made: Made) -> None:
    market = open_market(made)
    fork, model, unit = market.fork, model_of(market), 10**market.pt.decimals
    for left_s in (made.days * DAY // 2, DAY, 3_600, 60, 1):
        fork.set_block(number=fork.block_number + 1, timestamp=market.expiry - left_s)
        expected = _expected(model, "sell", 1_000 * unit, market.index_e18, fork.timestamp)
        if isinstance(expected, str):  # a fee of less than one unit, seconds before expiry
            assert (expected, left_s < DAY) == ("MarketZeroNetLPFee", True)
            with pytest.raises(CallReverted, match=expected):
                market.exit_pt(1_000 * unit, sender=ALICE)
        else:
            assert market.exit_pt(1_000 * unit, sender=ALICE) == expected[0]
        same(market, model)
        assert market.pt_price_e18() == model.price(fork.timestamp)
    fork.set_block(number=fork.block_number + 1, timestamp=market.expiry)
    for after_s in (0, 1, 40 * DAY):
        fork.set_block(number=fork.block_number + 1, timestamp=market.expiry + after_s)
        index = market.index_e18
        assert market.pt_price_e18() == ONE
        assert market.quote_sell_pt(unit).amount_sy == unit * ONE // index
        assert market.exit_pt(unit, sender=ALICE) == unit * ONE // index
        with pytest.raises(CallReverted, match="MarketExpired"):
            market.add_liquidity(unit, unit, sender=ALICE)


def test_the_first_liquidity_sets_the_rate_that_was_asked_for() -> None:
    for made in MARKETS:
        market = open_market(made, liquid=False)
        unit, index = 10**market.sy.decimals, market.index_e18
        market.add_liquidity(10**6 * unit, 10**6 * unit * index // ONE, sender=ALICE)
        assert abs(float(market.implied_rate) / float(made.implied) - 1) < 1e-4


def test_the_models_logarithm_and_exponential_are_those_of_mathematics() -> None:
    assert [power for power, _ in POWERS[:3]] == [128 * 10**18, 64 * 10**18, 32 * 10**20]
    for number in (0.001, 0.3, 0.91, 1.0, 1.05, 2.5, 100.0, 1e9):
        assert math.isclose(ln(int(number * ONE)) / ONE, math.log(number), abs_tol=1e-14, rel_tol=1e-14)
    for number in (0.0, 1e-9, 0.05, 0.7, 3.3, 41.0):
        assert math.isclose(exp(int(number * ONE)) / ONE, math.exp(number), rel_tol=1e-14)


def test_a_wrong_model_is_caught() -> None:
    market = open_market(MARKETS[0])
    model = model_of(market)
    model.ln_fee_root += 1_000_000
    sold = market.quote_sell_pt(10**21)
    assert model.sell(10**21, market.index_e18, market.fork.timestamp) != (sold.amount_sy, sold.fee_sy)

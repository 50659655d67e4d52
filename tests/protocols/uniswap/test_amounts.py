"""Amounts by the first `Quoter`: those of QuoterV2, to the last unit, and its errors where there are none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mayavi.errors import CallReverted, MayaviError
from mayavi.protocols import UniswapV3
from mayavi.protocols.uniswap.pool import UniswapV3Pool
from tests.protocols.uniswap.worlds import WETH_USDC

BACK = (WETH_USDC[1], WETH_USDC[0], WETH_USDC[2])
TWO_POOLS = ("WBTC", 3000, "WETH", 500, "USDC")
TRADER = bytes.fromhex("00000000000000000000000000000000000a11ce")


def called(uniswap: UniswapV3, monkeypatch: pytest.MonkeyPatch, read: Callable[[], object]) -> set[str]:
    """Return the names of the contracts that `read` calls."""
    fork, names = uniswap.fork, set()
    for name in ("call", "call_many"):
        whole = getattr(fork, name)

        def noted(to, *rest, whole=whole, **options):  # type: ignore[no-untyped-def]
            names.add(fork.name(to))
            return whole(to, *rest, **options)

        monkeypatch.setattr(fork, name, noted)
    read()
    return names


def outcome(read: Callable[[], int]) -> int | str:
    """Return what `read` returns, or the text of its error."""
    try:
        return read()
    except CallReverted as error:
        return str(error)


@pytest.mark.parametrize(("route", "powers"), [(WETH_USDC, 64), (BACK, 64), (TWO_POOLS, 30)])
def test_amounts_are_those_of_quotes_from_one_unit_to_beyond_the_ticks_around_the_price(
    uniswap: UniswapV3, route: tuple[str | int, ...], powers: int
) -> None:
    amounts = [3**power for power in range(12 if route == TWO_POOLS else 0, powers, 3)]
    quotes = uniswap.quote_exact_inputs(route, amounts)
    assert route == TWO_POOLS or max(sum(quote.ticks_crossed) for quote in quotes) > 0
    assert uniswap.amounts_out(route, amounts) == [quote.amount_out for quote in quotes]
    for quote in quotes:
        if half := quote.amount_out // 2:
            expected = outcome(lambda: uniswap.quote_exact_output(route, half).amount_in)
            assert outcome(lambda: uniswap.amount_in(route, half)) == expected


@pytest.mark.parametrize("share", [1, 10, 1_000])
def test_a_price_limit_stops_amounts_where_it_stops_quotes(uniswap: UniswapV3, pool: UniswapV3Pool, share: int) -> None:
    for route in (WETH_USDC, BACK):
        downwards = uniswap.fork.address_of(route[0]) == pool.token0.address
        limit = pool.sqrt_price_x96 * (10_000 - share if downwards else 10_000 + share) // 10_000
        much = 2**127
        quote = uniswap.quote_exact_output(route, much, sqrt_price_limit_x96=limit)
        assert uniswap.amount_in(route, much, sqrt_price_limit_x96=limit) == quote.amount_in
        (amount,) = uniswap.amounts_out(route, [quote.amount_in], sqrt_price_limit_x96=limit)
        assert amount == uniswap.quote_exact_input(route, quote.amount_in, sqrt_price_limit_x96=limit).amount_out


def test_amounts_follow_the_price_after_swaps(uniswap: UniswapV3) -> None:
    uniswap.fork.deal("WETH", TRADER, 10**24)
    for power in range(16, 23):
        uniswap.swap_exact_input(WETH_USDC, 10**power, sender=TRADER)
        for amount in (10**6, 10**8, 10**10):
            assert uniswap.amount_in(WETH_USDC, amount) == uniswap.quote_exact_output(WETH_USDC, amount).amount_in
            assert uniswap.amounts_out(BACK, [amount]) == [uniswap.quote_exact_input(BACK, amount).amount_out]


def test_amounts_need_no_quoter_that_measures_gas(uniswap: UniswapV3, monkeypatch: pytest.MonkeyPatch) -> None:
    assert uniswap.amount_in(WETH_USDC, 10**6)
    assert called(uniswap, monkeypatch, lambda: uniswap.amount_in(WETH_USDC, 10**7)) == {"UniswapV3.Quoter"}
    assert called(uniswap, monkeypatch, lambda: uniswap.amounts_out(WETH_USDC, [10**15, 10**16])) == {
        "UniswapV3.Quoter"
    }


def test_without_its_own_quoter_amounts_come_from_the_second(
    uniswap: UniswapV3, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = uniswap.amount_in(WETH_USDC, 10**9)
    foreign, missing = UniswapV3(uniswap.fork.copy()), UniswapV3(uniswap.fork.copy())
    del missing.fork.labels["UniswapV3.Quoter"]
    foreign.fork.labels["UniswapV3.Quoter"] = foreign.fork.labels["AaveV3.Pool"]
    for other in (foreign, missing):
        assert other.amount_in(WETH_USDC, 10**9) == expected
        assert "UniswapV3.QuoterV2" in called(other, monkeypatch, lambda: other.amount_in(WETH_USDC, 10**9))  # noqa: B023


@pytest.mark.parametrize("amount", [2**200, 0, 2**255, -1, 1.5])
def test_amounts_that_cannot_be_quoted_fail_as_quotes_do(uniswap: UniswapV3, amount: int) -> None:
    with pytest.raises(MayaviError) as quoted:
        uniswap.quote_exact_output(WETH_USDC, amount)
    with pytest.raises(MayaviError) as read:
        uniswap.amount_in(WETH_USDC, amount)
    assert (type(read.value), str(read.value)) == (type(quoted.value), str(quoted.value))

"""Curve adapter on the replica's pools of three and two coins, and on mainnet's 3pool bytecode: what it is."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import permutations
from pathlib import Path

import pytest

from mayavi import Fork
from mayavi.errors import (
    ActionRefused,
    BadArgument,
    BadInteger,
    CallReverted,
    NoCode,
    UnknownName,
    UsageError,
)
from mayavi.protocols import CurveStableSwap
from tests.protocols.curve.worlds import ALICE, BOB, even, open_pool


def test_it_knows_its_coins_and_parameters(pool: CurveStableSwap) -> None:
    assert pool.symbols in [("DAI", "USDC", "USDT"), ("FRAX", "USDC")]
    assert pool.a in (2000, 1500)
    assert (pool.fee, pool.fee_e10, pool.admin_fee_e10) == (Decimal("0.0001"), 10**6, 5 * 10**9)
    assert pool.ramp == (pool.a, pool.a, 0, 0)
    assert pool.virtual_price == Decimal(pool.virtual_price_wad) / 10**18 == 1
    assert pool.lp_supply == pool.lp_token.balance_of("Mayavi.Market") > 10**24
    assert pool.admin_balances == (0,) * len(pool.coins)
    assert pool.balances == tuple(coin.balance_of(pool.address) for coin in pool.coins)


def test_a_coin_is_a_symbol_an_address_or_a_number(pool: CurveStableSwap) -> None:
    for i, coin in enumerate(pool.coins):
        assert {pool.index(name) for name in (i, coin.symbol, coin.address, "0x" + coin.address.hex())} == {i}


@pytest.mark.parametrize("coin", ["USDTT", "WETH", "Curve.3pool", b"\1" * 20])
def test_an_unknown_coin_is_named_with_those_there_are(pool: CurveStableSwap, coin: str | bytes) -> None:
    with pytest.raises(UnknownName, match="unknown coin of Curve") as caught:
        pool.quote(coin, "USDC", 1)
    assert ", ".join(pool.symbols) in str(caught.value.hint)


def test_what_cannot_be_asked_is_refused(pool: CurveStableSwap) -> None:
    with pytest.raises(BadArgument, match="has no coin 3"):
        pool.quote(3, 0, 1)
    with pytest.raises(BadArgument, match="USDC is not traded against itself"):
        pool.exchange("USDC", "USDC", 1, sender=ALICE)
    with pytest.raises(BadArgument, match=r"4 amounts for the \d coins"):
        pool.add_liquidity([1, 1, 1, 1], sender=ALICE)
    with pytest.raises(UnknownName):
        pool.add_liquidity({"WBTC": 1}, sender=ALICE)


def test_a_place_without_a_pool_is_refused(tripool: CurveStableSwap) -> None:
    with pytest.raises(NoCode):
        CurveStableSwap(tripool.fork, BOB)
    with pytest.raises(UsageError, match="WETH is not a StableSwap pool"):
        CurveStableSwap(tripool.fork, "WETH")
    with pytest.raises(UnknownName, match=r"unknown Curve pool 'Curve\.4pool'") as unknown:
        CurveStableSwap(tripool.fork, "Curve.4pool")
    assert "Curve pools here: Curve.3pool, Curve.fraxusdc" in str(unknown.value.hint)
    with pytest.raises(UnknownName, match="no Curve pool is known on base"):
        CurveStableSwap(Fork.replica("base"))
    with pytest.raises(UsageError, match="'ethereum' is not a fork"):
        CurveStableSwap("ethereum")  # type: ignore[arg-type]
    assert CurveStableSwap(tripool.fork, "3pool").address == tripool.address


def test_objects_of_another_fork_are_refused(tripool: CurveStableSwap) -> None:
    twin = CurveStableSwap(tripool.fork.copy())
    dai = tripool.coins[0]
    for ask in (
        lambda: twin.quote(dai, "USDC", 10**18),
        lambda: twin.exchange("DAI", "USDC", 10**18, sender=dai),
        lambda: twin.add_liquidity({dai: 1}, sender=ALICE),
        lambda: twin.remove_liquidity(1, sender=dai),
        lambda: CurveStableSwap(twin.fork, tripool),
        lambda: CurveStableSwap(twin.fork, lp_token=tripool.lp_token),
    ):
        with pytest.raises(UsageError, match="belongs to another fork"):
            ask()
    assert tripool.quote(dai, "USDC", 10**18) == twin.quote("DAI", "USDC", 10**18)


def test_amounts_are_integers_above_zero(pool: CurveStableSwap) -> None:
    pool.add_liquidity(even(pool, 10), sender=ALICE)
    before = pool.fork.digest()
    for ask in (
        lambda: pool.quote(0, 1, 1e18),  # type: ignore[arg-type]
        lambda: pool.quote_many(0, 1, [1e18]),  # type: ignore[list-item]
        lambda: pool.price_impact(0, 1, 1e18),  # type: ignore[arg-type]
        lambda: pool.exchange(0, 1, 1e18, sender=ALICE),  # type: ignore[arg-type]
        lambda: pool.quote_remove_one(1e18, 0),  # type: ignore[arg-type]
    ):
        with pytest.raises(BadInteger, match=r"^amount 1e\+18 is not an integer"):
            ask()
    for act, message in (
        (lambda: pool.quote(0, 1, 0), f"an exchange of 0 {pool.symbols[0]} moves nothing"),
        (lambda: pool.quote_many(0, 1, [1, 0]), f"an exchange of 0 {pool.symbols[0]} moves nothing"),
        (lambda: pool.exchange(0, 1, 0, sender=ALICE), f"an exchange of 0 {pool.symbols[0]} moves nothing"),
        (lambda: pool.add_liquidity({}, sender=ALICE), "a deposit of nothing"),
        (lambda: pool.remove_liquidity(0, sender=ALICE), "a withdrawal of 0 Curve"),
        (lambda: pool.remove_liquidity(sender=BOB), r"has no Curve\..*\.LP"),
        (lambda: pool.remove_liquidity_one_coin(0, 0, sender=ALICE), "a withdrawal of 0 Curve"),
        (lambda: pool.remove_liquidity_imbalance({}, sender=ALICE), "a withdrawal of nothing"),
    ):
        with pytest.raises(ActionRefused, match=message):
            act()
    for amounts in (5, "111"):
        with pytest.raises(BadArgument, match="are not amounts of the coins"):
            pool.add_liquidity(amounts, sender=ALICE)  # type: ignore[arg-type]
        with pytest.raises(BadArgument, match="are not several amounts"):
            pool.quote_many(0, 1, amounts)  # type: ignore[arg-type]
    assert pool.fork.digest() == before


def test_without_an_amount_all_shares_are_given_back(pool: CurveStableSwap) -> None:
    minted = pool.add_liquidity(even(pool, 1_000), sender=ALICE).minted
    with pool.fork.snapshot():
        assert pool.remove_liquidity(sender=ALICE).burned == minted
    assert pool.remove_liquidity_one_coin(None, "USDC", sender=ALICE).burned == minted
    assert pool.lp_token.balance_of(ALICE) == 0


def test_what_cannot_be_quoted_says_what_was_asked_and_what_the_pool_holds(pool: CurveStableSwap) -> None:
    much = 2**250
    for ask in (lambda: pool.quote(0, 1, much), lambda: pool.quote_many(0, 1, [10**18, much])):
        with pytest.raises(CallReverted, match=f"^a quote of {pool.coins[0].text(much)} for USDC on Curve") as refused:
            ask()
        assert f"it holds {pool.coins[0].text(pool.balances[0])}, " in str(refused.value.hint)
    with pytest.raises(CallReverted, match=r"^a quote of .*LP for USDC") as refused:
        pool.quote_remove_one(much, "USDC")
    assert str(refused.value.hint) == f"there are {pool.lp_token.text(pool.lp_supply)} in all"


def test_a_pool_that_does_not_name_its_lp_token_is_reported(tripool: CurveStableSwap) -> None:
    fork, lp_token = tripool.fork, tripool.lp_token.address
    assert CurveStableSwap(fork, tripool.address).lp_token.address == lp_token
    del fork.labels["Curve.3pool.LP"]
    with pytest.raises(UsageError, match="does not name its LP token"):
        _ = CurveStableSwap(fork, tripool.address).lp_token
    assert CurveStableSwap(fork, tripool.address, lp_token=lp_token).lp_supply > 0


def test_the_replica_and_mainnets_bytecode_answer_alike(cases: Path) -> None:
    ours, real = open_pool("3pool", None), open_pool("mainnet 3pool", cases)
    amounts = [10**k for k in range(15, 26)]
    for i, j in permutations(range(3), 2):
        assert ours.quote_many(i, j, amounts) == real.quote_many(i, j, amounts)


def test_a_fork_by_another_name_has_the_same_pool(tripool: CurveStableSwap) -> None:
    bare = Fork.from_state(tripool.fork.freeze(), labels={}, source={})
    pool = CurveStableSwap(bare, "0xbEbc44782C7dB0a1A60Cb6fe97d0b483032FF1C7", lp_token=tripool.lp_token.address)
    assert pool.symbols == ("DAI", "USDC", "USDT")
    assert pool.quote("DAI", "USDT", 10**21) == tripool.quote("DAI", "USDT", 10**21)
    assert pool.exchange("USDT", "DAI", 10**9, sender=ALICE).received > 999 * 10**18


def test_the_documented_example_prints_what_the_page_says(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (repository / "docs" / "reference" / "protocols" / "curve.md").read_text(encoding="utf-8")
    code, printed = re.findall(r"```(?:python)?\n(.*?)```", page, re.DOTALL)[:2]
    exec(code, {})
    assert capsys.readouterr().out == printed

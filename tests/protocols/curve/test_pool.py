"""Curve adapter on the replica's pools of three and two coins, and on mainnet's 3pool bytecode."""

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
    InsufficientBalance,
    NoCode,
    UnknownName,
    UsageError,
)
from mayavi.protocols import CurveStableSwap, Erc20
from tests.protocols.curve.worlds import ALICE, WORLDS, open_pool

BOB = bytes.fromhex("b0b0000000000000000000000000000000000002")
DAY = 86_400


@pytest.fixture(params=WORLDS)
def pool(request: pytest.FixtureRequest) -> CurveStableSwap:
    mainnet = request.param.startswith("mainnet")
    return open_pool(request.param, request.getfixturevalue("cases") if mainnet else None)


@pytest.fixture
def tripool() -> CurveStableSwap:
    return open_pool("3pool", None)


def whole(pool: CurveStableSwap, coin: int, amount: int) -> int:
    return amount * 10 ** pool.coins[coin].decimals


def even(pool: CurveStableSwap, amount: int) -> list[int]:
    return [whole(pool, i, amount) for i in range(len(pool.coins))]


# -- what it is --------------------------------------------------------------------------------------------------------


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


# -- exchanges ---------------------------------------------------------------------------------------------------------


def test_a_quote_is_what_an_exchange_gives(pool: CurveStableSwap) -> None:
    """Exact for coins with 18 decimals, else up to one unit less: the pool rounds a quote after its fee."""
    for i, j in permutations(range(len(pool.coins)), 2):
        for dx in [10**k for k in range(pool.coins[i].decimals - 4, pool.coins[i].decimals + 8)]:
            pool.fork.deal(pool.coins[i].address, ALICE, dx)
            with pool.fork.snapshot():
                quote = pool.quote(i, j, dx)
                received = pool.exchange(i, j, dx, sender=ALICE).received
                assert quote - received in ([0] if pool.coins[j].decimals == 18 else [0, 1]), (i, j, dx)


def test_a_batch_of_quotes_is_each_of_them(pool: CurveStableSwap) -> None:
    amounts = [whole(pool, 0, 1) * k for k in (1, 10, 10_000, 5_000_000)]
    assert pool.quote_many(0, 1, amounts) == [pool.quote(0, 1, dx) for dx in amounts]
    assert pool.quote_many(0, 1, []) == []


def test_a_limit_holds_to_the_unit_and_a_refusal_changes_nothing(pool: CurveStableSwap) -> None:
    dx = whole(pool, 0, 1_000)
    with pool.fork.snapshot():
        received = pool.exchange(0, 1, dx, sender=ALICE).received
    before = pool.fork.digest()
    with pytest.raises(CallReverted, match=f"^an exchange of 1,000 {pool.symbols[0]} for USDC on Curve") as refused:
        pool.exchange(0, 1, dx, received + 1, sender=ALICE)
    gives, asked = pool.coins[1].text(received), pool.coins[1].text(received + 1)
    assert refused.value.hint == f"it gives {gives} now, and {asked} were the least to take"
    assert pool.fork.digest() == before
    assert pool.exchange(0, 1, dx, received, sender=ALICE).received == received


def test_a_larger_trade_gets_a_worse_price(pool: CurveStableSwap) -> None:
    impacts = [pool.price_impact(0, 1, whole(pool, 0, size)) for size in (1, 10_000, 1_000_000, 8_000_000)]
    assert impacts[0] == 0
    assert impacts == sorted(impacts)
    assert impacts[-1] > impacts[1] > 0
    assert all(impact.as_tuple().exponent in (0, -18) for impact in impacts)


def test_there_and_back_again_loses(pool: CurveStableSwap) -> None:
    for i, j in permutations(range(len(pool.coins)), 2):
        dx = whole(pool, i, 10_000)
        there = pool.exchange(i, j, dx, sender=ALICE).received
        back = pool.exchange(j, i, there, sender=ALICE).received
        assert whole(pool, i, 9_990) < back < dx


def test_fees_are_shared_by_halves(pool: CurveStableSwap) -> None:
    before = pool.virtual_price_wad
    pool.exchange(0, 1, whole(pool, 0, 1_000_000), sender=ALICE)
    fee = whole(pool, 1, 100)
    assert pool.admin_balances[1] == pytest.approx(fee // 2, rel=1e-3)
    assert (pool.virtual_price_wad - before) * pool.lp_supply // 10**36 == pytest.approx(50, abs=1)


def test_what_an_account_lacks_is_said_before_anything_is_sent(pool: CurveStableSwap) -> None:
    before = pool.fork.digest()
    with pytest.raises(InsufficientBalance, match=f"has 0 {pool.symbols[0]}, but 5 {pool.symbols[0]}"):
        pool.exchange(0, 1, whole(pool, 0, 5), sender=BOB)
    with pytest.raises(InsufficientBalance):
        pool.add_liquidity(even(pool, 2_000_000), sender=ALICE)
    with pytest.raises(InsufficientBalance, match="LP"):
        pool.remove_liquidity(1, sender=BOB)
    with pytest.raises(InsufficientBalance, match="LP"):
        pool.remove_liquidity_one_coin(10**18, "USDC", sender=BOB)
    assert pool.fork.digest() == before


def test_approvals_are_exact_and_usdt_may_have_an_old_one(tripool: CurveStableSwap) -> None:
    usdt = Erc20(tripool.fork, "USDT")
    usdt.approve(tripool.address, 5, sender=ALICE)
    tripool.exchange("USDT", "DAI", 10**9, sender=ALICE)
    tripool.add_liquidity(even(tripool, 10), sender=ALICE)
    assert [coin.allowance(ALICE, tripool.address) for coin in tripool.coins] == [0, 0, 0]


# -- liquidity ---------------------------------------------------------------------------------------------------------


def test_a_deposit_gives_shares_and_a_withdrawal_takes_them(pool: CurveStableSwap) -> None:
    amounts = even(pool, 100_000)
    held = [coin.balance_of(ALICE) for coin in pool.coins]
    quote = pool.quote_add(amounts)
    minted = pool.add_liquidity(amounts, sender=ALICE).minted
    assert minted == pool.lp_token.balance_of(ALICE)
    assert quote * 9_999 // 10_000 < minted <= quote
    removed = pool.remove_liquidity(minted, sender=ALICE)
    assert removed.burned == minted
    assert pool.lp_token.balance_of(ALICE) == 0
    after = [coin.balance_of(ALICE) for coin in pool.coins]
    assert removed.received == tuple(b - (a - d) for a, b, d in zip(held, after, amounts, strict=True))
    assert 0 < value(pool, amounts) - value(pool, removed.received) < value(pool, amounts) // 1_000


def value(pool: CurveStableSwap, amounts: tuple[int, ...] | list[int]) -> int:
    """Value at par, with 18 decimals."""
    return sum(amount * 10 ** (18 - coin.decimals) for amount, coin in zip(amounts, pool.coins, strict=True))


def test_a_lopsided_deposit_pays_a_fee_that_its_quote_ignores(pool: CurveStableSwap) -> None:
    quote = pool.quote_add({"USDC": 10**11})
    assert pool.add_liquidity({"USDC": 10**11}, sender=ALICE).minted < quote


@pytest.mark.parametrize("part", [1, 3, 100])
def test_one_coin_alone_comes_as_quoted(pool: CurveStableSwap, part: int) -> None:
    shares = pool.add_liquidity(even(pool, 10_000), sender=ALICE).minted // part
    for i in range(len(pool.coins)):
        with pool.fork.snapshot():
            quote = pool.quote_remove_one(shares, i)
            removed = pool.remove_liquidity_one_coin(shares, i, quote, sender=ALICE)
            assert removed.received == tuple(quote if k == i else 0 for k in range(len(pool.coins)))
            assert removed.burned == shares
        with pytest.raises(CallReverted) as refused:
            pool.remove_liquidity_one_coin(shares, i, quote + 1, sender=ALICE)
        assert str(refused.value.hint).startswith(f"it gives {pool.coins[i].text(quote)} now")


def test_exact_amounts_cost_at_least_what_is_quoted(pool: CurveStableSwap) -> None:
    pool.add_liquidity(even(pool, 10_000), sender=ALICE)
    wanted = [whole(pool, i, 1_000 if i else 0) for i in range(len(pool.coins))]
    quote = pool.quote_remove(wanted)
    with pool.fork.snapshot():
        removed = pool.remove_liquidity_imbalance(wanted, sender=ALICE)
    assert removed.received == tuple(wanted)
    assert quote < removed.burned < quote * 1_001 // 1_000
    with pytest.raises(CallReverted) as refused:
        pool.remove_liquidity_imbalance(wanted, removed.burned - 1, sender=ALICE)
    costs, most = pool.lp_token.text(removed.burned), pool.lp_token.text(removed.burned - 1)
    assert refused.value.hint == f"it costs {costs} now, and {most} were the most to burn"
    with pytest.raises(InsufficientBalance, match=r"has 0 Curve.*LP, but"):
        pool.remove_liquidity_imbalance(wanted, sender=BOB)
    with pytest.raises(InsufficientBalance, match=f"{pool.name} has .*, but .* are wanted"):
        pool.remove_liquidity_imbalance({"USDC": 10**15}, sender=ALICE)
    pool.remove_liquidity_imbalance(wanted, removed.burned, sender=ALICE)


def test_balanced_withdrawal_keeps_to_its_limits(pool: CurveStableSwap) -> None:
    shares = pool.add_liquidity(even(pool, 10_000), sender=ALICE).minted
    with pool.fork.snapshot():
        received = pool.remove_liquidity(shares, sender=ALICE).received
    with pytest.raises(CallReverted) as refused:
        pool.remove_liquidity(shares, {"USDC": received[pool.index("USDC")] + 1}, sender=ALICE)
    assert str(refused.value.hint).startswith(f"it gives {pool.coins[0].text(received[0])}, ")
    with pytest.raises(CallReverted) as refused:
        pool.add_liquidity(even(pool, 1), 10**24, sender=ALICE)
    assert "were the least to take" in str(refused.value.hint)
    assert pool.remove_liquidity(shares, received, sender=ALICE).received == received


# -- A -----------------------------------------------------------------------------------------------------------------


def test_a_moves_in_a_straight_line(pool: CurveStableSwap) -> None:
    start, now = pool.a, pool.fork.timestamp
    pool.ramp_a(start * 2, now + 4 * DAY)
    assert pool.ramp == (start, start * 2, now, now + 4 * DAY)
    for quarter in range(1, 5):
        pool.fork.mine(7_200, seconds=DAY)
        assert pool.a == start + start * quarter // 4
    pool.fork.mine(7_200)
    assert pool.a == start * 2


def test_a_ramp_can_be_stopped(pool: CurveStableSwap) -> None:
    start = pool.a
    pool.ramp_a(start // 2, pool.fork.timestamp + 2 * DAY)
    pool.fork.mine(7_200)
    pool.stop_ramp_a()
    pool.fork.mine(7_200 * 10)
    assert pool.a == start - start // 4


def test_a_higher_a_flattens_the_price(pool: CurveStableSwap) -> None:
    dx = whole(pool, 0, 5_000_000)
    before = pool.quote(0, 1, dx)
    pool.ramp_a(pool.a * 5, pool.fork.timestamp + DAY)
    pool.fork.mine(7_200)
    assert pool.quote(0, 1, dx) > before


def test_only_the_owner_moves_a_and_only_slowly(pool: CurveStableSwap) -> None:
    end = pool.fork.timestamp + 2 * DAY
    before = pool.fork.digest()
    allowed = f"A is {pool.a} now and may go to {pool.a // 10} … {pool.a * 10}"
    owner = pool.fork.name(pool.owner)
    for future_a, time, sender, hint in [
        (pool.a * 2, end, ALICE, f"only the owner, {owner}, may"),
        (pool.a * 11, end, None, allowed),
        (pool.a // 11, end, None, allowed),
        (pool.a * 2, end - DAY - 1, None, f"it takes a day at least: give a time from {end - DAY} on"),
    ]:
        with pytest.raises(CallReverted, match=f"^ramp_A of {pool.name} reverted") as refused:
            pool.ramp_a(future_a, time, sender=sender)
        assert refused.value.hint == hint
    with pytest.raises(CallReverted) as refused:
        pool.stop_ramp_a(sender=ALICE)
    assert refused.value.hint == f"only the owner, {owner}, may"
    assert pool.fork.digest() == before
    pool.ramp_a(pool.a * 2, end)
    with pytest.raises(CallReverted) as refused:
        pool.ramp_a(pool.a * 3, end + DAY)
    assert "the last ramp began less than a day ago" in str(refused.value.hint)


# -- worlds ------------------------------------------------------------------------------------------------------------


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

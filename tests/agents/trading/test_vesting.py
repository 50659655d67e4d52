"""Tokens vest in OpenZeppelin's wallet and are sold by plan: at once, in parts, above a price."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from mayavi.agents import SellsAbove, SellsAtOnce, SellsOverSteps, VestingRecipientAgent
from mayavi.agents.trading.selling import SalePlan, Tranche
from mayavi.errors import BadArgument
from mayavi.protocols import Erc20, UniswapV3
from mayavi.protocols.uniswap.route import RouteLike
from mayavi.sim.rows import ActionRow
from tests.agents.stage import Stage, details, replica

BTC = 10**8
ROUTE = ("WBTC", "WETH", 3_000)
BLOCK_SECONDS = 12


def recipient(plan: SalePlan | None = None, **options: object) -> VestingRecipientAgent:
    given = {"token": "WBTC", "amount": 100 * BTC, "route": ROUTE, "plan": plan}
    return VestingRecipientAgent("team", **{**given, **options})  # type: ignore[arg-type]


def sums(rows: list[ActionRow], kind: str, fact: str) -> list[int]:
    return [details(row)[fact] for row in rows if row.kind == kind]


def test_a_cliff_is_released_in_its_block_and_not_a_block_before_and_sold_at_the_pools_own_price() -> None:
    team = recipient(start_seconds=3 * BLOCK_SECONDS)
    stage = Stage(replica(), [team])
    fork = stage.fork
    assert [row.kind for row in stage.steps(3)] == ["rest"] * 3
    assert Erc20(fork, "WBTC").balance_of(team.wallet.address) == 100 * BTC
    quote = UniswapV3(fork).quote_exact_input(ROUTE, 100 * BTC)
    rows = stage.step()
    assert [(row.kind, row.status) for row in rows] == [("release", "success"), ("sell", "success")]
    assert details(rows[0])["released"] == 100 * BTC
    facts = details(rows[1])
    assert (facts["sold"], facts["received"]) == (100 * BTC, quote.amount_out)
    assert facts["sqrt_price_after_x96"] == quote.sqrt_prices_after_x96[0] < facts["sqrt_price_before_x96"]
    assert Erc20(fork, "WETH").balance_of(team.address) == quote.amount_out
    assert Erc20(fork, "WBTC").balance_of(team.address) == Erc20(fork, "WBTC").balance_of(team.wallet.address) == 0
    assert [row.kind for row in stage.step()] == ["rest"]


def test_what_vests_in_a_line_is_released_block_by_block_and_all_of_it_in_the_end() -> None:
    team = recipient(duration_seconds=10 * BLOCK_SECONDS, amount=100 * BTC + 7)
    stage = Stage(replica(), [team])
    rows = stage.steps(12)
    released = sums(rows, "release", "released")
    assert released[0] == (100 * BTC + 7) // 10
    assert len(released) == 10
    assert sum(released) == sum(sums(rows, "sell", "sold")) == 100 * BTC + 7


def test_a_larger_unlock_moves_the_price_more() -> None:
    after = []
    for amount in (10, 100, 400):
        rows = Stage(replica(), [recipient(amount=amount * BTC)]).step()
        after.append(details(rows[-1])["sqrt_price_after_x96"])
    assert after[0] > after[1] > after[2]


def test_over_k_steps_each_tranche_is_sold_in_k_equal_parts() -> None:
    stage = Stage(replica(), [recipient(SellsOverSteps(3), amount=100 * BTC + 1)])
    rows = stage.steps(4)
    sold = sums(rows, "sell", "sold")
    assert sum(sold) == 100 * BTC + 1
    assert {part - 100 * BTC // 3 for part in sold} <= {0, 1}
    assert [row.kind for row in rows] == ["release", "sell", "sell", "sell", "rest"]


def test_parts_of_several_tranches_overlap_and_nothing_is_lost() -> None:
    stage = Stage(replica(), [recipient(SellsOverSteps(2), duration_seconds=2 * BLOCK_SECONDS)])
    rows = stage.steps(5)
    assert sums(rows, "release", "released") == [50 * BTC, 50 * BTC]
    assert sums(rows, "sell", "sold") == [25 * BTC, 50 * BTC, 25 * BTC]


def test_above_a_price_it_sells_down_to_it_and_waits() -> None:
    fork = replica()
    pool = UniswapV3(fork).pool(*ROUTE)
    least = Decimal("16.65")
    team = recipient(SellsAbove(str(least)))
    stage = Stage(fork, [team])
    facts = details(stage.step()[-1])
    assert 0 < facts["sold"] < 100 * BTC
    assert abs(pool.price("WBTC") / least - 1) < Decimal("1e-12")
    assert Decimal(facts["received"]) / facts["sold"] / 10**10 > least * Decimal("0.997")  # the fee comes on top
    (row,) = stage.step()
    assert row.kind == "rest"
    assert "the price is too low" in details(row)["note"]
    # Somebody buys, the price rises, and it goes on where it stopped.
    buyer = bytes([0xBB]) * 20
    fork.deal("WETH", buyer, 500 * 10**18)
    UniswapV3(fork).swap_exact_input(("WETH", "WBTC", 3_000), 500 * 10**18, sender=buyer)
    again = details(stage.step()[-1])
    assert again["sold"] > 0
    assert abs(pool.price("WBTC") / least - 1) < Decimal("1e-12")


@pytest.mark.parametrize(
    ("route", "low", "high"),
    [(("WBTC", 3_000, "WETH", 500, "USDC"), 40_000, 50_000), (("WETH", 3_000, "WBTC"), "0.05", "0.07")],
)
def test_a_threshold_works_over_several_pools_and_in_both_directions(
    route: RouteLike, low: int | str, high: int | str
) -> None:
    token = str(route[0])
    amount = BTC if token == "WBTC" else 10**18
    for threshold, kinds in ((low, ["release", "sell"]), (high, ["release"])):
        team = recipient(SellsAbove(threshold), token=token, amount=amount, route=route)
        rows = Stage(replica(), [team]).step()
        assert [(row.kind, row.status) for row in rows] == [(kind, "success") for kind in kinds]


def test_a_sale_that_fails_is_made_up_for_later() -> None:
    plan = SellsOverSteps(4)
    tranche = Tranche(100, since=10)
    assert [plan.due(tranche, step) for step in (10, 11, 12, 13, 99)] == [25, 50, 75, 100, 100]
    tranche.sold = 50
    assert plan.due(tranche, 12) == 25
    assert SellsAtOnce().due(tranche, 12) == SellsAbove(1).due(tranche, 12) == 50
    assert SellsAbove("0.5").least_price == Fraction(1, 2)


def test_what_cannot_vest_or_be_sold_is_refused() -> None:
    for wrong in (
        lambda: recipient(amount=0),
        lambda: recipient(start_seconds=-1),
        lambda: recipient(duration_seconds=-1),
        lambda: SellsOverSteps(0),
        lambda: SellsAbove(0),
        lambda: SellsAbove("dear"),
    ):
        with pytest.raises(BadArgument):
            wrong()

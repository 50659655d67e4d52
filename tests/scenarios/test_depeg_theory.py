"""Where bad debt begins, and that a deeper shock never makes less of it.

An account has collateral worth C, owes D, and opened with the health factor HF = LT·C / D, LT being the liquidation
threshold. A shock s leaves it C' = (1 − s)·C and a health factor of (1 − s)·HF, so it can be liquidated exactly where
s > 1 − 1/HF.

A liquidator pays x of the debt and takes collateral worth (1 + bonus)·x from the borrower. The protocol's fee is a part
of what is taken: it goes to the treasury instead of the liquidator, and does not change what the borrower loses. So the
whole debt can be paid exactly where (1 + bonus)·D ≤ C'. With C = HF·D / LT that is

    s ≤ 1 − LT·(1 + bonus) / HF ,

and beyond it a debt of D − C' / (1 + bonus) is left with nothing behind it.

The close factor allows half of a debt at a time while the health factor is above 0.95. At the threshold the health
factor is LT·(1 + bonus), 0.87 for WETH on Ethereum: below 0.95 wherever LT·(1 + bonus) < 0.95, so all of it may be paid
at once there. Above 0.95 the collateral is worth more than 0.95 / LT > 1 + bonus times the debt: what is left after a
half is paid has a higher ratio of collateral to debt than before, and paying again ends in health, never in bad debt.

Rounding: the pool rounds prices times amounts to 1e-8 dollars and amounts to a token's unit, 1e-6 dollars for USDC, and
interest of two blocks is 1e-8 of the debt. For an account of 10,000 dollars all of it moves the threshold by less than
1e-7, and the two sides are tested 1e-5 away from it.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest

from mayavi.protocols.aave.market import AaveV3
from mayavi.protocols.aave.rules.liquidation import FULL_CLOSE_BELOW_WAD
from mayavi.scenarios.models.config import CHAINS
from tests.scenarios.play import Played, play

MARGIN = Decimal("0.00001")
DUST_USD_E8 = 1_000
"""The last unit of debt pays for a whole unit of collateral or for none: some 1e-7 dollars of it stay behind."""
SHOCKS = ["-1%", "-6%", "-15%", "-20%", "-30%", "-40%", "-55%", "-75%"]


def shocked(size: object, chain: str = "ethereum", *, count: int = 1, health: str = "1.25", seed: int = 7) -> Played:
    """Borrowers who do nothing, a fall of WETH by `size` in step 1, and a liquidator without friction."""
    collateral = "5 WETH" if count == 1 else "WETH"
    borrowers = f"{{kind: borrower, count: {count}, collateral: {collateral}, debt: USDC, health_factor: {health}}}"
    return play(
        "depeg_cascade",
        chain=chain,
        steps=2,
        seed=seed,
        overrides=[
            "step_time=30s",
            f"prices.WETH={{process: step, at: 1, size: {size}}}",
            f"agents={{borrowers: {borrowers}, liquidators: {{kind: liquidator, frictionless: true}}}}",
            "gas={}",
        ],
    )


def parameters(played: Played) -> tuple[Fraction, Fraction, Fraction]:
    """Liquidation threshold, 1 + bonus and the health factor before the shock, exact."""
    configuration = AaveV3(played.built.world.fork).reserve("WETH").configuration
    opened = next(row for row in played.snapshots if (row.subject, row.metric, row.step) == HEALTH)
    return (
        Fraction(configuration.liquidation_threshold_bps, 10_000),
        Fraction(configuration.liquidation_bonus_bps, 10_000),
        Fraction(int(opened.value), 10**18),
    )


HEALTH = ("borrowers", "health_factor", 0)


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("health", ["1.05", "1.25", "2"])
def test_bad_debt_begins_where_the_bonus_no_longer_fits(chain: str, health: str) -> None:
    threshold, bonus, opened = parameters(shocked("-1%", chain, health=health))
    assert threshold * bonus < Fraction(FULL_CLOSE_BELOW_WAD, 10**18)  # as the derivation assumes
    breaking = Decimal((1 - threshold * bonus / opened).numerator) / (1 - threshold * bonus / opened).denominator

    covered = shocked(-(breaking - MARGIN), chain, health=health)
    assert covered.kpis["liquidations"] >= 1
    assert covered.kpis["bad_debt"] == 0

    beyond = shocked(-(breaking + MARGIN), chain, health=health)
    assert beyond.kpis["liquidations"] >= 1
    assert beyond.kpis["bad_debt"] > 0
    assert beyond.kpis["collateral"] < DUST_USD_E8


@pytest.mark.parametrize("size", ["-40%", "-60%", "-90%"])
def test_what_is_left_is_the_debt_less_what_the_collateral_pays_for(size: str) -> None:
    played = shocked(size)
    threshold, bonus, opened = parameters(played)
    del threshold, opened
    before = {row.metric: int(row.value) for row in played.snapshots if (row.subject, row.step) == ("borrowers", 0)}
    left = 1 + Fraction(size.rstrip("%")) / 100
    expected = before["debt"] - before["collateral"] * left / bonus
    assert played.kpis["bad_debt"] == pytest.approx(float(expected), rel=1e-6)


@pytest.mark.parametrize("health", ["1.05", "1.5"])
def test_an_account_can_be_liquidated_exactly_where_its_health_factor_falls_below_one(health: str) -> None:
    _, _, opened = parameters(shocked("-1%", health=health))
    edge = Decimal((1 - 1 / opened).numerator) / (1 - 1 / opened).denominator
    assert shocked(-(edge - MARGIN), health=health).kpis["liquidations"] == 0
    assert shocked(-(edge + MARGIN), health=health).kpis["liquidations"] >= 1


def test_between_one_and_the_full_close_half_a_debt_at_a_time_leaves_no_bad_debt() -> None:
    played = shocked("-21.5%", health="1.25")  # to a health factor of 0.98
    (taken,) = played.details("liquidate")
    assert Fraction(int(taken["borrower_health_factor_wad"]), 10**18) > Fraction(95, 100)
    assert int(taken["borrower_debt_after_e8"]) > 0
    assert played.kpis["bad_debt"] == 0
    assert played.kpis["liquidatable_accounts"] == 0


@pytest.mark.slow(1)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_deeper_shock_never_shrinks_who_is_liquidated_nor_the_bad_debt(seed: int) -> None:
    crowd = "{uniform: [1.02, 2.6]}"
    runs = [shocked(size, count=40, health=crowd, seed=seed) for size in SHOCKS]
    victims = [{facts["borrower"] for facts in run.details("liquidate")} for run in runs]
    bad_debts = [run.kpis["bad_debt"] for run in runs]
    for fewer, more in pairwise(victims):
        assert fewer <= more
    assert bad_debts == sorted(bad_debts)
    # The test says something only where both grow from nothing to nearly all.
    assert not victims[0]
    assert len(victims[-1]) == 40
    assert bad_debts[2] == 0 or bad_debts[0] == 0
    assert bad_debts[-1] > bad_debts[-3] > 0
    for run in runs:
        assert run.kpis["liquidatable_accounts"] == 0  # made healthy, or nothing left to take

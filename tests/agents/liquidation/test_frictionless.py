"""Liquidation without friction: nobody stays liquidatable who has collateral, and where bad debt begins."""

from __future__ import annotations

import pytest

from mayavi.agents import BorrowerPopulation, FrictionlessLiquidator
from mayavi.agents.lending.open_market import lending_market
from mayavi.markets.distributions import Uniform
from mayavi.protocols import Erc20
from tests.agents.liquidation.places import PLACES, Place, liquidated
from tests.agents.stage import Stage, details, replica


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("fall", ["-0.18", "-0.3", "-0.6"])
def test_without_friction_nobody_stays_liquidatable_who_has_collateral(place: Place, fall: str) -> None:
    people = BorrowerPopulation(
        "crowd",
        members=15,
        collateral="WETH",
        collateral_amount=Uniform(1, 9),
        debt=place.debt,
        target=Uniform(1.1, 1.6),
        market=place.market,
    )
    bot = FrictionlessLiquidator(
        "bot", watch=people.accounts, collaterals=["WETH"], debts=[place.debt], market=place.market
    )
    stage = Stage(replica(place.chain), [people, bot])
    rows = liquidated(stage.after(fall))
    assert rows
    assert all(row.status == "success" for row in rows)
    healths = people.loan.lending.healths(people.addresses)
    for member in range(15):
        assert healths[member].collateral_value_e8 < 100 or not healths.liquidatable[member]
    assert Erc20(stage.fork, "WETH").balance_of(bot.address) == sum(details(row)["seized"] for row in rows)


def test_bad_debt_begins_where_the_collateral_does_not_pay_debt_and_bonus() -> None:
    """s > 1 − LT·(1 + bonus)/HF, with the whole bonus: the treasury's share of it is the borrower's loss too."""
    target, threshold, bonus = 1.5, 0.83, 0.05
    edge = 1 - threshold * (1 + bonus) / target

    def left(fall: float) -> int:
        alice = Place().borrower(target=str(target))
        bot = FrictionlessLiquidator("bot", watch=("alice",), collaterals=["WETH"], debts=["USDC"])
        stage = Stage(replica(), [alice, bot])
        stage.after(f"-{fall:.6f}")
        health = lending_market(stage.fork, "AaveV3").account(alice.address).health()
        return health.debt_value_e8 if health.collateral_value_e8 == 0 else 0

    assert left(edge - 0.001) == 0
    assert left(edge + 0.001) > 0
    assert left(edge + 0.1) > left(edge + 0.001)

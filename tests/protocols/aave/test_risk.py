"""Health and liquidation prices as pure arithmetic, for both rules of the pools."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.protocols.aave.risk import (
    NO_DEBT,
    Health,
    Holding,
    health_by_average,
    health_by_sum,
    liquidation_price,
    withdrawable,
)
from mayavi.protocols.aave.rules.generation import Generation

WAD = 10**18
RULES = pytest.mark.parametrize("rule", [health_by_average, health_by_sum])
WETH = Holding(collateral=WAD, debt=0, unit=WAD, price=2_000 * 10**8, liquidation_threshold_bps=8_000)
USDC = Holding(collateral=0, debt=1_000 * 10**6, unit=10**6, price=10**8, liquidation_threshold_bps=7_500)

holdings = st.lists(
    st.builds(
        Holding,
        collateral=st.integers(0, 10**24),
        debt=st.integers(0, 10**22),
        unit=st.sampled_from([10**6, 10**8, 10**18]),
        price=st.integers(1, 10**13),
        liquidation_threshold_bps=st.sampled_from([0, 4_100, 7_800, 8_300, 9_300]),
    ),
    min_size=1,
    max_size=4,
)


@RULES
def test_by_hand(rule: Health) -> None:
    assert rule([WETH, USDC]) == 16 * WAD // 10
    assert rule([WETH]) == NO_DEBT
    assert rule([USDC]) == 0
    assert liquidation_price([WETH, USDC], 0, rule) == 1_250 * 10**8 - 1


def test_debt_counts_up_in_one_and_down_in_the_other() -> None:
    dust = replace(USDC, debt=1, price=99)
    assert health_by_average([WETH, dust]) == NO_DEBT
    assert health_by_sum([WETH, dust]) == 1_600 * 10**8 * WAD


@RULES
def test_no_price_where_none_matters(rule: Health) -> None:
    assert liquidation_price([WETH], 0, rule) is None
    assert liquidation_price([WETH, replace(USDC, collateral=5_000 * 10**6)], 0, rule) is None
    assert liquidation_price([replace(WETH, liquidation_threshold_bps=0), USDC], 0, rule) is None
    assert liquidation_price([replace(WETH, collateral=0), USDC], 0, rule) is None


@RULES
@given(each=holdings, data=st.data())
def test_at_the_price_unhealthy_one_above_healthy(rule: Health, each: list[Holding], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(each) - 1))
    price = liquidation_price(each, index, rule)

    def health(price: int) -> int:
        return rule([*each[:index], replace(each[index], price=price), *each[index + 1 :]])

    if price is None:
        assert health(1) >= WAD or health(1 << 127) < WAD
    else:
        assert health(price) < WAD <= health(price + 1)


@pytest.mark.parametrize(
    ("revision", "rule"), [(1, health_by_average), (3, health_by_average), (9, health_by_sum), (10, health_by_sum)]
)
def test_the_rule_follows_the_revision_of_the_pool(revision: int, rule: Health) -> None:
    mixed = [
        WETH,
        replace(WETH, collateral=WAD // 3, liquidation_threshold_bps=7_777),
        replace(USDC, debt=1_234_567_891),
    ]
    assert health_by_average(mixed) != health_by_sum(mixed)
    assert Generation(revision).rules.health(mixed) == rule(mixed)


@RULES
@given(each=holdings, data=st.data())
def test_what_can_be_withdrawn_leaves_health_and_one_more_does_not(
    rule: Health, each: list[Holding], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(each) - 1))

    def left(amount: int) -> int:
        rest = replace(each[index], collateral=each[index].collateral - amount)
        return rule([*each[:index], rest, *each[index + 1 :]])

    most = withdrawable(each, index, rule)
    assert most == 0 or left(most) >= WAD
    if rule is health_by_sum:  # with an average cut to basis points there may be more than one step
        assert most == each[index].collateral or left(most + 1) < WAD

"""Another length of a step keeps the market: total time, moments of shocks, rates."""

from __future__ import annotations

import pytest

from mayavi.errors import UsageError
from mayavi.scenarios.build.build import pace
from mayavi.scenarios.loading import load_scenario, load_text
from mayavi.scenarios.models.config import ScenarioConfig
from mayavi.scenarios.run.step_length import StepLength


def total_seconds(config: ScenarioConfig) -> int:
    return config.steps * pace(config)[1]


@pytest.mark.parametrize("name", ["depeg_cascade", "curve_depeg", "vesting_cliff", "multi_cohort", "aave_borrower"])
def test_half_as_long_steps_take_the_same_time(name: str) -> None:
    base = load_scenario(name).config
    length = StepLength.of(base)
    half = load_scenario(name, overrides=length.overrides(length.values[0])).config
    assert pace(half)[1] * 2 == pace(base)[1]
    assert total_seconds(half) == total_seconds(base)


def test_moments_are_counted_in_the_new_steps() -> None:
    base = load_scenario("curve_depeg").config
    assert StepLength.of(base).overrides("30m") == (
        "step_time=30m",
        "steps=48",
        "prices.USDC.at=2",
        "prices.USDC.steps=16",
    )


def test_amounts_in_each_step_follow() -> None:
    length = StepLength.of(load_scenario("multi_cohort").config)
    found = dict(each.split("=") for each in length.overrides("12h"))
    assert found["agents.traders.trades_a_step"] == "4"
    assert found["agents.team.over"] == "10"


def test_what_cannot_stay_the_same_is_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match=r"prices\.USDC\.at would be 0\.5"):
        StepLength.of(load_scenario("curve_depeg").config).overrides("2h")
    with pytest.raises(UsageError, match=r"such a step has 2 blocks, and the same total time needs 2\.5"):
        StepLength.of(load_scenario("launch_replay").config).overrides("30s")
    with pytest.raises(UsageError, match=r"steps would be 4\.8"):
        StepLength.of(load_scenario("depeg_cascade", steps=24).config).overrides("5h")
    with pytest.raises(UsageError, match="is no length of a step"):
        StepLength.of(load_scenario("depeg_cascade").config).overrides("soon")


def test_prices_step_by_step_cannot_be_stretched() -> None:
    text = """
name: path
chain: ethereum
steps: 4
step_blocks: 10
agents: {shock: {kind: oracle_shock, asset: WETH, path: [2000, 1900]}}
"""
    length = StepLength.of(load_text(text).config)
    assert length.values == ("5", "20")
    with pytest.raises(UsageError, match=r"agents\.shock\.path has a value for each step"):
        length.overrides("5")

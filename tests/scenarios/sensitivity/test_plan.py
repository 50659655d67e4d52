"""Moves of a sensitivity analysis: which assumptions, which values, and clear errors for wrong ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from mayavi.errors import UnknownName, UsageError
from mayavi.scenarios.loading import Scenario, load_scenario, load_text
from mayavi.scenarios.sensitivity.plan import AssumptionMove, Given, Skipped, parse_given, plan_moves


def load(name: str, grid: Sequence[str]) -> Scenario:
    return load_scenario(name, grid=grid)


def planned(name: str, given: Given = (), only: Sequence[str] = ()) -> tuple[list[AssumptionMove], list[Skipped]]:
    return plan_moves(load_scenario(name), partial(load, name), given, only)


def moves(name: str, given: Given = (), only: Sequence[str] = ()) -> list[tuple[str, str]]:
    return [(each.assumption.path, each.value) for each in planned(name, given, only)[0]]


def test_each_move_changes_one_assumption_of_the_scenario() -> None:
    found, skipped = planned("depeg_cascade")
    assert len({each.scenario.text for each in found}) == len(found)
    base = load_scenario("depeg_cascade").config
    by_path = {(each.assumption.path, each.value): each.scenario.config for each in found}
    assert by_path["gas.base_fee", "40 gwei"] == base.model_copy(
        update={"gas": base.gas.model_copy(update={"base_fee": 40 * 10**9})}
    )
    assert by_path["step_time", "30m"].steps == 48
    assert {each.path for each in skipped} >= {"agents.borrowers.priority_fee", "agents.liquidators.least_profit"}
    assert {each.reason for each in skipped} == {"is 0, which has no half and no double"}


def test_only_takes_paths_beginnings_and_patterns() -> None:
    assert moves("depeg_cascade", only=["gas.base_fee"]) == [("gas.base_fee", "10 gwei"), ("gas.base_fee", "40 gwei")]
    assert {path for path, _ in moves("depeg_cascade", only=["gas"])} == {"gas.base_fee", "gas.priority_fee"}
    assert {path for path, _ in moves("depeg_cascade", only=["agents.*.capital"])} == {
        "agents.liquidators.capital",
        "agents.arbitrageur.capital",
    }
    with pytest.raises(UnknownName, match=r"unknown assumption 'gas\.base_fees'") as caught:
        moves("depeg_cascade", only=["gas.base_fees"])
    assert "did you mean 'gas.base_fee'?" in str(caught.value.hint)


def test_values_of_ones_own_replace_the_defaults_or_add_keys() -> None:
    given = {"gas.base_fee": ["5 gwei", "80 gwei"], "prices.WETH.size": ["-20%", "-40%"]}
    assert moves("depeg_cascade", given, only=["agents.liquidators.count"]) == [
        ("gas.base_fee", "5 gwei"),
        ("gas.base_fee", "80 gwei"),
        ("prices.WETH.size", "-20%"),
        ("prices.WETH.size", "-40%"),
        ("agents.liquidators.count", "1"),
        ("agents.liquidators.count", "4"),
    ]
    (size,) = {each.assumption.base for each in planned("depeg_cascade", given)[0] if "size" in each.assumption.path}
    assert size == "-30%"
    capital = "agents.liquidators.capital={USDC: 5, DAI: 6},{USDC: 7}"
    assert parse_given([capital]) == {"agents.liquidators.capital": ["{USDC: 5, DAI: 6}", "{USDC: 7}"]}
    share = planned("depeg_cascade", ["agents.borrowers.behaviour.panic=40%"], only=["gas"])[0][0]
    assert share.overrides == ("agents.borrowers.behaviour={hold: 0.466666666667, band: 0.133333333333, panic: 0.4}",)
    assert moves("depeg_cascade", {"step_time": ["15m"]}, only=["gas"])[0] == ("step_time", "15m")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("gas.base_fee", "'--assumption gas.base_fee' gives no values"),
        ("gas.base_fee=5 gwei,", "gives no values"),
        ("=1,2", "gives no values"),
        ("gas.base_fee=40 gwei,40 gwei", "40 gwei and 40 gwei are the same value"),
        ("agents.borrowers.cash=0.3,30%", r"0\.3 and 30% are the same value"),
        ("gas.base_fee=20 gwei", "the scenario has this value already"),
        ("agents.liquidators.cout=1,2", r"--assumption agents\.liquidators\.cout=1: unknown key 'cout'"),
        ("agents.nobody.count=1,2", "there is no 'nobody' in agents"),
        ("agents.liquidators.count=0,2", r"--assumption agents\.liquidators\.count=0: agents\.liquidators\.count is"),
        ("gas.base_fee=7,9", "without a unit"),
        ("step_time=7h,2h", "which is not a whole number"),
    ],
)
def test_wrong_values_are_refused_by_their_option(given: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        planned("depeg_cascade", [given])
    assert caught.value.exit_code == 2
    assert "--grid" not in str(caught.value)


def test_an_assumption_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'gas\.base_fee' is given to --assumption twice"):
        planned("depeg_cascade", ["gas.base_fee=5 gwei", "gas.base_fee=6 gwei"])


def test_values_that_the_scenario_refuses_are_skipped_with_the_reason() -> None:
    _, skipped = planned("multi_cohort")
    found = {(each.path, each.value): each.reason for each in skipped}
    assert found["agents.investors.sells", "threshold"].startswith("agents.investors sells above a threshold without")
    assert found["step_time", "2d"] == "agents.team.over would be 2.5, which is not a whole number"


def test_a_scenario_without_assumptions_says_so() -> None:
    text = """
name: bare
chain: ethereum
steps: 1
step_blocks: 2
agents: {shock: {kind: oracle_shock, asset: WETH, size: -10%}}
"""
    with pytest.raises(UsageError, match="'bare' has no assumption to move") as caught:
        plan_moves(load_text(text), lambda grid: load_text(text, overrides=grid))
    assert "step_blocks to 4: steps would be 0.5" in str(caught.value.hint)

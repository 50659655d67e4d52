"""Another length of a step keeps the market: total time, moments of shocks, rates."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

import pytest
from pydantic import BeforeValidator

from mayavi.errors import UsageError
from mayavi.scenarios.build.agents import registry
from mayavi.scenarios.build.build import pace
from mayavi.scenarios.loading import Scenario, load_scenario, load_text
from mayavi.scenarios.models.agents.shared import AgentSettings
from mayavi.scenarios.models.assumptions.found import find_assumptions
from mayavi.scenarios.models.assumptions.marks import Mark
from mayavi.scenarios.models.config import ScenarioConfig
from mayavi.scenarios.models.values.quantities import Share
from mayavi.scenarios.sensitivity.step_length import StepLength
from mayavi.settings.document import Document
from mayavi.settings.model import Model


def length_of(scenario: Scenario) -> StepLength:
    return StepLength.of(scenario.config, Document.parse(scenario.text, scenario.origin).data)


def total_seconds(config: ScenarioConfig) -> int:
    return config.steps * pace(config)[1]


@pytest.mark.parametrize("name", ["depeg_cascade", "curve_depeg", "vesting_cliff", "multi_cohort", "aave_borrower"])
def test_half_as_long_steps_take_the_same_time(name: str) -> None:
    base = load_scenario(name).config
    length = length_of(load_scenario(name))
    half = load_scenario(name, overrides=length.overrides(length.values[0])).config
    assert pace(half)[1] * 2 == pace(base)[1]
    assert total_seconds(half) == total_seconds(base)


def test_moments_are_counted_in_the_new_steps() -> None:
    assert length_of(load_scenario("curve_depeg")).overrides("30m") == (
        "step_time=30m",
        "steps=48",
        "prices.USDC.at=2",
        "prices.USDC.steps=16",
    )


def test_amounts_in_each_step_follow() -> None:
    length = length_of(load_scenario("multi_cohort"))
    found = dict(each.split("=") for each in length.overrides("12h"))
    assert found["agents.traders.trades_a_step"] == "4"
    assert found["agents.team.over"] == "10"


def test_what_cannot_stay_the_same_is_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match=r"prices\.USDC\.at would be 0\.5"):
        length_of(load_scenario("curve_depeg")).overrides("2h")
    with pytest.raises(UsageError, match=r"such a step has 2 blocks, and the same total time needs 2\.5"):
        length_of(load_scenario("launch_replay")).overrides("30s")
    with pytest.raises(UsageError, match=r"steps would be 4\.8"):
        length_of(load_scenario("depeg_cascade", steps=24)).overrides("5h")
    with pytest.raises(UsageError, match="is not a valid length of a step"):
        length_of(load_scenario("depeg_cascade")).overrides("soon")


def test_prices_step_by_step_cannot_be_stretched() -> None:
    text = """
name: path
chain: ethereum
steps: 4
step_blocks: 10
agents: {shock: {kind: oracle_shock, asset: WETH, path: [2000, 1900]}}
"""
    length = length_of(load_text(text))
    assert length.values == ("5", "20")
    with pytest.raises(UsageError, match=r"agents\.shock\.path has a value for each step"):
        length.overrides("5")


class Plan(Model):
    """A change of a plan at a step."""

    at: Annotated[int, Mark.IN_STEPS]
    share: Share = Decimal("0.5")


class Planner(AgentSettings):
    """A kind that Mayavi does not have, with a list of plans or a single one."""

    kind: Literal["planner"]
    plans: Annotated[list[Plan], BeforeValidator(lambda value: value if isinstance(value, list) else [value])]


@pytest.mark.parametrize(
    ("written", "paths"),
    [("{at: 2}", ["agents.p.plans.at"]), ("[{at: 2}, {at: 4}]", ["agents.p.plans.0.at", "agents.p.plans.1.at"])],
)
def test_marks_inside_lists_are_found_as_the_file_writes_them(
    monkeypatch: pytest.MonkeyPatch, written: str, paths: list[str]
) -> None:
    monkeypatch.setattr(registry, "_kinds", dict(registry._kinds))
    registry.agent_kind(Planner)(lambda agents, name, model: [])
    text = f"""
name: plans
chain: ethereum
steps: 6
step_time: 2h
agents: {{p: {{kind: planner, plans: {written}}}}}
"""
    scenario = load_text(text)
    overrides = length_of(scenario).overrides("1h")
    assert [each.partition("=")[0] for each in overrides[2:]] == paths
    moved = load_text(text, overrides=overrides).config.agents["p"]
    assert isinstance(moved, Planner)
    assert [plan.at for plan in moved.plans] == [4, 8][: len(paths)]
    data = Document.parse(scenario.text, "plans").data
    shares = [each for each in find_assumptions(scenario.config, data) if each.path.endswith(".share")]
    assert [each.path for each in shares] == [path.replace(".at", ".share") for path in paths]
    for each in shares:
        load_text(text, overrides=each.overrides("40%"))

"""Assumptions are found from the models of a scenario, each with values that the scenario accepts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from mayavi.errors import UsageError
from mayavi.scenarios.build.agents import registry
from mayavi.scenarios.document_kind import SCENARIO
from mayavi.scenarios.loading import Scenario, load_scenario, load_text
from mayavi.scenarios.models.agents.shared import AgentSettings, Count
from mayavi.scenarios.models.assumptions.found import Assumption, find_assumptions
from mayavi.scenarios.models.assumptions.marks import Mark, question_fields
from mayavi.scenarios.models.assumptions.rules import rule_of
from mayavi.scenarios.models.config import NewPool
from mayavi.scenarios.models.prices import _Process
from mayavi.scenarios.models.values.distributions import Distribution, Uniform
from mayavi.scenarios.models.values.quantities import (
    NotNegative,
    PositiveRatio,
    Seconds,
    Share,
    Symbol,
    TokenAmount,
    Wei,
)
from mayavi.scenarios.registry import names
from mayavi.settings.document import Document


def assumptions_of(scenario: Scenario) -> dict[str, Assumption]:
    data = Document.parse(scenario.text, scenario.origin, kind=SCENARIO).data
    return {each.path: each for each in find_assumptions(scenario.config, data)}


RUNNABLE = [name for name in names() if name != "svm_launch_replay"]


@pytest.mark.parametrize("name", RUNNABLE)
def test_the_base_of_every_assumption_reads_back_as_the_same_scenario(name: str) -> None:
    scenario = load_scenario(name)
    found = assumptions_of(scenario)
    assert found
    written = [override for each in found.values() for override in each.overrides(each.base)]
    assert load_scenario(name, overrides=written).config == scenario.config
    assert all(bool(each.values) != bool(each.unmoved) for each in found.values())


def test_the_question_is_no_assumption_and_defaults_that_nobody_wrote_are() -> None:
    found = assumptions_of(load_scenario("depeg_cascade"))
    assert not [path for path in found if path.startswith(("agents.borrowers.count", "agents.borrowers.size_usd"))]
    assert not [path for path in found if path.endswith((".protocol", ".kind", ".process", ".size", ".at", "steps"))]
    for path in (
        "agents.liquidators.count",
        "agents.liquidators.capital",
        "agents.liquidators.priority_fee",
        "agents.liquidators.least_profit",  # a default
        "agents.arbitrageur.capital",
        "agents.borrowers.behaviour.panic",
        "agents.borrowers.band",
        "agents.borrowers.cash",
        "prices.WETH.then.volatility",
        "prices.WETH.then.drift",  # a default
        "gas.base_fee",
        "ordering",
    ):
        assert path in found


@pytest.mark.parametrize(
    ("path", "base", "values"),
    [
        ("agents.liquidators.count", "2", ("1", "4")),
        ("agents.arbitrageur.count", "1", ("2",)),
        ("agents.liquidators.capital", "{USDC: 2_000_000}", ("{USDC: 1_000_000}", "{USDC: 4_000_000}")),
        ("gas.base_fee", "20 gwei", ("10 gwei", "40 gwei")),
        ("agents.borrowers.cash", "25%", ("15%", "35%")),
        ("agents.borrowers.band", "[1.1, 3]", ("[1.05, 2]", "[1.2, 5]")),
        ("agents.borrowers.panic_below", "1.15", ("1.075", "1.3")),
        ("agents.borrowers.behaviour.panic", "10%", ("0%", "20%")),
        ("prices.WETH.then.volatility", "90%", ("45%", "180%")),
        ("prices.WETH.then.drift", "0%", ("-10%", "10%")),
        ("ordering", "priority_fee", ("fifo", "shuffle")),
        ("agents.borrowers.priority_fee", "0", ()),
    ],
)
def test_default_moves_follow_the_type_of_the_number(path: str, base: str, values: tuple[str, ...]) -> None:
    found = assumptions_of(load_scenario("depeg_cascade"))[path]
    assert (found.base, found.values) == (base, values)


def test_shares_and_correlations_stay_within_their_bounds() -> None:
    text = """
name: bounds
chain: ethereum
steps: 2
step_time: 1h
prices: {WETH: {process: gbm, volatility: 50%}, WBTC: {process: gbm, volatility: 50%}}
correlations: {WETH/WBTC: 0.95}
agents:
  a: {kind: borrower, collateral: 1 WETH, debt: 900 USDC, behaviour: {hold: 1, panic: 3}, cash: 97%}
"""
    scenario = load_text(text)
    found = assumptions_of(scenario)
    assert found["correlations.WETH/WBTC"].values == ("0.85", "1.0")
    assert found["agents.a.cash"].values == ("87%", "100%")
    assert found["agents.a.behaviour.hold"].values == ("0.6", "1.4")  # ten points of four
    assert "agents.a.behaviour.panic" not in found  # of two shares the other says the same
    assert "ordering" not in found  # one account has nothing to order
    for each in found.values():
        for value in each.values:
            load_text(text, overrides=each.overrides(value))


def test_a_mixture_keeps_its_sum_and_the_proportions_of_the_others() -> None:
    panic = assumptions_of(load_scenario("depeg_cascade"))["agents.borrowers.behaviour.panic"]
    moved = load_scenario("depeg_cascade", overrides=panic.overrides("28%")).config.agents["borrowers"]
    assert moved.behaviour == {"hold": Decimal("0.56"), "band": Decimal("0.16"), "panic": Decimal("0.28")}
    with pytest.raises(UsageError, match="is not possible"):
        panic.overrides("120%")
    with pytest.raises(UsageError, match="is not a valid share"):
        panic.overrides("many")


class Whale(AgentSettings):
    """A kind that Mayavi does not have."""

    question_fields = frozenset({"sells"})

    kind: Literal["whale"]
    sells: TokenAmount
    spends: TokenAmount
    count: Count = 1
    nerve: Share = Decimal("0.95")
    waits: Seconds = 3_600
    tips: Wei = 2 * 10**9
    leverage: Annotated[PositiveRatio, Mark.LEVEL] = Decimal("1.5")
    rounds: Annotated[int, Field(ge=1, le=10)] = 8
    style: Literal["calm", "wild"] = "calm"
    hides: bool = False
    sizes: Distribution = Field(default_factory=lambda: Uniform(uniform=[Decimal(10), Decimal(30)]))
    limits: dict[Symbol, NotNegative] = Field(default_factory=dict)
    label: str = "whale"


@pytest.fixture
def whales(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_kinds", dict(registry._kinds))
    registry.agent_kind(Whale)(lambda agents, name, model: [])


def test_a_new_kind_is_covered_without_a_change(whales: None) -> None:
    text = """
name: whales
chain: ethereum
steps: 2
step_time: 1h
agents: {moby: {kind: whale, sells: 5_000 WETH, spends: 700 USDC, limits: {WETH: 5, USDC: 9_000}}}
"""
    found = {path.removeprefix("agents.moby."): each for path, each in assumptions_of(load_text(text)).items()}
    assert {name: each.values for name, each in found.items() if not name.startswith("gas")} == {
        "priority_fee": (),
        "spends": ("350 USDC", "1400 USDC"),
        "count": ("2",),
        "nerve": ("85%", "100%"),
        "waits": ("30m", "2h"),
        "tips": ("1 gwei", "4 gwei"),
        "leverage": ("1.25", "2"),
        "rounds": ("4", "10"),
        "style": ("wild",),
        "hides": ("true",),
        "sizes": ("{uniform: [5, 15]}", "{uniform: [20, 60]}"),
        "limits": ("{WETH: 2.5, USDC: 4500}", "{WETH: 10, USDC: 18_000}"),
    }
    for each in found.values():
        for value in each.values:
            load_text(text, overrides=each.overrides(value))


def models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield base
    for each in base.__subclasses__():
        yield from models(each)


def test_every_field_that_a_model_names_as_question_exists() -> None:
    for model in [NewPool, *models(AgentSettings), *models(_Process)]:
        own: Any = model.__dict__.get("question_fields", frozenset())
        below = {name for each in models(model) for name in each.model_fields}
        assert own <= below, model
    assert "size_usd" in question_fields(load_scenario("depeg_cascade").config.agents["borrowers"].__class__)


@pytest.mark.parametrize(
    ("form", "values"),
    [
        (40, ("20", "80")),
        (
            {"normal": {"mean": 40, "deviation": 4, "between": [8, 60]}},
            (
                "{normal: {mean: 20, deviation: 2, between: [4, 30]}}",
                "{normal: {mean: 80, deviation: 8, between: [16, 120]}}",
            ),
        ),
        (
            {"lognormal": {"median": 40, "sigma": 1}},
            ("{lognormal: {median: 20, sigma: 1}}", "{lognormal: {median: 80, sigma: 1}}"),
        ),
        (
            {"pareto": {"minimum": 40, "shape": 2, "maximum": 90}},
            ("{pareto: {minimum: 20, shape: 2, maximum: 45}}", "{pareto: {minimum: 80, shape: 2, maximum: 180}}"),
        ),
        ({"choice": [40, 60]}, ("{choice: [20, 30]}", "{choice: [80, 120]}")),
        ({"choice": {"40": 3, "60": 1}}, ("{choice: {20: 3, 30: 1}}", "{choice: {80: 3, 120: 1}}")),
    ],
)
def test_every_form_of_distribution_moves_as_a_whole(form: Any, values: tuple[str, ...]) -> None:
    text = """
name: trades
chain: ethereum
steps: 2
step_time: 1h
agents: {t: {kind: traders, pool: WETH/USDC.500, trades_a_step: 2, size: 1, capital: {USDC: 5_000}}}
"""
    scenario = load_text(text, overrides=[f"agents.t.size={json.dumps(form)}"])
    size = assumptions_of(scenario)["agents.t.size"]
    assert size.values == values
    for value in (size.base, *values):
        moved = load_text(text, overrides=size.overrides(value))
        assert (moved.config == scenario.config) == (value == size.base)


def test_text_that_is_no_choice_has_no_rule() -> None:
    from mayavi.scenarios.models.values.field_type import FieldType

    assert rule_of(FieldType(str), "cUSDCv3") is None

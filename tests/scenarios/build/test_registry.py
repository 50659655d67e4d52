"""Agent kinds: each has one builder, and an installed package can add its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import get_args

import pytest

from mayavi.errors import BadScenario, SetupError, UnknownName
from mayavi.plugins.entry_points import NOUNS
from mayavi.scenarios.build.agents import registry
from mayavi.scenarios.loading import load_text
from mayavi.scenarios.models.agents.kinds import _BuiltIn
from tests.scenarios.play import play

PLUGIN = """
from typing import Literal

from mayavi.agents.base import Agent
from mayavi.scenarios.build.agents.registry import agent_kind
from mayavi.scenarios.models.agents.shared import AgentSettings, Count


class Whale(AgentSettings):
    kind: Literal["whale"]
    pool: str
    count: Count = 1


class WhaleAgent(Agent):
    def step(self, world, step):
        return self.rests()


@agent_kind(Whale)
def build_whales(agents, name, model):
    agents.use_pool(model.pool)
    return [WhaleAgent(f"{name}-{number}") for number in range(model.count)]
"""
SCENARIO = """
name: with_whales
chain: ethereum
steps: 2
step_time: 1h
agents:
  whales: {kind: whale, pool: WETH/USDC.500, count: 2, priority_fee: 3 gwei}
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Install a package with an entry point of the group `mayavi.agents` for one test."""

    def installed(source: str, entry: str) -> None:
        (tmp_path / "whale_plugin.py").write_text(source)
        facts = tmp_path / "whale_plugin-1.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: whale-plugin\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text(f"[mayavi.agents]\n{entry}\n")
        monkeypatch.syspath_prepend(tmp_path)

    monkeypatch.setattr(registry, "_kinds", dict(registry._kinds))
    yield installed
    sys.modules.pop("whale_plugin", None)


def test_every_kind_of_the_schema_has_a_builder() -> None:
    for model in get_args(_BuiltIn):
        (kind,) = get_args(model.model_fields["kind"].annotation)
        assert registry.find_kind(kind).model is model


@pytest.mark.parametrize("entry", ["whale = whale_plugin:build_whales", "whale = whale_plugin"])
def test_a_package_adds_a_kind(install, entry: str) -> None:
    install(PLUGIN, entry)
    played = play("", text=SCENARIO)
    agents = played.built.world.agents
    assert [agent.name for agent in agents] == ["whales-0", "whales-1"]
    assert {agent.priority_fee_wei for agent in agents} == {3 * 10**9}
    assert ("UniswapV3.WETH/USDC.500", "price") in {(row.subject, row.metric) for row in played.snapshots}


def test_settings_of_an_added_kind_are_checked_by_its_model(install) -> None:
    install(PLUGIN, "whale = whale_plugin")
    with pytest.raises(BadScenario, match=r"unknown key 'pol' in agents\.whales"):
        load_text(SCENARIO.replace("pool:", "pol:"))
    with pytest.raises(BadScenario, match=r"agents\.whales\.count is '0', and must be at least 1"):
        load_text(SCENARIO.replace("count: 2", "count: 0"))
    assert load_text(SCENARIO).config.model_dump(mode="json")["agents"]["whales"]["pool"] == "WETH/USDC.500"


def test_an_entry_point_that_cannot_be_used_says_why(install) -> None:
    install("import nothing_of_that_name", "whale = whale_plugin")
    with pytest.raises(SetupError, match="'whale' of 'whale_plugin' cannot be loaded: ModuleNotFoundError: No module"):
        load_text(SCENARIO)


def test_an_entry_point_must_register_its_own_name(install) -> None:
    install(PLUGIN, "orca = whale_plugin")
    with pytest.raises(SetupError, match="does not register the agent kind 'orca'"):
        load_text(SCENARIO.replace("kind: whale", "kind: orca"))


def test_two_packages_cannot_register_the_same_kind(install) -> None:
    install(PLUGIN.replace("whale", "borrower").replace("Whale", "Borrower"), "borrower = whale_plugin")
    registry.find_kind("borrower")
    with pytest.raises(SetupError, match="two packages register the agent kind 'borrower'"):
        __import__("whale_plugin")


def test_an_unknown_kind_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'borrower'") as caught:
        registry.find_kind("borower")
    assert caught.value.hint
    with pytest.raises(BadScenario, match="unknown kind 'borower'"):
        load_text(SCENARIO.replace("kind: whale", "kind: borower"))


def test_entry_points_are_read_only_for_unknown_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    none: dict[str, list[object]] = {group: [] for group in NOUNS}
    monkeypatch.setattr("mayavi.plugins.entry_points._installed", lambda folders: asked.append(folders) or none)
    load_text(
        SCENARIO.replace("kind: whale, ", "kind: traders, trades_a_step: 1, size: 5, capital: {}, ").replace(
            "count: 2, ", ""
        )
    )
    for model in get_args(_BuiltIn):
        registry.find_kind(get_args(model.model_fields["kind"].annotation)[0])
    assert asked == []
    with pytest.raises(BadScenario):
        load_text(SCENARIO)
    assert asked

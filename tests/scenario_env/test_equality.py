"""Episodes are runs: a learner that plays its script gives the rows, KPIs and digest of `mayavi run`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mayavi import Fork
from mayavi.scenario_env import ScenarioRows, record_episode
from mayavi.scenario_env.config import ScenarioEnvConfig
from mayavi.scenarios.loading import Scenario, load_scenario
from mayavi.scenarios.models.agents.kinds import KINDS
from mayavi.scenarios.run.request import RunRequest
from mayavi.scenarios.run.run import execute
from mayavi.sim.recorder import MemoryRecorder

ANY: dict[str, Any] = {"observes": ["time_left"], "actions": ["scripted"], "reward": {"step": 1}}
"""A learner that observes and does nothing of its kind."""
SCENARIOS: dict[str, dict[str, Any]] = {
    "learning_borrower": {},
    "depeg_cascade": {"agents.borrowers.count": 5, "prices.WETH": {"process": "step", "at": 1, "size": "-30%"}},
    "compound_v3_borrower": {"prices.WETH": {"process": "gbm", "volatility": "90%"}},
    "curve_depeg": {
        "prices.USDC": {"process": "step", "at": 1, "size": "-8%"},
        "agents.holders.count": 3,
        "agents.savers.count": 2,
        "agents.loopers.count": 2,
    },
    "multi_cohort": {},
    "launch_replay": {},
}
"""Scenarios that together have most kinds of agents, shortened."""


@cache
def world(chain: str) -> Fork:
    return Fork.replica(chain).frozen()


def played(scenario: str, agent: str, overrides: dict[str, Any], steps: int, seeds: list[int]) -> list[MemoryRecorder]:
    config = ScenarioEnvConfig(scenario=scenario, learner=ANY | {"agent": agent}, overrides=overrides, horizon=steps)
    env = ScenarioRows(config, 1, world=world("ethereum"))
    found = []
    for seed in seeds:
        recorder = MemoryRecorder()
        record_episode(env, "scripted", episode=seed, recorder=recorder)
        found.append(recorder)
    return found


def simulated(
    scenario: str, overrides: dict[str, Any], steps: int, seeds: list[int], tmp_path: Path
) -> Iterator[MemoryRecorder]:
    texts = [f"{key}={value!r}" for key, value in overrides.items()]
    loaded = load_scenario(scenario, steps=steps, overrides=texts)
    for seed in seeds:
        yield simulated_once(loaded, seed, tmp_path)


def simulated_once(loaded: Scenario, seed: int, tmp_path: Path) -> MemoryRecorder:
    recorder = MemoryRecorder()
    request = RunRequest(scenario=loaded, seed=seed, source="replica", store=tmp_path)
    execute(request, world(loaded.config.chain).copy(), recorder)
    return recorder


def assert_same(one: MemoryRecorder, other: MemoryRecorder) -> None:
    assert one.actions == other.actions
    assert one.snapshots == other.snapshots
    assert one.ended is not None
    assert other.ended is not None
    assert one.ended.kpis == other.ended.kpis
    assert one.ended.digest == other.ended.digest
    assert one.ended.final_world_digest == other.ended.final_world_digest


@pytest.mark.parametrize(
    "scenario",
    [pytest.param(each, marks=pytest.mark.slow(2) if each == "curve_depeg" else ()) for each in SCENARIOS],
)
def test_every_kind_of_agent_may_be_the_learner(scenario: str, tmp_path: Path) -> None:
    overrides, seed, steps = SCENARIOS[scenario], 11, 4
    (expected,) = simulated(scenario, overrides, steps, [seed], tmp_path)
    for name, model in load_scenario(scenario).config.agents.items():
        count = overrides.get(f"agents.{name}.count", getattr(model, "count", 1))
        (found,) = played(scenario, name if count == 1 else f"{name}-{count - 1}", overrides, steps, [seed])
        assert_same(found, expected)


def test_the_scenarios_above_have_most_kinds_of_agents() -> None:
    kinds = {each.kind for name in SCENARIOS for each in load_scenario(name).config.agents.values()}
    assert KINDS - kinds <= {"positions", "recorded_liquidations", "curve_balances", "oracle_shock"}


@pytest.mark.slow(14)
def test_two_hundred_seeded_episodes_are_the_runs_of_their_seeds(tmp_path: Path) -> None:
    seeds = list(range(200))
    liquidations = 0
    expected = simulated("learning_borrower", {}, 8, seeds, tmp_path)
    for found, run in zip(played("learning_borrower", "borrower", {}, 8, seeds), expected, strict=True):
        assert_same(found, run)
        liquidations += sum(row.kind == "liquidate" for row in found.actions)
    assert liquidations > 5


def test_an_episode_without_a_recorder_goes_the_same_way() -> None:
    env = ScenarioRows(ScenarioEnvConfig(horizon=5), 2, world=world("ethereum"))
    actions = [np.array([each, each]) for each in (3, 0, 1, 4, 2)]
    env.begin([0], [8])
    recorder = MemoryRecorder()
    plan = iter(actions)
    record_episode(env, lambda seen: next(plan)[0], episode=8, recorder=recorder)
    recorded = env.exact(), env.observe()[0].tolist()
    env.begin([0, 1], [8, 8])
    for action in actions:
        env.step(action)
    assert {name: values[1] for name, values in env.exact().items()} == {
        name: values[0] for name, values in recorded[0].items()
    }
    assert env.observe()[1].tolist() == recorded[1]
    assert recorder.ended is not None
    assert env.episode(1).world.fork.digest() == recorder.ended.final_world_digest


def test_one_account_of_a_population_learns_and_the_others_act_as_before() -> None:
    text = {"agents.borrowers.count": 5, "agents.borrowers.behaviour": "band"}
    overrides = SCENARIOS["depeg_cascade"] | text
    learner = ANY | {"agent": "borrowers-2", "actions": ["repay 100% USDC"]}
    config = ScenarioEnvConfig(scenario="depeg_cascade", learner=learner, overrides=overrides, horizon=4)
    env = ScenarioRows(config, 1, world=world("ethereum"))
    recorder = MemoryRecorder()
    record_episode(env, "noop", episode=3, recorder=recorder)
    own = [row for row in recorder.actions if row.account == "borrowers-2"]
    others = {row.account for row in recorder.actions if row.agent == "borrowers"}
    assert not own
    assert others
    (script,) = played("depeg_cascade", "borrowers-2", overrides, 4, [3])
    assert others | {"borrowers-2"} >= {row.account for row in script.actions if row.agent == "borrowers"}

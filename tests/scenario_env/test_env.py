"""`mayavi/Scenario-v0`: agents of one's own, figures, actions, rewards, and several processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_checks
from stable_baselines3.common.env_checker import check_env as sb3_checks

import mayavi.gym_env
from mayavi import Fork
from mayavi.gym_env.registry import make_vector
from mayavi.protocols.aave.market import AaveV3
from mayavi.protocols.tokens import Erc20
from mayavi.rl.config import TrainConfig
from mayavi.scenario_env import ScenarioEnv, ScenarioRows, record_episode
from mayavi.scenario_env.config import ScenarioEnvConfig
from mayavi.scenarios.loading import load_scenario
from mayavi.scenarios.run.run import run
from tests.scenario_env.own_agent import simulations


@pytest.fixture(scope="module")
def world() -> Fork:
    return Fork.replica("ethereum").frozen()


@pytest.fixture(scope="module")
def own() -> ScenarioEnv:
    return ScenarioEnv(simulations())


def test_an_agent_of_ones_own_learns_with_its_own_actions_and_figures(own: ScenarioEnv) -> None:
    seen, info = own.reset(seed=1)
    assert own.action_names == ["hold", "cut 50%", "sell 10 WETH for USDC", "topple"]
    assert info["own.balance.WETH"] == 100 * 10**18
    _, reward, _, _, info = own.step(1)
    assert (info["own.balance.WETH"], info["own.cuts"]) == (50 * 10**18, 1)
    assert -0.01 < reward < 0  # the fee and the impact of the sale
    seen, _, _, _, info = own.step(2)
    assert (info["own.balance.WETH"], info["own.cuts"]) == (40 * 10**18, 1)
    places = {name: at for at, name in enumerate(own.observed)}
    assert seen[places["own.last_action.sell 10 WETH for USDC"]] == 1.0
    assert seen[places["own.last_action.hold"]] == 0.0
    assert seen[places["time_left"]] == 0.5
    assert seen[places["own.balance.WETH"]] == pytest.approx(np.log10(41))
    assert info["failed_actions"] == 0
    *_, info = own.step(3)  # its code raises: recorded as a failure, and the episode goes on
    assert info["failed_actions"] == 1
    *_, truncated, _ = own.step(0)
    assert truncated


def test_python_simulations_are_a_scenario_by_their_import_path(own: ScenarioEnv) -> None:
    again = gymnasium.make("mayavi/Scenario-v0", scenario="tests.scenario_env.own_agent:simulations")
    np.testing.assert_array_equal(again.reset(seed=1)[0], own.reset(seed=1)[0])
    config = TrainConfig.of({"env": "scenario:tests.scenario_env.own_agent:simulations"})
    assert config.env_config == {"scenario": "tests.scenario_env.own_agent:simulations"}


def test_both_checkers_accept_it(own: ScenarioEnv) -> None:
    gymnasium_checks(own, skip_render_check=True)
    sb3_checks(own)


def test_figures_are_those_of_the_chain_at_the_learners_turn(world: Fork) -> None:
    learner = {
        "observes": [
            *("own.health_factor", "own.owed.USDC", "own.headroom", "own.native", "own.actions"),
            *("AaveV3.WETH.price", "WETH.market_price", "step"),
        ]
    }
    env = ScenarioEnv("learning_borrower", learner=learner, world=world, horizon=3)
    _, info = env.reset(options={"episode": 5})
    for action in (3, 0, 2):
        simulation = env.env.episode(0)
        market = AaveV3(simulation.world.fork)
        account = market.account(simulation.control.learner_account.address)
        assert info["own.health_factor"] == account.data().health_factor_wad
        assert info["own.owed.USDC"] == account.debt("USDC")
        # The price of this step is posted before the learner's turn.
        assert info["AaveV3.WETH.price"] == info["WETH.market_price"] == market.price_usd_e8("WETH")
        assert info["step"] == env.env.steps[0]
        *_, info = env.step(action)
    assert info["own.actions"] == 2


def test_a_reward_is_the_weighted_change_of_its_figures(world: Fork) -> None:
    terms = [
        {"figure": "own.wealth", "weight": 0.5},
        {"figure": "own.owed.USDC", "form": "value", "weight": -0.001},
        {"figure": "own.wealth", "form": "final", "relative": True},
    ]
    env = ScenarioEnv("learning_borrower", learner={"reward": terms}, world=world, horizon=3)
    _, first = env.reset(options={"episode": 2})
    before = first
    for step, action in enumerate((1, 3, 0)):
        _, reward, _, _, info = env.step(action)
        expected = 0.5 * (info["own.wealth"] - before["own.wealth"]) / 1e8 - 0.001 * info["own.owed.USDC"] / 1e6
        if step == 2:
            expected += (info["own.wealth"] - first["own.wealth"]) / first["own.wealth"]
        assert reward == pytest.approx(expected, rel=1e-12)
        before = info


def test_an_end_terminates_the_episode_when_its_figure_crosses_the_level(world: Fork) -> None:
    env = ScenarioEnv("learning_borrower", learner={"ends": ["own.owed.USDC < 1"]}, world=world, horizon=3,
                      overrides={"agents.borrower.cash": "100%"})  # fmt: skip
    env.reset(options={"episode": 2})
    assert not env.step(0)[2]
    assert env.step(1)[2]


def test_continuous_actions_scale_shares_and_turn_into_their_opposite(world: Fork) -> None:
    learner = {"actions": [{"do": "borrow", "token": "USDC", "share": 0.5, "opposite": "repay USDC"}, "repay 10 USDC"]}
    env = ScenarioEnv("learning_borrower", learner=learner, actions="continuous", world=world, horizon=4)
    _, info = env.reset(options={"episode": 2})
    learner_account = env.env.episode(0).control.learner_account
    owed, room = learner_account.holder.debt("USDC"), learner_account.headroom("USDC")
    *_, info = env.step(np.array([0.5, -1.0]))
    after = learner_account.holder.debt("USDC")
    assert room // 4 <= after - owed <= room // 4 + 10**6  # a quarter of the headroom, and some interest
    *_, info = env.step(np.array([-0.25, 0.5]))
    assert after * 3 // 4 - 6 * 10**6 < learner_account.holder.debt("USDC") < after * 3 // 4 - 4 * 10**6
    assert info["failed_actions"] == 0


def test_supply_withdraw_and_sell_move_what_they_say(world: Fork) -> None:
    learner = {
        "actions": ["withdraw 10% WETH", "sell 50% WETH for USDC", "supply 100% WETH"],
        "tokens": ["USDC", "WETH"],
    }
    env = ScenarioEnv("learning_borrower", learner=learner, world=world, horizon=4)
    env.reset(options={"episode": 2})
    learner_account = env.env.episode(0).control.learner_account
    supplied, cash = learner_account.holder.supplied("WETH"), learner_account.balance("USDC")
    env.step(1)
    assert learner_account.balance("WETH") == pytest.approx(supplied / 10, rel=1e-4)
    held = learner_account.balance("WETH")
    env.step(2)
    assert learner_account.balance("WETH") == held - held // 2
    assert learner_account.balance("USDC") > cash
    *_, info = env.step(3)
    assert learner_account.balance("WETH") == 0
    assert info["failed_actions"] == 0


def test_a_settings_learner_replaces_that_of_the_file_key_by_key(world: Fork) -> None:
    env = ScenarioEnv("learning_borrower", learner={"reward": "final_pnl", "actions": ["repay 5% USDC"]}, world=world)
    assert env.action_names == ["hold", "repay 5% USDC"]
    assert env.env.learner.reward[0].form == "final"
    assert len(env.env.learner.observes) == 8


def test_splits_share_no_seed_and_name_the_seed_of_the_run(world: Fork) -> None:
    seeds = {}
    for split in ("train", "validation", "test"):
        rows = ScenarioRows(ScenarioEnvConfig(split=split), world=world)
        seeds[split] = rows.seed_of(0), rows.seed_of(2**31 - 1)
    assert seeds["train"][1] < seeds["validation"][0] <= seeds["validation"][1] < seeds["test"][0]


def test_a_scenario_that_draws_nothing_has_one_episode(world: Fork) -> None:
    still = {"prices": {}, "agents.borrower.health_factor": 1.3}
    rows = ScenarioRows(ScenarioEnvConfig(overrides=still, horizon=2, learner={"observes": ["step"]}), 2, world=world)
    rows.begin([0, 1], [0, 1])
    same = rows.identities(np.array([0, 1]))
    assert same[0] == same[1]


@pytest.mark.slow(0.5)
def test_a_batch_in_several_processes_plays_the_episodes_of_one() -> None:
    short = {"horizon": 2}
    ours = make_vector("scenario", num_envs=2, **short)
    other = gymnasium.make_vec("mayavi/Scenario-v0", 2, vectorization_mode="async", **short)
    try:
        seen, infos = other.reset(seed=4)
        mine, known = ours.reset(seed=4)
        np.testing.assert_array_equal(seen, mine)
        assert infos["seed"].tolist() == known["seed"].tolist()
        for action in (np.array([1, 3]), np.array([0, 2])):
            theirs, own_outcome = other.step(action), ours.step(action)
            for one, two in zip(theirs[:4], own_outcome[:4], strict=True):
                np.testing.assert_array_equal(one, two)
    finally:
        other.close()


@pytest.mark.slow
def test_a_recorded_episode_is_a_stored_run(tmp_path: Path, world: Fork) -> None:
    env = ScenarioEnv("learning_borrower", world=world, horizon=3)
    store = tmp_path / "store"
    recorded = record_episode(env, "scripted", episode=7, store=store)
    plain = run("learning_borrower", seed=7, steps=3, store=store)
    assert recorded.digest == plain.digest
    assert [row.kind for row in recorded.actions] == [row.kind for row in plain.actions]
    other = record_episode(env, lambda seen: 1, episode=7, store=store)
    assert other.digest != plain.digest
    assert {row.account for row in other.actions if row.kind == "repay"} == {"borrower-0"}


def test_a_training_keeps_the_scenario_itself(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(load_scenario("learning_borrower").text.replace("steps: 12", "steps: 3"))
    config = TrainConfig.of({"env": f"scenario:{file}", "env_config": {"learner": {"reward": "pnl"}}})
    file.unlink()
    again = TrainConfig.of(config.to_json())
    assert again == config
    assert config.env == "scenario"
    rows = mayavi.gym_env.make_rows(config.env, 1, config=config.env_config)
    assert rows.config.horizon == 3
    assert [each.figure for each in rows.learner.reward] == ["own.wealth"]  # type: ignore[attr-defined]


def test_nothing_but_the_account_is_the_learners(world: Fork) -> None:
    env = ScenarioEnv("learning_borrower", world=world, horizon=2)
    env.reset(options={"episode": 3})
    fork: Any = env.env.episode(0).world.fork
    before = Erc20(fork, "USDC").balance_of(env.env.episode(0).world.address("liquidator"))
    env.step(1)
    assert Erc20(fork, "USDC").balance_of(env.env.episode(0).world.address("liquidator")) == before

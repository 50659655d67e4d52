"""Bad learners are refused with what was wrong, where, and the nearest name."""

from __future__ import annotations

from typing import Any

import pytest

from mayavi import Fork
from mayavi.errors import BadScenario, PluginError, UnknownName, UsageError
from mayavi.gym_env.registry import make_rows, split_name
from mayavi.rl.config import TrainConfig
from mayavi.scenario_env import ScenarioEnv, Simulation, Simulations, record_episode


@pytest.fixture(scope="module")
def world() -> Fork:
    return Fork.replica("ethereum").frozen()


@pytest.mark.parametrize(
    ("learner", "message", "hint"),
    [
        (
            {"observes": ["own.health_facter"]},
            "unknown figure 'own.health_facter' in learner.observes",
            "'own.health_factor'",
        ),
        ({"observes": ["AaveV3.USDC.borow_rate"]}, "borow_rate' in learner.observes", "'AaveV3.USDC.borrow_rate'"),
        ({"observes": ["WETH.market_prices"]}, "unknown figure", "'WETH.market_price'"),
        ({"observes": ["own.balance.USDCC"]}, "USDCC", "USDC"),
        ({"reward": {"own.welth": 1}}, "unknown figure 'own.welth' in learner.reward", "'own.wealth'"),
        ({"ends": ["own.liquidation > 0"]}, "unknown figure 'own.liquidation' in learner.ends", "'own.liquidations'"),
        ({"actions": ["reppay 25% USDC"]}, "'reppay', and only supply, withdraw, borrow, repay and sell", ""),
        ({"actions": ["dance"]}, "unknown action 'dance' in learner.actions", "there are: supply"),
        ({"actions": ["repay 25%"]}, "does not say which token to repay", ""),
        ({"actions": ["repay 25% USDX"]}, "USDX", "USDC"),
        ({"actions": ["sell 25% WETH"]}, "does not say what to sell WETH for", ""),
        ({"actions": ["sell 25% WETH for USDC on WETH/USDC.501"]}, "unknown pool", "WETH/USDC.500"),
        ({"actions": ["sell 25% DAI for USDC on WETH/USDC.500"]}, "does not trade DAI for USDC", ""),
        ({"actions": ["hold"]}, "action 0 of every learner", ""),
        ({"actions": ["repay 25% USDC", "repay 25% USDC"]}, "'repay 25% USDC' twice", ""),
        ({"actions": ["repay 125% USDC"]}, "must be from 0 to 1", ""),
        ({"reward": "pln"}, "not a named reward", ""),
        ({"reward": {"own.debt": {"relative": True}}, "agent": "liquidator"}, "is 0 at the start", "reward"),
        ({"ends": ["own.liquidations = 0"]}, "not a condition such as", ""),
        ({"agent": "borower"}, "the learner is 'borower', which is not an agent here", "'borrower'"),
        ({"agent": "borrower-7"}, "unknown learner 'borrower-7'", "'borrower'"),
        ({"market": "AaveV4"}, "unknown lending market 'AaveV4'", "'AaveV3'"),
        ({"observe": ["time_left"]}, "unknown key 'observe'", "'observes'"),
        ({"observes": [{"figure": "own.debt", "bounds": [2, 1]}]}, "give the lower one first", ""),
    ],
    ids=lambda each: str(each)[:40] if isinstance(each, dict) else "",
)
def test_a_bad_learner_is_refused(learner: dict[str, Any], message: str, hint: str, world: Fork) -> None:
    with pytest.raises(UsageError) as refused:
        ScenarioEnv("learning_borrower", learner=learner, world=world)
    assert message in refused.value.message
    assert hint in (refused.value.hint or "")


def test_a_scenario_without_a_learner_says_what_to_add(world: Fork) -> None:
    with pytest.raises(BadScenario, match="has no 'learner'") as refused:
        ScenarioEnv("depeg_cascade", world=world)
    assert "add `learner:`" in str(refused.value.hint)


def test_a_population_needs_one_of_its_accounts(world: Fork) -> None:
    learner = {"agent": "borrowers", "observes": ["time_left"], "actions": ["scripted"], "reward": {"step": 1}}
    with pytest.raises(UsageError, match="acts for 4 accounts") as refused:
        ScenarioEnv("depeg_cascade", learner=learner, overrides={"agents.borrowers.count": 4}, world=world)
    assert "borrowers-0" in str(refused.value.hint)


def test_a_learner_in_a_file_is_refused_with_its_line() -> None:
    text = "name: mine\nchain: ethereum\nsteps: 2\nstep_blocks: 10\nagents:\n"
    rest = "  observes: [step]\n  actions: [scripted]\n  reward: {step: 1}\n"
    with pytest.raises(BadScenario, match=r"scenario:8:10: the learner is 'b'"):
        ScenarioEnv(text + "  a: {kind: oracle_shock, asset: WETH, size: -5%}\nlearner:\n  agent: b\n" + rest)


def test_unknown_scenarios_and_names_are_refused() -> None:
    with pytest.raises(UnknownName, match="learning_borrowe"):
        make_rows("scenario:learning_borrowe")
    with pytest.raises(UsageError, match="does not say which scenario"):
        split_name("scenario:")
    with pytest.raises(PluginError, match="there is no module 'aave'"):
        make_rows("aave:x")
    with pytest.raises(UsageError, match=r"none\.yaml"):
        TrainConfig.of({"env": "scenario:none.yaml"})


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("tests.scenario_env.nothing:build", "ModuleNotFoundError: No module named 'tests.scenario_env.nothing'"),
        ("tests.scenario_env.own_agent:simulation", "AttributeError"),
        ("tests.scenario_env.own_agent:OWN", "is {'agent': 'treasury'"),
    ],
)
def test_an_import_path_that_leads_nowhere_is_refused(path: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        make_rows(f"scenario:{path}")
    assert message in refused.value.message


def test_python_simulations_bring_their_own_learner(world: Fork) -> None:
    learner = {"agent": "a", "observes": ["step"], "actions": ["scripted"], "reward": {"step": 1}}

    def build(seed: int) -> Any:
        return seed

    with pytest.raises(UsageError, match="built 0"):
        Simulations(build, steps=2, learner=learner)
    with pytest.raises(UsageError, match="0 steps does nothing"):
        Simulations(build, steps=0, learner=learner)
    env = ScenarioEnv("learning_borrower", world=world, horizon=2)
    with pytest.raises(UsageError, match="'holdd' is not a strategy"):
        record_episode(env, "holdd")
    assert Simulation  # exported


def test_a_snapshot_is_not_warmed_by_a_scenario() -> None:
    from mayavi.rl.training.warming import warm
    from mayavi.worlds.source import WorldSource

    with pytest.raises(UsageError, match="cannot be warmed by 'scenario'"):
        warm("scenario", WorldSource())

"""Role by role: a policy is judged beside the other role as it was trained."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from mayavi.cli.printing.evaluation import print_evaluation
from mayavi.errors import EvaluationFileError, UnknownName, UsageError
from mayavi.gym_env.market.config import MarketConfig
from mayavi.gym_env.market.rows import AaveMarketRows
from mayavi.rl.evaluation.convergence import find_convergence
from mayavi.rl.evaluation.document import (
    as_bytes,
    checkpoint_steps,
    document_of,
    eval_name,
    read_eval,
    settings_from,
)
from mayavi.rl.evaluation.evaluate import Evaluation, EvaluationSettings, Subject, evaluate_roles
from mayavi.rl.evaluation.models import evaluate_baselines
from mayavi.rl.evaluation.play import play_roles
from mayavi.rl.evaluation.strategies import Trained, strategies_by_role
from mayavi.statistics.bootstrap import Bootstrap

STORMY: dict[str, Any] = {"health_factor": (1.04, 1.15), "shock": (0.15, 0.4), "horizon": 6, "shock_steps": (1.0, 3.0),
                          "borrowers": 3, "split": "test"}  # fmt: skip
QUICK = EvaluationSettings(episodes=24, bootstrap=Bootstrap(resamples=300))
REST, REPAY, TAKE = 0, 2, 3


class Always:
    """A policy that does one thing."""

    def __init__(self, action: int) -> None:
        self.action = action

    def actions(self, observations: Any, state: Any, *, deterministic: bool, rng: np.random.Generator) -> Any:
        return np.full(len(observations), self.action), None


def make(rows: int) -> AaveMarketRows:
    return AaveMarketRows(MarketConfig(**STORMY), rows)


def trained(name: str, borrower: int, liquidator: int) -> Subject:
    actions = {"borrower": borrower, "liquidator": liquidator}
    return Subject(name, {role: Trained(name, Always(action), role=role) for role, action in actions.items()})


def judged(subjects: list[Subject], against: list[str] | None) -> dict[str, Evaluation]:
    return evaluate_roles(make(24), make, subjects, against, QUICK)


@pytest.mark.slow(1)
def test_each_role_is_compared_with_its_scripts_while_the_other_keeps_its_policy() -> None:
    found = judged([trained("ppo", REPAY, TAKE)], ["noop", "repay_all", "close_factor_max"])
    assert {role: list(each.summaries) for role, each in found.items()} == {
        "borrower": ["ppo", "noop", "repay_all"],
        "liquidator": ["ppo", "noop", "close_factor_max"],
    }
    resting, repaying = found["borrower"].comparisons
    assert (resting.strategy, resting.against, resting.verdict.word) == ("ppo", "noop", "better")
    assert repaying.equal_episodes == 24  # a policy that repays at once is that script
    assert found["borrower"].summaries["noop"].played.terminated.sum() > 10  # beside it liquidators take what they can
    assert found["borrower"].summaries["ppo"].played.terminated.sum() == 0
    for against in found["liquidator"].comparisons:  # borrowers of this training leave nothing to take
        assert against.equal_episodes == 24

    waiting = judged([trained("ppo", REST, REST)], None)
    assert waiting["borrower"].summaries["noop"].played.terminated.sum() == 0  # these liquidators never act
    word = {each.against: each.verdict.word for each in waiting["liquidator"].comparisons}
    assert word == {"noop": "indistinguishable", "close_factor_max": "worse", "best_share": "worse"}
    starts = {each.played.starts for one in waiting.values() for each in one.summaries.values()}
    assert len(starts) == 1


@pytest.mark.slow(1)
def test_trainings_are_pooled_each_beside_its_own_others() -> None:
    subjects = [trained("ppo@1", REPAY, TAKE), trained("ppo@2", REPAY, REST)]
    found = judged(subjects, ["noop"])
    borrower = found["borrower"]
    assert list(borrower.summaries) == ["ppo@1", "ppo@2", "noop@1", "noop@2"]
    assert [(each.strategy, each.against) for each in borrower.comparisons] == [
        ("ppo@1", "noop@1"),
        ("ppo@2", "noop@2"),
    ]
    (pooled,) = borrower.pooled
    assert (pooled.strategy, pooled.against, pooled.trainings) == ("ppo", "noop", 2)
    rewards = {name: each.played.rewards for name, each in borrower.summaries.items()}
    assert rewards["noop@1"].mean() < rewards["noop@2"].mean() - 0.1  # the first has liquidators that act
    both = [rewards["ppo@1"] - rewards["noop@1"], rewards["ppo@2"] - rewards["noop@2"]]
    assert pooled.difference.value == pytest.approx(np.mean(both))
    document = document_of(found, against=["noop"], models=[], versions={}, differing={})
    assert {role: document[role]["others"] for role in document["roles"]} == dict.fromkeys(found, "ppo")
    assert document["borrower"]["ppo"]["trainings"] == ["ppo@1", "ppo@2"]
    assert document["borrower"]["noop"]["mean_reward"] == pytest.approx(np.mean([rewards["noop@1"], rewards["noop@2"]]))


@pytest.mark.slow(0.4)
def test_checkpoints_of_both_roles_say_where_each_stops_moving() -> None:
    steps = {10: trained("a", REST, TAKE), 20: trained("b", REPAY, TAKE), 30: trained("c", REPAY, TAKE)}
    env = make(24)
    games = [play_roles(env, each.players, range(24), name=each.name) for each in steps.values()]
    found = {role: find_convergence(list(steps), [game[role] for game in games], QUICK) for role in env.role_names}
    assert [each.step for each in found["borrower"].outcomes] == [10, 20, 30]
    assert found["borrower"].outcomes[0].to_last.verdict.word == "worse"
    assert (found["borrower"].identical_from, found["liquidator"].identical_from) == (20, 20)


@pytest.mark.slow(1)
def test_scripts_alone_play_beside_the_reference_of_the_other_role(capsys: pytest.CaptureFixture[str]) -> None:
    document = evaluate_baselines("market", ["noop", "repay_all", "random"], QUICK, config=STORMY)
    assert (document["schema"], document["version"], document["roles"]) == (
        "mayavi-eval",
        4,
        ["borrower", "liquidator"],
    )
    borrower, liquidator = document["borrower"], document["liquidator"]
    assert (borrower["agents"], borrower["others"]) == (3, "close_factor_max")
    assert (liquidator["agents"], liquidator["others"]) == (2, "noop")
    assert borrower["strategies"] == ["noop", "repay_all", "random"]
    assert liquidator["strategies"] == ["noop", "random"]
    assert borrower["noop"]["terminated"] > 10
    assert liquidator["noop"]["mean_reward"] == 0.0
    assert len(document["starts"]) == len(borrower["noop"]["rewards"]) == 24
    again = read_eval(as_bytes(document), "x")
    assert again == json.loads(json.dumps(document))
    assert settings_from(again) == QUICK
    assert checkpoint_steps(again) == []
    assert eval_name(again).startswith("test-24-deterministic-")
    with pytest.raises(EvaluationFileError, match="has version 1, this mayavi knows 3, and 4 for a market"):
        read_eval(as_bytes({**document, "version": 1}), "x")
    alone = evaluate_baselines("market", ["repay_all", "hold_band"], QUICK, config=STORMY)
    assert alone["roles"] == ["borrower"]
    print_evaluation(document)
    told = capsys.readouterr().out
    assert "borrower: the mean of 3 borrowers, while the liquidators play close_factor_max" in told
    assert "\nborrower: repay_all against noop: better\n" in told
    assert "\nliquidator: random against noop: " in told


def test_who_is_not_known_to_any_role_is_told_with_the_nearest_and_an_optimum_is_refused() -> None:
    env = make(1)
    assert strategies_by_role(env, ["best_share", "noop", "noop"]) == {
        "borrower": ["noop"],
        "liquidator": ["best_share", "noop"],
    }
    with pytest.raises(UnknownName, match="unknown strategy 'repay_al'") as refused:
        strategies_by_role(env, ["repay_al"])
    assert refused.value.hint is not None
    assert "did you mean 'repay_all'?" in refused.value.hint
    assert "liquidators have noop, close_factor_max, best_share, random" in refused.value.hint
    with pytest.raises(UsageError, match="a market has no optimum"):
        evaluate_baselines("market", ["noop", "optimum"], QUICK)
    with pytest.raises(UsageError, match="no strategy to evaluate"):
        evaluate_baselines("market", [], QUICK)

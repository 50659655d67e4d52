"""An evaluation on the ladder, whose answers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mayavi.errors import EvaluationFileError, SimulationError, UnknownName, UsageError
from mayavi.rl.evaluation.comparison import check_paired, compare
from mayavi.rl.evaluation.convergence import find_convergence
from mayavi.rl.evaluation.document import as_bytes, document_of, read_eval, settings_from
from mayavi.rl.evaluation.evaluate import EvaluationSettings, evaluate
from mayavi.rl.evaluation.play import play
from mayavi.rl.evaluation.strategies import Trained, baseline
from mayavi.rl.search.optimum import SearchSettings
from mayavi.statistics.bootstrap import Bootstrap
from tests.rl.search.ladder_env import best_by_hand, ladder

QUICK = Bootstrap(resamples=500)
FAST = EvaluationSettings(episodes=60, bootstrap=QUICK)


class Careful:
    """Climbs while it stands low and the wind is weak; `low` is all it has learnt."""

    def __init__(self, low: float = 0.2) -> None:
        self.low = low

    def actions(self, observations: Any, state: Any, *, deterministic: bool, rng: np.random.Generator) -> Any:
        height, wind = observations[:, 0], observations[:, 1]
        climb = (height < self.low) & (wind < 0.35) if deterministic else rng.random(len(height)) < 0.3
        return np.where(climb, 2, 0), None


def evaluated(settings: EvaluationSettings = FAST, against: tuple[str, ...] = ("noop", "climb"), **env: object):
    return evaluate(lambda rows: ladder(rows, **env), [Trained("ppo", Careful())], list(against), settings)


def test_a_policy_is_compared_with_every_baseline_on_the_same_episodes() -> None:
    found = evaluated()
    assert list(found.summaries) == ["ppo", "noop", "climb"]
    noop, climb = found.comparisons
    assert (noop.strategy, noop.against, noop.verdict.word) == ("ppo", "noop", "better")
    assert (climb.against, climb.verdict.word) == ("climb", "better")
    rewards = {name: each.played.rewards for name, each in found.summaries.items()}
    differences = rewards["ppo"] - rewards["noop"]
    assert noop.difference.value == pytest.approx(differences.mean())
    wins = (differences > 0).mean() + (differences == 0).mean() / 2
    assert noop.probability_of_improvement.value == pytest.approx(wins)
    assert noop.equal_episodes == (differences == 0).sum()
    starts = found.summaries["ppo"].played.starts
    assert noop.distinct_pairs == len(set(starts))  # nobody draws: a start is a trajectory


def test_the_fixed_state_is_one_trajectory_and_no_claim() -> None:
    found = evaluated(EvaluationSettings(episodes=32, bootstrap=QUICK), start="fixed")
    for comparison in found.comparisons:
        assert comparison.verdict.word == "saturated"
        assert comparison.distinct_pairs == 1
    document = document_of(found, against=["noop"], models=[], versions={})
    assert document["ppo"]["std_reward"] == 0.0
    assert document["ppo"]["effective_sample_size"] == 1


def test_drawing_actions_makes_other_trajectories_of_one_state() -> None:
    settings = EvaluationSettings(episodes=200, deterministic=False, bootstrap=QUICK, minimum_distinct=8)
    subject = Trained("ppo", Careful(), deterministic=False)
    found = evaluate(lambda rows: ladder(rows, start="fixed"), [subject], ["noop"], settings)
    assert found.comparisons[0].distinct_pairs == found.summaries["ppo"].played.distinct > 8
    assert found.comparisons[0].verdict.word != "saturated"


def test_who_does_the_same_cannot_be_told_apart() -> None:
    twin = evaluate(
        lambda rows: ladder(rows),
        [Trained("ppo", Careful(low=-1.0))],
        ["noop"],
        EvaluationSettings(60, bootstrap=QUICK),
    )
    assert twin.comparisons[0].verdict.word == "indistinguishable"
    assert twin.comparisons[0].verdict.reason == "ppo earned exactly what noop did in each of 60 episodes"


@pytest.mark.slow(2)
def test_regret_is_what_stays_behind_the_optimum() -> None:
    settings = EvaluationSettings(40, bootstrap=QUICK, search=SearchSettings("exhaustive"))
    found = evaluated(settings, ("noop", "optimum"))
    best = np.array([best_by_hand(ladder(), episode)[0] for episode in range(40)])
    rewards = {name: each.played.rewards for name, each in found.summaries.items()}
    assert rewards["optimum"].tolist() == pytest.approx(best.tolist())
    regrets = {each.strategy: each for each in found.regrets}
    assert regrets["ppo"].regret.value == pytest.approx((best - rewards["ppo"]).mean())
    assert regrets["optimum"].regret.value == 0
    share = regrets["ppo"].share_of_attainable
    assert share is not None
    assert share.value == pytest.approx((rewards["ppo"] - rewards["noop"]).mean() / (best - rewards["noop"]).mean())
    assert share.low <= share.value <= share.high <= 1
    assert regrets["noop"].share_of_attainable.value == 0  # type: ignore[union-attr]
    assert regrets["optimum"].share_of_attainable.value == 1  # type: ignore[union-attr]
    assert found.beyond_search == 0
    assert {each.against: each.verdict.word for each in found.comparisons}["optimum"] == "worse"


def test_the_optimum_brings_the_reference_it_is_measured_from() -> None:
    found = evaluated(EvaluationSettings(20, bootstrap=QUICK), ("optimum",))
    assert list(found.summaries) == ["ppo", "noop", "optimum"]


def test_baselines_are_compared_with_each_other_where_there_is_no_policy() -> None:
    found = evaluate(ladder, [], ["noop", "down", "climb"], FAST)
    assert [(each.strategy, each.against) for each in found.comparisons] == [
        ("down", "noop"),
        ("climb", "noop"),
        ("climb", "down"),
    ]
    assert found.comparisons[0].verdict.word == "worse"


def test_several_trainings_are_judged_alone_and_together() -> None:
    subjects = [Trained(f"ppo@{seed}", Careful(low)) for seed, low in enumerate((0.18, 0.2, 0.22, 0.24, 0.26))]
    found = evaluate(ladder, subjects, ["noop"], FAST)
    assert [each.strategy for each in found.comparisons] == [f"ppo@{seed}" for seed in range(5)]
    (pooled,) = found.pooled
    assert (pooled.strategy, pooled.trainings, pooled.verdict.word) == ("ppo", 5, "better")
    alone = np.mean([each.difference.value for each in found.comparisons])
    assert pooled.difference.value == pytest.approx(alone)
    document = document_of(found, against=["noop"], models=[], versions={})
    assert document["ppo"]["trainings"] == [f"ppo@{seed}" for seed in range(5)]
    assert document["ppo"]["mean_reward"] == pytest.approx(
        np.mean([document[f"ppo@{seed}"]["mean_reward"] for seed in range(5)])
    )


@pytest.mark.slow(0.5)
def test_the_file_is_the_same_twice_and_can_be_read_back() -> None:
    def written() -> bytes:
        found = evaluated(EvaluationSettings(40, bootstrap=Bootstrap(4, 500), seed=4), ("noop", "random", "optimum"))
        return as_bytes(document_of(found, against=["noop", "random", "optimum"], models=[], versions={"mayavi": "1"}))

    first = written()
    assert first == written()
    document = read_eval(first, "eval.json")
    assert settings_from(document) == EvaluationSettings(40, bootstrap=Bootstrap(4, 500), seed=4)
    assert document["ppo"]["mean_reward"] == pytest.approx(np.mean(document["ppo"]["rewards"]))
    assert document["noop"]["std_reward"] == pytest.approx(np.std(document["noop"]["rewards"]))
    assert len(document["starts"]) == len(document["ppo"]["fingerprints"]) == 40
    assert document["strategies"] == ["ppo", "noop", "random", "optimum"]
    assert document["regret"]["reference"] == "noop"
    for odd in (b"{}", b"[]", b"no json", b'{"schema": "other", "version": 1}'):
        with pytest.raises(EvaluationFileError, match=r"'x\.json' is not an evaluation"):
            read_eval(odd, "x.json")
    with pytest.raises(EvaluationFileError, match="has version 2"):
        read_eval(b'{"schema": "mayavi-eval", "version": 2}', "x.json")


def test_an_environment_that_is_not_the_same_twice_is_found_out() -> None:
    env, other = ladder(4), ladder(4, split="test")
    one, two = play(env, baseline(env, "noop"), range(4)), play(other, baseline(other, "down"), range(4))
    with pytest.raises(SimulationError, match="'down' did not start where 'noop' did"):
        check_paired([one, two])


@pytest.mark.parametrize("episodes", [0, -3])
def test_no_episodes_and_nobody_are_refused(episodes: int) -> None:
    with pytest.raises(UsageError, match=f"{episodes} episodes show nothing"):
        EvaluationSettings(episodes=episodes)
    with pytest.raises(UsageError, match="no strategy to evaluate"):
        evaluate(ladder, [], [], FAST)
    with pytest.raises(UnknownName, match="unknown strategy 'clim'"):
        evaluate(ladder, [], ["clim"], FAST)
    with pytest.raises(UsageError, match="a minimum of 1 distinct"):
        EvaluationSettings(minimum_distinct=1)


def checkpoints(*lows: float):
    env = ladder(32)
    return [play(env, Trained("ppo", Careful(low)), range(60)) for low in lows]


def test_where_an_evaluation_stops_moving_is_found_to_the_checkpoint() -> None:
    steps = [1000, 2000, 3000, 4000]
    settled = find_convergence(steps, checkpoints(0.0, 0.2, 0.2, 0.2), FAST)
    assert (settled.identical_from, settled.indistinguishable_from) == (2000, 2000)
    assert "from step 2,000 on, up to 4,000, every checkpoint played every episode exactly" in settled.sentence
    moving = find_convergence(steps, checkpoints(0.2, 0.2, 0.2, 0.0), FAST)
    assert (moving.identical_from, moving.indistinguishable_from) == (None, None)
    assert "still moved between the last two" in moving.sentence
    back = find_convergence(steps, checkpoints(0.2, 0.0, 0.2, 0.2), FAST)
    assert back.identical_from == 3000  # that the first played alike too does not count: it moved since
    single = find_convergence([1000], checkpoints(0.2), FAST)
    assert single.identical_from is None
    assert "nothing to compare it with" in single.sentence


def test_a_checkpoint_that_plays_otherwise_and_earns_as_much_is_indistinguishable() -> None:
    one, two = checkpoints(0.2, 0.2)
    shifted = one.rewards + np.where(np.arange(60) % 2, 1e-3, -1e-3)
    other = type(one)(
        one.name, one.episodes, shifted, one.lengths, one.terminated, one.clipped, one.starts,
        tuple(f"{each[:-1]}x" for each in one.fingerprints), one.actions,
    )  # fmt: skip
    settled = find_convergence([10, 20], [other, two], FAST)
    assert (settled.identical_from, settled.indistinguishable_from) == (None, 10)
    assert compare(other, two, FAST).verdict.word == "indistinguishable"

"""Strategies on chosen episodes, and what identifies what they did."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mayavi.errors import BadArgument, UnknownName, UsageError
from mayavi.rl.evaluation.fingerprints import fingerprint, states
from mayavi.rl.evaluation.play import Strategy, play
from mayavi.rl.evaluation.strategies import (
    Planned,
    RandomPlay,
    Scripted,
    Trained,
    baseline,
    check_strategies,
    known_strategies,
)
from tests.rl.search.ladder_env import ladder


class Remembering:
    """A policy with memory that climbs on even steps; by chance it does anything."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def actions(self, observations: Any, state: Any, *, deterministic: bool, rng: np.random.Generator) -> Any:
        self.batches.append(len(observations))
        seen = np.zeros(len(observations), dtype=np.int64) if state is None else state
        if not deterministic:
            return rng.integers(3, size=len(observations)), seen + 1
        return np.where(seen % 2 == 0, 2, 0), seen + 1


def everyone(env) -> list[Strategy]:
    return [
        *(Scripted(name, script) for name, script in env.strategies.items()),
        RandomPlay(5),
        Trained("policy", Remembering()),
        Planned("plan", {episode: np.array([2, 0, 1, 2, 0]) for episode in range(40)}),
    ]


@pytest.mark.parametrize("actions", ["discrete", "continuous"])
def test_what_is_played_does_not_depend_on_how_many_play_at_once(actions: str) -> None:
    wide, narrow = ladder(16, actions=actions), ladder(3, actions=actions)
    for strategy in [RandomPlay(5), *(Scripted(name, script) for name, script in wide.strategies.items())]:
        one, two = play(wide, strategy, range(11)), play(narrow, strategy, range(11))
        assert one.rewards.tolist() == two.rewards.tolist()
        assert one.fingerprints == two.fingerprints
        assert one.starts == two.starts
        assert one.lengths.tolist() == two.lengths.tolist()
        assert one.terminated.tolist() == two.terminated.tolist()


def test_the_last_batch_is_as_large_as_the_others() -> None:
    policy = Remembering()
    played = play(ladder(8), Trained("policy", policy), range(10))
    assert len(played.rewards) == 10
    assert set(policy.batches) == {8}


def test_every_strategy_starts_where_the_others_do_and_memory_starts_anew() -> None:
    env = ladder(8)
    outcomes = [play(env, each, range(20)) for each in everyone(env)]
    assert len({each.starts for each in outcomes}) == 1
    assert len({each.fingerprints for each in outcomes}) == len(outcomes)
    again = [play(env, each, range(20)) for each in everyone(env)]
    assert [each.rewards.tolist() for each in again] == [each.rewards.tolist() for each in outcomes]
    policy = next(each for each in outcomes if each.name == "policy")
    assert {tuple(each[:2]) for each in policy.actions} <= {(2, 0), (2,)}  # both batches start by climbing


def test_a_stochastic_policy_draws_from_its_seed_alone() -> None:
    env = ladder(8)

    def drawn(seed: int) -> list[tuple[int, ...]]:
        played = play(env, Trained("policy", Remembering(), deterministic=False, seed=seed), range(12))
        return [tuple(each.tolist()) for each in played.actions]

    np.random.seed(1)
    first = drawn(1)
    assert first == drawn(1)
    assert first != drawn(2)


def test_an_episode_that_ends_early_earns_nothing_after_its_end() -> None:
    env = ladder(8)
    played = play(env, baseline(env, "climb"), range(30))
    fell = played.terminated
    assert fell.any()
    assert not fell.all()
    assert set(played.rewards[fell]) == {-1.0}
    assert (played.lengths[~fell] == env.config.horizon).all()
    assert all(len(actions) == length for actions, length in zip(played.actions, played.lengths, strict=True))


def test_one_state_and_one_plan_are_one_trajectory_however_often() -> None:
    env = ladder(8, start="fixed")
    played = play(env, baseline(env, "noop"), range(32))
    assert (played.distinct, len(set(played.starts))) == (1, 1)
    drawn = play(ladder(8), baseline(env, "noop"), range(32))
    assert drawn.distinct == len(set(drawn.starts)) > 10
    by_chance = play(env, RandomPlay(), range(32))
    assert by_chance.distinct > 20  # one start, many ways to go
    assert len(set(by_chance.starts)) == 1


def test_a_fingerprint_changes_with_the_chain_the_memory_and_the_actions() -> None:
    env = ladder(4)
    env.begin(range(4), [7, 7, 7, 8])
    env.columns["wind"][1] += 1  # what the environment alone remembers
    alice = env.fleet.fork(2)
    alice.set_balance(b"\x77" * 20, 1)  # what the chain alone knows
    env.fleet.set_row(2, alice)
    found = states(env, range(4))
    assert len(set(found)) == 4
    env.begin(range(4), [7, 7, 7, 8])
    assert states(env, range(4))[0] == states(env, [1])[0] == found[0]
    assert states(env, []) == []
    start = found[0]
    actions = np.array([0, 1, 2])
    assert fingerprint(start, actions) == fingerprint(start, actions.astype(np.int32))
    prints = {
        fingerprint(start, actions),
        fingerprint(start, actions[:2]),
        fingerprint(start, actions[::-1]),
        fingerprint(start, actions.astype(np.float32)[:, None]),
        fingerprint(found[1], actions),
    }
    assert len(prints) == 5


def test_actions_out_of_range_are_clipped_counted_and_identified_as_what_was_done() -> None:
    env = ladder(4)
    wild = play(env, Planned("wild", {0: np.array([-3, 0, 1, 0, 9])}), [0])
    tame = play(env, Planned("tame", {0: np.array([0, 0, 1, 0, 2])}), [0])
    assert wild.clipped.tolist() == [2]
    assert wild.fingerprints == tame.fingerprints
    with pytest.raises(BadArgument, match="not a number"):
        play(ladder(2), Planned("nan", {0: np.full(5, np.nan)}), [0])


def test_who_is_not_known_is_told_with_the_nearest_names() -> None:
    env = ladder(1)
    assert known_strategies(env) == ["noop", "down", "climb", "random", "optimum"]
    with pytest.raises(UnknownName, match="unknown strategy 'nop'") as refused:
        check_strategies(env, ["down", "nop"])
    assert refused.value.hint == "did you mean 'noop'?  'ladder' has noop, down, climb, random, optimum"
    with pytest.raises(UsageError, match="no episode"):
        play(env, baseline(env, "noop"), [])
    with pytest.raises(UsageError, match="optimum has to be searched first"):
        play(env, "optimum", [0])


def test_a_name_and_a_policy_play_as_what_they_stand_for() -> None:
    env = ladder(4)
    assert play(env, "climb", range(6)).fingerprints == play(env, baseline(env, "climb"), range(6)).fingerprints
    assert play(env, "random", range(6), seed=5).fingerprints == play(env, RandomPlay(5), range(6)).fingerprints
    one = play(env, Remembering(), range(6), deterministic=False, seed=2)
    assert one.name == "policy"
    assert one.fingerprints == play(env, Trained("x", Remembering(), False, 2), range(6)).fingerprints


def test_long_episodes_that_end_together_are_told_on_their_way():
    from mayavi.gym_env import make_rows

    told: list[tuple[int, int]] = []
    env = make_rows("rwa", 4, config={"horizon": 20, "stop_drawdown": 0.99})
    play(env, "buy_and_hold", range(6), progress=lambda done, total: told.append((done, total)))
    done = [each for each, _ in told]
    assert {total for _, total in told} == {6}
    assert done == sorted(done)
    assert set(done) == {0, 1, 2, 3, 4, 5, 6}  # four rows together, then two
    assert done[-1] == 6

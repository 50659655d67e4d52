"""Episodes of several roles: rewards by role, identity of a trajectory, and independence of the other roles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mayavi.errors import UsageError
from mayavi.gym_env.market.config import MarketConfig
from mayavi.gym_env.market.rows import AaveMarketRows
from mayavi.rl.evaluation.play import play, play_roles
from mayavi.rl.evaluation.strategies import RandomPlay, Scripted, Strategy, Trained, baseline

STORMY: dict[str, Any] = {"health_factor": (1.04, 1.15), "shock": (0.15, 0.4), "horizon": 6, "shock_steps": (1.0, 3.0)}
"""Episodes in which accounts are liquidated."""


def market(rows: int, **settings: Any) -> AaveMarketRows:
    return AaveMarketRows(MarketConfig(**STORMY | {"borrowers": 3} | settings), rows)


def players(env: AaveMarketRows, borrower: str, liquidator: str, seed: int = 0) -> dict[str, Strategy]:
    chosen = {"borrower": borrower, "liquidator": liquidator}
    return {role: baseline(env, name, seed=seed, role=role) for role, name in chosen.items()}


class Counting:
    """A policy with memory: its n-th action in an episode is the number n, and it notes whom it was shown."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def actions(self, observations: Any, state: Any, *, deterministic: bool, rng: np.random.Generator) -> Any:
        self.batches.append(len(observations))
        if not deterministic:
            return rng.integers(5, size=len(observations)), None
        seen = np.zeros(len(observations), dtype=np.int64) if state is None else state
        return seen % 3, seen + np.arange(len(seen)) % 2  # every other agent counts


@pytest.mark.slow(0.5)
@pytest.mark.parametrize("actions", ["discrete", "continuous"])
def test_a_role_earns_the_mean_of_what_its_agents_earn_in_the_environment_of_several_agents(actions: str) -> None:
    from mayavi.gym_env.market.env import AaveMarketEnv

    env = market(4, actions=actions)
    games = play_roles(env, players(env, "random", "close_factor_max", seed=3), range(8))
    single = AaveMarketEnv(env.config)
    ended = 0
    for episode in range(8):
        seen, _ = single.reset(options={"episode": episode})
        earned = dict.fromkeys(single.possible_agents, 0.0)
        gone: set[str] = set()
        lengths = {"borrower": 0, "liquidator": 0}
        over = False
        for step in games["borrower"].actions[episode]:
            assert not over
            split = [*step[:3], *step[3:]] if actions == "discrete" else [*step[:3, None], *step[3:].reshape(2, 2)]
            given = {name: one for name, one in zip(single.possible_agents, split, strict=True) if name in seen}
            for role in lengths:
                lengths[role] += any(name.startswith(role) for name in given)
            seen, rewards, terminated, truncated, _ = single.step(given)
            for name, reward in rewards.items():
                earned[name] += reward
            gone |= {name for name in rewards if terminated[name]}
            seen = {name: each for name, each in seen.items() if not (terminated[name] or truncated[name])}
            over = terminated["__all__"] or truncated["__all__"]
        assert over
        for role, played in games.items():
            own = [value for name, value in earned.items() if name.startswith(role)]
            assert played.rewards[episode] == pytest.approx(np.mean(own), abs=1e-15)
            assert played.terminated[episode] == sum(name.startswith(role) for name in gone)
            assert played.lengths[episode] == lengths[role]
        ended += len(gone)
    assert ended > 5, "these episodes are made so that some are liquidated"


@pytest.mark.slow(0.5)
def test_what_is_played_does_not_depend_on_how_many_play_at_once() -> None:
    wide, narrow = market(8), market(3)
    for names in (("hold_band", "best_share"), ("random", "random")):
        one, two = (play_roles(env, players(env, *names), range(7)) for env in (wide, narrow))
        for role in one:
            assert one[role].rewards.tolist() == two[role].rewards.tolist()
            assert one[role].fingerprints == two[role].fingerprints
            assert one[role].starts == two[role].starts
            assert len(one[role].rewards) == 7
    with pytest.raises(UsageError, match="no episode"):
        play_roles(wide, players(wide, "noop", "noop"), [])
    with pytest.raises(UsageError, match="several roles"):
        play(wide, "noop", [0])


def test_chance_and_draws_of_a_role_do_not_depend_on_who_plays_the_other() -> None:
    env = market(4)
    for drawn in (lambda: RandomPlay(5, role="borrower"), lambda: Trained("drawn", Counting(), False, 5, "borrower")):
        games = [
            play_roles(env, {"borrower": drawn(), "liquidator": baseline(env, name, role="liquidator")}, range(4))
            for name in ("noop", "close_factor_max")
        ]
        first, second = ([each[0, :3].tolist() for each in game["borrower"].actions] for game in games)
        assert first == second
        assert len({tuple(each) for each in first}) > 1


@pytest.mark.slow(0.3)
def test_a_game_is_its_start_and_what_all_agents_did_while_they_took_part() -> None:
    env = market(6)

    def last_differs(env: AaveMarketRows) -> Any:
        actions = np.zeros((env.rows, 2), dtype=np.int64)
        actions[:, 1] = (env.steps == env.config.horizon - 1) * 9  # of the third account, a thing to wait for in vain
        return actions

    def after_the_end(env: AaveMarketRows) -> Any:
        return np.where(env.columns["liquidated"], 4, 0)

    noop = play_roles(env, players(env, "noop", "noop"), range(6))
    assert noop["borrower"].fingerprints == noop["liquidator"].fingerprints
    assert noop["borrower"].distinct == 6
    other = {"borrower": baseline(env, "noop", role="borrower"), "liquidator": Scripted("late", last_differs)}
    assert not set(play_roles(env, other, range(6))["borrower"].fingerprints) & set(noop["borrower"].fingerprints)
    taken = play_roles(env, players(env, "noop", "close_factor_max"), range(6))
    assert taken["borrower"].terminated.sum() > 3
    ghosts = {
        "borrower": Scripted("ghost", after_the_end),
        "liquidator": baseline(env, "close_factor_max", role="liquidator"),
    }
    assert play_roles(env, ghosts, range(6))["borrower"].fingerprints == taken["borrower"].fingerprints
    fixed = play_roles(market(4, start="fixed"), players(env, "noop", "noop"), range(4))
    assert fixed["liquidator"].distinct == 1


def test_every_agent_has_a_memory_of_its_own_that_begins_with_the_episode() -> None:
    env, policy = market(4), Counting()
    told = {
        "borrower": Trained("counting", policy, role="borrower"),
        "liquidator": baseline(env, "noop", role="liquidator"),
    }
    game = play_roles(env, told, range(6))
    assert set(policy.batches) == {12}  # the last batch is as large as the others
    for number, actions in enumerate(game["borrower"].actions):
        first = number % 4 * 3  # where the agents of this row stand among all
        for agent in range(3):
            counts = (first + agent) % 2
            assert actions[:, agent].tolist() == [step * counts % 3 for step in range(len(actions))]

"""The searches find the optimum that trying every sequence in plain Python finds."""

from __future__ import annotations

import numpy as np
import pytest

from mayavi.errors import UnknownName, UsageError
from mayavi.rl.evaluation.play import play
from mayavi.rl.evaluation.strategies import Planned, Scripted
from mayavi.rl.search.action_grid import action_grid
from mayavi.rl.search.beam import rows_per_episode, search_beam
from mayavi.rl.search.exhaustive import rows_needed, search_exhaustively
from mayavi.rl.search.optimum import SearchSettings, find_optimum
from tests.rl.search.ladder_env import best_by_hand, ladder


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("block", [1, 4, 256])
def test_the_exhaustive_search_finds_the_best_of_all_sequences(dense: bool, block: int) -> None:
    env = ladder(3 * block, dense=dense)
    grid = action_grid(env)
    for episode in range(6):
        value, _ = best_by_hand(ladder(dense=dense), episode)
        found = search_exhaustively(env, episode, grid)
        assert found.value == pytest.approx(value, abs=1e-12)
        again = play(ladder(dense=dense), Planned("plan", {episode: found.plan}), [episode])
        assert again.rewards[0] == pytest.approx(value, abs=1e-12)


def test_equal_states_are_followed_once_and_the_walk_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    env = ladder(rows_needed(action_grid(ladder()), 2), start="fixed", horizon=7)
    grid = action_grid(env)
    reports: list[tuple[int, int]] = []
    waiting = 0
    kept = type(env).keep

    def counting(self, rows):
        nonlocal waiting
        waiting = max(waiting, len(rows))
        return kept(self, rows)

    monkeypatch.setattr(type(env), "keep", counting)
    found = search_exhaustively(env, 0, grid, progress=lambda done, total: reports.append((done, total)))
    assert found.merged > 0
    assert found.row_steps < sum(3**depth for depth in range(1, 8)) / 4  # most states are reached twice
    assert waiting <= 2 * 3
    assert reports[-1] == (3**7, 3**7)
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)


def test_forgetting_states_costs_time_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    env = ladder(12, start="fixed")
    grid = action_grid(env)
    whole = search_exhaustively(env, 0, grid)
    monkeypatch.setattr("mayavi.rl.search.exhaustive.MOST_REMEMBERED", 3)
    forgetful = search_exhaustively(env, 0, grid)
    assert forgetful.value == whole.value
    assert forgetful.row_steps > whole.row_steps


@pytest.mark.slow(1)
@pytest.mark.parametrize("dense", [False, True])
def test_a_beam_attains_what_it_says_and_never_less_than_a_script(dense: bool) -> None:
    grid = action_grid(ladder())
    episodes = list(range(20))
    env = ladder(20 * rows_per_episode(grid, 4), dense=dense)
    found = search_beam(env, episodes, grid, width=4)
    plans = dict(zip(episodes, [each.plan for each in found], strict=True))
    played = play(ladder(5, dense=dense), Planned("beam", plans), episodes)
    assert played.rewards.tolist() == pytest.approx([each.value for each in found], abs=1e-12)
    for name, script in env.strategies.items():
        assert (played.rewards >= play(ladder(5, dense=dense), Scripted(name, script), episodes).rewards - 1e-12).all()
    best = [best_by_hand(ladder(dense=dense), episode)[0] for episode in episodes]
    assert (played.rewards <= np.array(best) + 1e-12).all()
    assert (played.rewards == pytest.approx(best, abs=1e-12)) or played.rewards.mean() > 0.9 * np.mean(best)


def test_a_beam_wide_enough_for_everything_is_exhaustive() -> None:
    grid = action_grid(ladder())
    env = ladder(2 * rows_per_episode(grid, 250))
    assert [each.value for each in search_beam(env, [3, 4], grid, width=250)] == pytest.approx(
        [best_by_hand(ladder(), episode)[0] for episode in (3, 4)], abs=1e-12
    )


def test_auto_tries_everything_where_that_can_be_done_and_says_which_it_was() -> None:
    fixed = find_optimum(lambda rows: ladder(rows, start="fixed"), range(40))
    assert (fixed.method, fixed.exact, fixed.facts["distinct_starts"]) == ("exhaustive", True, 1)
    assert set(fixed.values.values()) == {fixed.values[0]}
    long = find_optimum(lambda rows: ladder(rows, horizon=20), [1, 2, 1])
    assert (long.method, long.exact, long.facts["bound"]) == ("beam", False, "lower")
    assert long.facts["sequences"] == str(3**20)
    forced = find_optimum(lambda rows: ladder(rows), [1, 2], SearchSettings("beam", width=3))
    assert (forced.method, forced.facts["width"]) == ("beam", 3)
    exact = find_optimum(lambda rows: ladder(rows), [1, 2], SearchSettings("exhaustive"))
    assert all(forced.values[episode] <= exact.values[episode] + 1e-12 for episode in (1, 2))


def test_a_continuous_space_is_searched_on_a_grid_that_is_told() -> None:
    found = find_optimum(lambda rows: ladder(rows, actions="continuous"), [0, 1], SearchSettings(points=3))
    assert found.facts["grid"] == {"whole": False, "actions": [[-1.0], [0.0], [1.0]]}
    # rounding makes the three points the three actions of the discrete ladder
    assert [found.values[0], found.values[1]] == pytest.approx([best_by_hand(ladder(), each)[0] for each in (0, 1)])
    with pytest.raises(UsageError, match="a grid of 1 points is too small"):
        action_grid(ladder(actions="continuous"), 1)


def test_a_search_that_cannot_be_is_refused() -> None:
    with pytest.raises(UnknownName, match="unknown search 'beem'") as refused:
        SearchSettings("beem")
    assert "did you mean 'beam'?" in str(refused.value.hint)
    with pytest.raises(UsageError, match="width 0"):
        SearchSettings(width=0)


def test_a_kept_row_goes_on_as_the_row_it_was_taken_from() -> None:
    env = ladder(4, dense=True)
    env.begin(range(4), [1, 2, 3, 4])
    env.step(np.array([0, 1, 2, 2]))
    kept = env.keep([1, 2])
    one = env.step(np.array([2, 2, 0, 1]))
    heights = env.columns["height"].copy()
    env.put(kept, [1, 0], [0, 3])
    again = env.step(np.array([0, 0, 0, 2]))
    assert again.rewards[3] == one.rewards[1]
    assert again.rewards[0] == one.rewards[2]
    assert (env.columns["height"][3], env.columns["height"][0]) == (heights[1], heights[2])
    assert env.episodes.tolist() == [3, 2, 3, 2]

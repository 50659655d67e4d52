"""What every environment promises, in every variant: both checkers, the spaces, rows that are independent."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_checks
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3.common.env_checker import check_env as sb3_checks

import mayavi.gym_env
from mayavi.errors import BadArgument, UnknownName, UsageError
from mayavi.gym_env import ENVS, entry, make_rows
from mayavi.gym_env.registry import make_single, make_vector
from mayavi.protocols.health import NO_DEBT
from tests.gym_env.variants import NAMES, OURS, SMALL, VARIANTS, choices, episode, of_row, rows_of

ROWS = 5


@pytest.mark.parametrize(("name", "settings"), VARIANTS)
def test_both_checkers_pass(name: str, settings: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = gymnasium.make(ENVS[name].id, **settings)
        gymnasium_checks(made.unwrapped, skip_render_check=True)  # `test_an_episode_can_be_looked_at` has it
        sb3_checks(make_single(name, **settings), warn=True)


@pytest.mark.parametrize(("name", "settings"), VARIANTS)
def test_a_batch_is_as_many_batches_of_one_on_any_number_of_threads(name: str, settings: dict[str, Any]) -> None:
    numbers = [3, 1, 4, 1, 5]
    batch, other = rows_of(name, settings, ROWS, threads=1), rows_of(name, settings, ROWS, threads=2)
    actions = choices(batch, 7)
    told = episode(batch, numbers, actions)
    again = episode(other, numbers, actions)
    single = rows_of(name, settings, 1)
    for row, number in enumerate(numbers):
        alone = episode(single, [number], [each[row : row + 1] for each in actions])
        assert of_row(told, row) == of_row(again, row) == of_row(alone, 0)
    for moment in told:
        assert moment["observations"].dtype == np.float32
        for seen in moment["observations"]:
            assert batch.observation_space.contains(seen)
    every = np.arange(ROWS)
    assert batch.identities(every) == other.identities(every)


@pytest.mark.parametrize(("name", "settings"), NAMES)
def test_an_episode_begins_over_and_over_at_the_same_place(name: str, settings: dict[str, Any]) -> None:
    env = rows_of(name, settings, 2)
    env.begin([0, 1], [8, 9])
    first = env.observe(), env.exact()
    for action in choices(env, 1)[:2]:
        env.step(action)
    env.begin([1], [8])
    assert env.observe()[1].tolist() == first[0][0].tolist()
    assert {key: values[1] for key, values in env.exact().items()} == {key: v[0] for key, v in first[1].items()}
    env.begin([0, 1], [8, 9])
    np.testing.assert_array_equal(env.observe(), first[0])
    assert env.exact() == first[1]


@pytest.mark.parametrize(("name", "settings"), NAMES)
def test_drawn_starts_differ_by_number_and_split_and_the_fixed_one_never(name: str, settings: dict[str, Any]) -> None:
    def starts(**more: Any) -> list[str]:
        env = rows_of(name, settings, 6, **more)
        env.begin(range(6), range(6))
        told = env.exact()
        return [str({key: values[row] for key, values in told.items()}) for row in range(6)]

    train, validation, test = (starts(split=split) for split in ("train", "validation", "test"))
    assert len({*train, *validation, *test}) == 18
    assert len({*starts(start="fixed"), *starts(start="fixed", split="test")}) == 1


@pytest.mark.parametrize(("name", "settings"), NAMES)
def test_a_row_that_is_not_live_stays_as_it_is_and_a_copied_one_goes_on_alike(
    name: str, settings: dict[str, Any]
) -> None:
    env = rows_of(name, settings, 3)
    env.begin(range(3), [2, 2, 6])
    actions = choices(env, 4)
    env.step(actions[0])
    before = env.identities(np.array([1])), {key: values[1] for key, values in env.exact().items()}, env.observe()[1]
    env.step(actions[1], np.array([True, False, True]))
    assert env.identities(np.array([1])) == before[0]
    assert {key: values[1] for key, values in env.exact().items()} == before[1]
    np.testing.assert_array_equal(env.observe()[1], before[2])
    assert env.steps.tolist() == [2, 1, 2]
    env.copy_rows([2], [0])
    same = np.stack([actions[2][2]] * 3)
    live = np.array([True, False, True])
    stepped = env.step(same, live)
    assert stepped.observations[0].tolist() == stepped.observations[2].tolist()
    assert stepped.rewards[0] == stepped.rewards[2]
    assert env.identities(np.array([0])) == env.identities(np.array([2]))
    assert env.episodes.tolist() == [6, 2, 6]


@pytest.mark.parametrize(("name", "settings"), NAMES)
def test_a_row_put_where_one_stood_goes_on_as_that_one_wherever_it_came_from(
    name: str, settings: dict[str, Any]
) -> None:
    env = rows_of(name, settings, 2)
    actions = [np.stack([each[0], each[0]]) for each in choices(env, 6)]
    env.begin([0, 1], [3, 4])
    env.step(actions[0])
    kept = env.keep([0])
    env.begin([0, 1], [5, 6])
    env.put(kept, [0], [0])
    env.copy_rows([0], [1])
    env.begin([0], [3])
    env.step(actions[0], np.array([True, False]))
    assert env.observe()[0].tolist() == env.observe()[1].tolist()
    stepped = env.step(actions[1])
    assert stepped.observations[0].tolist() == stepped.observations[1].tolist()
    assert stepped.rewards[0] == stepped.rewards[1]
    assert all(values[0] == values[1] for values in env.exact().values())
    for column in env.columns:
        np.testing.assert_array_equal(env.columns[column][0], env.columns[column][1], err_msg=column)


@pytest.mark.parametrize(("name", "settings"), VARIANTS)
def test_actions_that_are_no_numbers_are_refused_and_those_out_of_range_clipped_and_counted(
    name: str, settings: dict[str, Any]
) -> None:
    one, other = rows_of(name, settings, 2), rows_of(name, settings, 2)
    for env in (one, other):
        env.begin([0, 1], [0, 1])
    discrete = settings["actions"] == "discrete"
    shape = (2, *(one.action_space.shape or ()))
    with pytest.raises(BadArgument, match="row 1 is not a number"):
        one.step(np.concatenate((np.zeros((1, *shape[1:])), np.full((1, *shape[1:]), np.nan))))
    with pytest.raises(BadArgument, match="shape"):
        one.step(np.zeros((3, *shape[1:])))
    with pytest.raises(BadArgument, match="the action of row 0 is 'all', text"):
        one.step(np.full(shape, "all"))
    if discrete:
        with pytest.raises(BadArgument, match="not a whole number"):
            one.step(np.full(shape, 0.5))
    assert one.steps.tolist() == [0, 0]
    most = one.action_space.n - 1 if discrete else 1.0  # type: ignore[attr-defined]
    wild = one.step(np.full(shape, 1e300 if discrete else 1.5))
    tame = other.step(np.full(shape, most))
    np.testing.assert_array_equal(wild.observations, tame.observations)
    assert one.clipped.tolist() == [1, 1]
    assert other.clipped.tolist() == [0, 0]
    single = make_single(name, **settings)
    single.reset(seed=1)
    info = single.step(np.full(shape[1:], -7, dtype=np.float32))[4]
    assert info["clipped_actions"] == 1


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize(("name", "settings"), NAMES)
def test_a_batch_starts_anew_as_gymnasiums_own_batch_of_singles_does(
    name: str, settings: dict[str, Any], mode: AutoresetMode
) -> None:
    short = settings | {"horizon": 3}
    ours = gymnasium.make_vec(ENVS[name].id, 3, vectorization_mode="vector_entry_point", autoreset_mode=mode, **short)
    theirs = SyncVectorEnv([lambda: make_single(name, **short)] * 3, autoreset_mode=mode)
    assert ours.metadata["autoreset_mode"] is mode
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    same(ours.reset(seed=11), theirs.reset(seed=11))
    theirs.action_space.seed(5)
    for _ in range(8):
        actions = theirs.action_space.sample()
        one, other = ours.step(actions), theirs.step(actions)
        same(one[:4], other[:4])
        same(one[4], other[4])
        over = other[2] | other[3]
        if mode is AutoresetMode.DISABLED and over.any():
            options = {"reset_mask": over}
            np.testing.assert_array_equal(ours.reset(options=dict(options))[0], theirs.reset(options=dict(options))[0])


def same(ours: Any, theirs: Any) -> None:
    """The same values, whatever holds them; of infos those that the masks say are told."""
    if isinstance(theirs, dict):
        assert set(theirs) <= set(ours)
        for key, values in theirs.items():
            told = theirs.get(f"_{key}")
            if told is None or isinstance(values, dict):
                same(ours[key], values)
            else:
                same(tuple(ours[key][told]), tuple(values[told]))
    elif isinstance(theirs, tuple):
        for one, other in zip(ours, theirs, strict=True):
            same(one, other)
    else:
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("name", "settings"), NAMES)
def test_every_scripted_strategy_plays_an_episode_in_both_action_spaces(name: str, settings: dict[str, Any]) -> None:
    kind = entry(name).load()
    assert kind.strategies
    for actions in ("discrete", "continuous"):
        env = rows_of(name, settings, 4, actions=actions)
        for strategy in kind.strategies.values():
            env.begin(range(4), range(4))
            live = np.ones(4, dtype=np.bool_)
            while live.any():
                chosen = strategy(env)
                assert all(env.action_space.contains(each) for each in chosen)
                live = live & ~env.step(chosen, live).done
            assert not env.clipped.any()


@pytest.mark.parametrize(("name", "settings"), NAMES)
def test_an_episode_can_be_read(name: str, settings: dict[str, Any]) -> None:
    text = make_single(name, render_mode="ansi", **settings)
    text.reset(options={"episode": 17})
    text.step(text.action_space.sample())
    table = text.render()
    assert table.startswith(f"{name} · train · episode 17 · step 1 of {text.env.config.horizon}\n")
    for label, values in text.env.exact().items():
        (line,) = [each for each in table.splitlines() if each.split()[0] == label]
        if isinstance(values[0], int) and values[0] != NO_DEBT:
            assert int(line.split()[1].replace(",", "")) == values[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        pytest.param(name, SMALL.get(name, {}), marks=[] if name in {"aave", "rwa"} else [pytest.mark.slow], id=name)
        for name in OURS
    ],
)
def test_an_episode_can_be_looked_at(name: str, settings: dict[str, Any]) -> None:
    """The wrapper of `gymnasium.make` checks the first picture or text of each mode."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mode in entry(name).load().render_modes:
            made: Any = gymnasium.make(ENVS[name].id, render_mode=mode, **settings)
            assert made.metadata["render_modes"] == list(entry(name).load().render_modes)
            made.reset(seed=3)
            first = made.render()
            if mode == "rgb_array":
                drawn, pictures = made, [first]
    drawn.step(drawn.action_space.sample())
    pictures.append(drawn.render())
    for picture in pictures:
        assert isinstance(picture, np.ndarray)
        assert picture.dtype == np.uint8
        assert picture.shape == pictures[0].shape
        assert picture.ndim == 3
        assert picture.shape[2] == 3
        assert len(np.unique(picture)) > 10
    assert not any(np.array_equal(pictures[0], later) for later in pictures[1:])

    batch = make_vector(name, num_envs=2, render_mode="ansi", **settings)
    batch.reset(seed=1)
    assert len(batch.render()) == 2


def test_who_owes_nothing_is_shown_without_a_health_factor() -> None:
    env = make_single("aave", render_mode="ansi", start="fixed")
    env.reset()
    assert "no debt" not in env.render()
    env.step(1)  # repays all of it
    (line,) = [each for each in env.render().splitlines() if each.split()[0] == "health_factor_wad"]
    assert line.split(maxsplit=1)[1] == "no debt"


def test_unknown_names_are_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="unknown environment 'vestin'") as unknown:
        make_rows("vestin")
    assert "did you mean 'vesting'?" in str(unknown.value.hint)
    with pytest.raises(UsageError, match="no setting 'inventry'") as setting:
        make_rows("vesting", inventry=1.0)
    assert "inventory" in str(setting.value.hint)
    with pytest.raises(UsageError, match="setting 'horizon' is 0"):
        make_rows("vesting", horizon=0)
    with pytest.raises(UsageError, match="render mode 'ansy'"):
        make_single("vesting", render_mode="ansy")
    with pytest.raises(UsageError, match="autoreset mode 'never'"):
        make_vector("vesting", autoreset_mode="never")
    with pytest.raises(UsageError, match="0 rows"):
        make_rows("vesting", 0)


def test_rows_without_an_episode_do_not_step_and_resets_know_their_options() -> None:
    env = make_single("vesting")
    with pytest.raises(UsageError, match="no episode yet"):
        env.step(0)
    with pytest.raises(UsageError, match="no option 'epsiode'"):
        env.reset(options={"epsiode": 3})
    with pytest.raises(UsageError, match="nothing to show"):
        make_single("vesting", render_mode="ansi").render()
    _, info = env.reset(options={"episode": 12})
    assert info["episode_number"] == 12


def test_all_are_registered_with_gymnasium() -> None:
    assert {each.id for each in OURS.values()} <= set(gymnasium.registry)
    assert set(SMALL) <= set(OURS)
    assert mayavi.gym_env.__doc__ is not None

"""Actions that are not numbers, or of another shape, are refused with the place and what to give; nothing changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from mayavi.errors import BadArgument
from mayavi.gym_env import make_rows
from mayavi.gym_env.action_clipping import clip_actions
from mayavi.gym_env.registry import make_single, make_vector

FIVE = spaces.Discrete(5)
PAIR = spaces.Box(-1.0, 1.0, (2,))

BAD = [
    (FIVE, ["noop", "repay", "noop"], "the action of row 0 is 'noop', text", "a whole number from 0 to 4"),
    (FIVE, [1, "repay", 2], "the action of row 1 is 'repay', text", "a whole number from 0 to 4"),
    (FIVE, np.array(["0", "1", "2"]), "the action of row 0 is '0', text", "a whole number from 0 to 4"),
    (FIVE, [b"0", 1, 2], "the action of row 0 is b'0', bytes", "a whole number from 0 to 4"),
    (FIVE, np.array([1, None, 2], dtype=object), "the action of row 1 is None, of type NoneType", "from 0 to 4"),
    (FIVE, np.array([1, 3, 2], dtype=object), "actions are an array of objects", "`actions.astype(float)`"),
    (FIVE, [True, False, True], "the action of row 0 is True, true or false", "a whole number from 0 to 4"),
    (FIVE, [1, 2j, 3], "the action of row 1 is 2j, of type complex", "a whole number from 0 to 4"),
    (FIVE, [1, 2], "actions have the shape (2,)", "3 rows take the shape (3,): a whole number from 0 to 4 each"),
    (FIVE, "repay", "actions have the shape () and hold 'repay', text", "3 rows take the shape (3,)"),
    (FIVE, None, "actions have the shape () and hold None", "3 rows take the shape (3,)"),
    (FIVE, [[1], [2, 3], [1]], "lists of unequal lengths", "3 rows take a whole number from 0 to 4 each"),
    (FIVE, [1, 2, np.nan], "the action of row 2 is not a number: nan", "a whole number from 0 to 4"),
    (FIVE, [1, 0.5, 2], "the action of row 1 is 0.5, not a whole number", "a whole number from 0 to 4"),
    (PAIR, [[0, 0], [0, "x"], [0, 0]], "the action of row 1 is 'x', text", "2 numbers from -1 to 1"),
    (PAIR, [[0, 0], [0, 0], [np.inf, 0]], "the action of row 2 is not a number: [inf, 0.0]", "2 numbers from -1 to 1"),
    (PAIR, [0.5, 0.5, 0.5], "actions have the shape (3,)", "the shape (3, 2): 2 numbers from -1 to 1 each"),
]


@pytest.mark.parametrize(("space", "actions", "message", "hint"), BAD, ids=lambda value: str(value)[:32])
def test_an_action_that_cannot_be_played_is_named_with_what_is_expected(
    space: spaces.Space[Any], actions: Any, message: str, hint: str
) -> None:
    with pytest.raises(BadArgument) as refused:
        clip_actions(space, actions, np.ones(3, dtype=np.bool_))
    assert message in str(refused.value)
    assert hint in str(refused.value.hint)


def test_the_actions_of_rows_that_do_not_act_may_be_nan_but_no_text() -> None:
    alive = np.array([True, False, True])
    played, clipped = clip_actions(FIVE, [1.0, np.nan, 9.0], alive)
    assert (played.tolist(), clipped.tolist()) == ([1, 0, 4], [False, False, True])
    with pytest.raises(BadArgument, match="row 1 is 'x'"):
        clip_actions(FIVE, [1, "x", 2], alive)


WRONG: list[Any] = [["a", "b", "c"], [0, None, 0], [0, 0], [0, np.nan, 0], "abc"]


@pytest.mark.parametrize("actions", WRONG, ids=str)
def test_rows_do_not_change(actions: Any) -> None:
    env = make_rows("aave", 3)
    env.begin(range(3), range(3))
    env.step([0, 1, 2])
    chains, seen = env.identities(np.arange(3)), env.observe().copy()
    columns = {name: each.copy() for name, each in env.columns.items()}
    with pytest.raises(BadArgument):
        env.step(actions)
    assert env.identities(np.arange(3)) == chains
    for name, column in env.columns.items():
        np.testing.assert_array_equal(column, columns[name])
    np.testing.assert_array_equal(env.observe(), seen)


@pytest.mark.parametrize("actions", WRONG, ids=str)
@pytest.mark.parametrize("mode", ["next_step", "same_step"])
def test_a_batch_with_ended_episodes_goes_on_as_if_it_had_not_been_asked(mode: str, actions: Any) -> None:
    batches = [make_vector("rwa", num_envs=3, horizon=2, autoreset_mode=mode, actions="discrete") for _ in range(2)]
    for batch in batches:
        batch.reset(seed=4)
        batch.step([0, 0, 0])
        batch.reset(options={"reset_mask": [False, True, False]})
        batch.step([0, 0, 0])  # the first and the last episode have ended
    with pytest.raises(BadArgument):
        batches[0].step(actions)
    np.testing.assert_array_equal(batches[0].env.episodes, batches[1].env.episodes)
    np.testing.assert_array_equal(batches[0].play.over, batches[1].play.over)
    for _ in range(3):
        for mine, its in zip(*(batch.step([0, 1, 1])[:4] for batch in batches), strict=True):
            np.testing.assert_array_equal(mine, its)


@pytest.mark.parametrize(
    ("action", "message", "hint"),
    [
        ("repay", "the action is 'repay', text, not a number", "give a whole number from 0 to 2"),
        (None, "the action is None, of type NoneType", "give a whole number from 0 to 2"),
        ([1], "an action has the shape (1,)", "it takes the shape (): a whole number from 0 to 2"),
        (float("nan"), "is not a number: nan", "a whole number from 0 to 2"),
        (0.5, "is 0.5, not a whole number", "a whole number from 0 to 2"),
    ],
)
def test_a_single_environment_says_what_it_takes(action: Any, message: str, hint: str) -> None:
    env = make_single("aave")
    env.reset(seed=1)
    with pytest.raises(BadArgument) as refused:
        env.step(action)
    assert message in str(refused.value)
    assert hint in str(refused.value.hint)
    assert env.step(0)[4]["step"] == 1


def test_of_several_agents_the_one_is_named() -> None:
    pytest.importorskip("ray.rllib", reason="`pip install 'mayavi-sim[rl]'` installs RLlib")
    from mayavi.gym_env.market.env import AaveMarketEnv

    env = AaveMarketEnv(borrowers=2, liquidators=1)
    env.reset(seed=1)
    actions = dict.fromkeys(env.agents, 0)
    for bad, message in (("repay", "the action of borrower_1 is 'repay', text"), ([0, 1], "borrower_1 has the shape")):
        with pytest.raises(BadArgument, match="borrower_1") as refused:
            env.step(actions | {"borrower_1": bad})
        assert message in str(refused.value)
    assert env.rows.steps.tolist() == [0]

    rows = make_rows("market", 2, borrowers=2, liquidators=1)
    rows.begin([0, 1], [0, 1])
    given: dict[str, Any] = {"borrower": np.zeros((2, 2), dtype=int), "liquidator": np.zeros((2, 1), dtype=int)}
    for bad, message in (
        ([[0, 0], [0, "x"]], "the action of borrower_1 in row 1 is 'x', text"),
        ([[0, 0], [0, None]], "the action of borrower_1 in row 1 is None"),
        ([0, 0, 0, 0], "actions of role 'borrower' have the shape (4,)"),
        ([[0, 0], [0]], "actions of role 'borrower': lists of unequal lengths"),
        ([[0, 0], [np.nan, 0]], "the action of borrower_0 in row 1 is not a number: nan"),
    ):
        with pytest.raises(BadArgument) as refused:
            rows.step({**given, "borrower": bad})
        assert message in str(refused.value)
    assert rows.steps.tolist() == [0, 0]
    assert rows.clipped_by_agent.sum() == 0

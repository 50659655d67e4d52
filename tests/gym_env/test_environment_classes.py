"""Environment classes are Gymnasium environments, and the ones that `gymnasium.make` gives."""

from __future__ import annotations

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import mayavi.gym_env
from mayavi.errors import UsageError
from mayavi.gym_env import ENVS, AaveBorrowerEnv, VestingEnv
from tests.gym_env.variants import OURS


def test_a_class_takes_settings_and_plays_what_make_plays() -> None:
    assert issubclass(AaveBorrowerEnv, gymnasium.Env)
    env = AaveBorrowerEnv(horizon=3)
    made = gymnasium.make("mayavi/AaveBorrower-v0", horizon=3)
    assert type(made.unwrapped) is AaveBorrowerEnv
    seen, info = env.reset(seed=4)
    also, same = made.reset(seed=4)
    assert (seen == also).all()
    assert info == same
    for _ in range(3):
        action = int(env.action_space.sample())
        one, other = env.step(action), made.step(action)
        assert (one[0] == other[0]).all()
        assert one[1:] == other[1:]
    assert one[3]  # truncated after `horizon` steps


@pytest.mark.parametrize("name", OURS)
def test_every_environment_has_a_class(name: str) -> None:
    found = ENVS[name].load_single()
    assert isinstance(found, type)
    assert issubclass(found, gymnasium.Env)
    assert getattr(mayavi.gym_env, found.__name__) is found
    assert type(mayavi.gym_env.make_single(name)) is found


def test_the_class_of_the_market_is_there_too() -> None:
    pytest.importorskip("ray", reason="`pip install 'mayavi-sim[rl]'` installs RLlib")
    from ray.rllib.env.multi_agent_env import MultiAgentEnv

    assert issubclass(mayavi.gym_env.AaveMarketEnv, MultiAgentEnv)


def test_the_checker_of_gymnasium_accepts_a_class() -> None:
    check_env(VestingEnv(horizon=4), skip_render_check=True)


def test_an_unknown_class_and_an_unknown_setting_are_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'AaveBorowerEnv'"):
        mayavi.gym_env.AaveBorowerEnv  # noqa: B018
    with pytest.raises(UsageError, match=r"(unknown|has no) setting 'horizn'"):
        AaveBorrowerEnv(horizn=3)

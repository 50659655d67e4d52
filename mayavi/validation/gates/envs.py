"""Gate `envs`: the public checkers on every registered environment, and repeated seeded episodes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mayavi.errors import MayaviError
from mayavi.setup_errors import RL_HINT
from mayavi.validation.gate import GateContext, GateReport, GateSkipped, Progress, Tally

SMALL: Mapping[str, Mapping[str, Any]] = {
    "liquidator": {"borrowers": 3, "horizon": 8},
    "market": {"horizon": 8},
    "rwa": {"horizon": 12},
}
"""Settings that shorten episodes."""
SEED = 11


@dataclass(frozen=True, slots=True)
class EnvsGate:
    """Run Gymnasium's and Stable-Baselines3's checkers, and play each seeded episode twice."""

    envs: Sequence[str] = ()
    """Names of environments; by default all registered ones."""
    name: str = "envs"
    what: str = "environments: public checkers, and repeated seeded episodes"

    def run(self, context: GateContext, progress: Progress) -> GateReport:
        """Check every environment; several agents are checked by RLlib's rules."""
        _require_packages()
        from mayavi.gym_env.registry import ENVS, MULTI_AGENT, entry

        chosen, tally = [entry(name).name for name in self.envs] or [*ENVS, *MULTI_AGENT], Tally()
        for done, name in enumerate(chosen):
            progress(done, len(chosen))
            settings = SMALL.get(name, {})
            for check in _MULTI_AGENT_CHECKS if name in MULTI_AGENT else _CHECKS:
                difference = _difference(check, name, settings)
                tally.check(not difference, f"{name}, {check.__name__.strip('_')}: {difference}", part=name)
        progress(len(chosen), len(chosen))
        return tally.report(self.what)


def _require_packages() -> None:
    try:
        import gymnasium  # noqa: F401
        import ray  # noqa: F401
        import stable_baselines3  # noqa: F401
    except ModuleNotFoundError as error:
        raise GateSkipped(f"environments need {error.name}, which is not installed", RL_HINT) from error


def _difference(check: Any, name: str, settings: Mapping[str, Any]) -> str:
    """Run one check; return what it objects to, or nothing. A warning of a checker is an objection."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return str(check(name, settings) or "")
    except (AssertionError, MayaviError, Warning, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def _gymnasium_checker(name: str, settings: Mapping[str, Any]) -> None:
    from gymnasium.utils.env_checker import check_env

    from mayavi.gym_env.registry import make_single

    check_env(make_single(name, **settings), skip_render_check=True)


def _sb3_checker(name: str, settings: Mapping[str, Any]) -> None:
    from stable_baselines3.common.env_checker import check_env

    from mayavi.gym_env.registry import make_single

    check_env(make_single(name, **settings), warn=True)


def _seeded_episode(name: str, settings: Mapping[str, Any]) -> str:
    first, second = (_episode(name, settings) for _ in range(2))
    return _unequal(first, second)


def _episode(name: str, settings: Mapping[str, Any]) -> list[list[Any]]:
    """Play one episode with seeded random actions; return observations, rewards and ends of each step."""
    from mayavi.gym_env.registry import make_single

    env = make_single(name, **settings)
    observation, _ = env.reset(seed=SEED)
    env.action_space.seed(SEED)
    moments: list[list[Any]] = [[observation.tolist()]]
    over = False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        moments.append([observation.tolist(), float(reward), terminated, truncated])
        over = terminated or truncated
    return moments


def _agents_and_spaces(name: str, settings: Mapping[str, Any]) -> str:
    """Check RLlib's rules: acting agents are observed and rewarded, observations lie in their spaces."""
    env = _multi_agent(name, settings)
    observations, _ = env.reset(seed=SEED)
    if set(observations) != set(env.agents):
        return "reset observes other agents than those that act"
    for _ in range(env.rows.config.horizon):
        actions = {agent: env.action_spaces[agent].sample() for agent in env.agents}
        observations, rewards, terminated, truncated, _ = env.step(actions)
        for agent, seen in observations.items():
            if not env.observation_spaces[agent].contains(seen):
                return f"the observation of {agent} lies outside its space"
        if not set(observations) <= set(env.possible_agents) or not set(rewards) <= set(env.possible_agents):
            return "step names an agent that does not exist"
        if not all(isinstance(each, float) for each in rewards.values()):
            return "a reward is not a float"
        if terminated["__all__"] or truncated["__all__"]:
            return ""
    return f"the episode did not end after {env.rows.config.horizon} steps"


def _seeded_multi_agent_episode(name: str, settings: Mapping[str, Any]) -> str:
    first, second = (_multi_agent_episode(name, settings) for _ in range(2))
    return _unequal(first, second)


def _multi_agent_episode(name: str, settings: Mapping[str, Any]) -> list[list[Any]]:
    env = _multi_agent(name, settings)
    observations, _ = env.reset(seed=SEED)
    for number, agent in enumerate(env.possible_agents):
        env.action_spaces[agent].seed(SEED + number)
    moments: list[list[Any]] = [[{agent: seen.tolist() for agent, seen in observations.items()}]]
    over = False
    while not over:
        actions = {agent: env.action_spaces[agent].sample() for agent in env.agents}
        observations, rewards, terminated, truncated, _ = env.step(actions)
        seen = {agent: each.tolist() for agent, each in observations.items()}
        moments.append([seen, rewards, terminated, truncated])
        over = terminated["__all__"] or truncated["__all__"]
    return moments


def _multi_agent(name: str, settings: Mapping[str, Any]) -> Any:
    from mayavi.gym_env.adapters.multi_agent import MayaviMultiAgentEnv
    from mayavi.gym_env.registry import make_rows

    return MayaviMultiAgentEnv(make_rows(name, 1, **settings))


def _unequal(first: list[list[Any]], second: list[list[Any]]) -> str:
    if len(first) != len(second):
        return f"{len(first) - 1} steps, and {len(second) - 1} the second time"
    for step, (one, other) in enumerate(zip(first, second, strict=True)):
        if one != other:
            return f"step {step} gave {one}, and {other} the second time"
    return ""


_CHECKS = (_gymnasium_checker, _sb3_checker, _seeded_episode)
_MULTI_AGENT_CHECKS = (_agents_and_spaces, _seeded_multi_agent_episode)

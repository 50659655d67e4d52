"""RLlib `MultiAgentEnv` for one row of an environment with several roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import SetupError, UnknownName, UsageError
from mayavi.gym_env.action_checks import numeric_action
from mayavi.gym_env.episodes import next_episode
from mayavi.gym_env.roles import Stepped
from mayavi.gym_env.rows import RowsEnv
from mayavi.setup_errors import RL_HINT

try:
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
except ModuleNotFoundError as error:
    raise SetupError(
        f"an environment of several agents needs {error.name}, which is not installed",
        RL_HINT,
    ) from error


def policy_of(agent_id: str, *_: Any, **__: Any) -> str:
    """Role of an agent, which is also its policy; a `policy_mapping_fn`."""
    return agent_id.rpartition("_")[0]


class MayaviMultiAgentEnv(MultiAgentEnv):  # type: ignore[misc]  # RLlib has no types
    """Agents named `ROLE_0`, `ROLE_1`, …, which all act at once.

    `reset(options={"episode": 17})` plays a chosen episode. With `exact_info` the info `__common__` holds the exact
    integers of the whole row.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"]}

    def __init__(self, rows: RowsEnv[Any], *, exact_info: bool = True, render_mode: str | None = None) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise UsageError(f"render mode '{render_mode}' is not known", "take ansi")
        self.rows, self.exact_info, self.render_mode = rows, exact_info, render_mode
        self.possible_agents = list(rows.agents)
        self.agents = list(self.possible_agents)
        pairs = [(name, role) for role in rows.roles for name in role.agent_names]
        self.observation_spaces = {name: role.observation_space for name, role in pairs}
        self.action_spaces = {name: role.action_space for name, role in pairs}
        super().__init__()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start the next episode, or the one of `options["episode"]`."""
        super().reset(seed=seed)
        options = dict(options or {})
        chosen = options.pop("episode", None)
        if options:
            raise UsageError(f"reset has no option '{next(iter(options))}'", "it has episode")
        self.rows.begin([0], [next_episode(self.np_random) if chosen is None else chosen])
        self.agents = list(self.possible_agents)
        return self._observations(self.rows.observe()), self._infos()

    def step(
        self, action_dict: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]:
        """Play the actions of all agents that still act."""
        acting = self.rows.acting()[0].tolist()
        self.agents = [each for each, acts in zip(self.possible_agents, acting, strict=True) if acts]
        for name in action_dict:
            if name not in self.agents:
                raise UnknownName.of("agent", name, self.agents, f"acting agents: {', '.join(self.agents)}")
        missing = [name for name in self.agents if name not in action_dict]
        if missing:
            raise UsageError(f"agent '{missing[0]}' has no action", "give an action for every acting agent")
        return self._outcome(
            self.rows.step({role.name: self._joined(action_dict, role.agent_names) for role in self.rows.roles})
        )

    def _joined(self, actions: Mapping[str, Any], names: tuple[str, ...]) -> NDArray[Any]:
        """Actions of one role as (1, agents, …); zeros for agents that no longer act."""
        space = self.action_spaces[names[0]]
        none = np.zeros(space.shape or ())
        return np.stack([numeric_action(space, actions.get(name, none), name) for name in names])[None]

    def _outcome(
        self, stepped: Stepped
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]:
        places = {name: self.possible_agents.index(name) for name in self.agents}
        terminated, truncated = ({name: bool(end[0, at]) for name, at in places.items()}
                                 for end in (stepped.terminated, stepped.truncated))  # fmt: skip
        over = not (self.rows.acting()[0] & ~stepped.truncated[0]).any()
        everybody = all(terminated.values())
        terminated["__all__"], truncated["__all__"] = over and everybody, over and not everybody
        rewards = {name: float(stepped.rewards[0, at]) for name, at in places.items()}
        return self._observations(stepped.observations), rewards, terminated, truncated, self._infos()

    def _observations(self, by_role: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        seen = dict(zip(self.possible_agents, (one for each in by_role.values() for one in each[0]), strict=True))
        return {name: seen[name] for name in self.agents}

    def _infos(self) -> dict[str, Any]:
        infos: dict[str, Any] = {name: {} for name in self.agents}
        if self.exact_info:
            infos["__common__"] = {
                **{name: values[0] for name, values in self.rows.exact().items()},
                "episode_number": int(self.rows.episodes[0]),
                "step": int(self.rows.steps[0]),
                "clipped_actions": self.rows.clipped_by_agent[0].tolist(),
            }
        return infos

    def render(self) -> str | None:
        """Text with one line for each figure of the row."""
        if self.render_mode is None:
            return None
        return "\n".join(f"{label}: {value}" for label, value in self.rows.describe_row(0))

"""`AaveMarketEnv`: borrowers against liquidators in one Aave market, for RLlib.

from mayavi.gym_env.market.env import AaveMarketEnv

env = AaveMarketEnv(borrowers=4, liquidators=2)
observations, infos = env.reset(seed=1)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import SetupError, UnknownName, UsageError
from mayavi.gym_env.configuration import configured
from mayavi.gym_env.episodes import next_episode
from mayavi.gym_env.market.config import MarketConfig
from mayavi.gym_env.market.rows import AaveMarketRows, MarketStepped
from mayavi.gym_env.registry import chosen_world

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.worlds.source import WorldSource

try:
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
except ModuleNotFoundError as error:
    raise SetupError(
        f"an environment of several agents needs {error.name}, which is not installed",
        "`pip install 'mayavi-sim[rl]'` installs it",
    ) from error


def policy_of(agent_id: str, *_: Any, **__: Any) -> str:
    """The policy that plays an agent; a `policy_mapping_fn`."""
    return agent_id.partition("_")[0]


class AaveMarketEnv(MultiAgentEnv):  # type: ignore[misc]  # RLlib has no types
    """`borrower_0`, …, `liquidator_0`, …: all act at once, and a lot decides who comes first.

    A borrower that is liquidated is terminated with a reward of -1 and acts no more; its account stays in the market.
    Liquidators are terminated when no borrower is left that acts or whose debt has collateral, and everybody else is
    truncated after `horizon` steps. What the agents see, do and earn is in `market_rows`.
    `reset(options={"episode": 17})` plays a chosen episode. With `exact_info` the info `__common__` holds the exact
    integers of the whole market.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"]}

    def __init__(
        self,
        config: Mapping[str, object] | MarketConfig | None = None,
        *,
        world: WorldSource | Fork | None = None,
        source: str | None = None,
        threads: int | None = 1,
        exact_info: bool = True,
        render_mode: str | None = None,
        **settings: object,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise UsageError(f"render mode '{render_mode}' is not known", "take ansi")
        place = chosen_world(world, source)
        self.rows = AaveMarketRows(configured(MarketConfig, config, settings), 1, world=place, threads=threads)
        self.exact_info, self.render_mode = exact_info, render_mode
        self.possible_agents = list(self.rows.agents)
        self.agents = list(self.possible_agents)
        self._borrowers = self.possible_agents[: self.rows.config.borrowers]
        self._liquidators = self.possible_agents[self.rows.config.borrowers :]
        kinds = [policy_of(each) == "borrower" for each in self.possible_agents]
        seen = {True: self.rows.borrower_space, False: self.rows.liquidator_space}
        done = {True: self.rows.borrower_actions, False: self.rows.liquidator_actions}
        self.observation_spaces = {each: seen[kind] for each, kind in zip(self.possible_agents, kinds, strict=True)}
        self.action_spaces = {each: done[kind] for each, kind in zip(self.possible_agents, kinds, strict=True)}
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
        return self._observations(self.rows.borrowers_see(), self.rows.liquidators_see()), self._infos()

    def step(
        self, action_dict: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]:
        """Play the actions of all agents that still take part."""
        acting = self.rows.acting()[0].tolist()
        self.agents = [each for each, acts in zip(self.possible_agents, acting, strict=True) if acts]
        for name in action_dict:
            if name not in self.agents:
                raise UnknownName.of("agent", name, self.agents, f"there act: {', '.join(self.agents)}")
        missing = [name for name in self.agents if name not in action_dict]
        if missing:
            raise UsageError(f"agent '{missing[0]}' has no action", "all agents that take part act at once")
        stepped = self.rows.step_all(
            self._joined(action_dict, self._borrowers), self._joined(action_dict, self._liquidators)
        )
        return self._told(stepped)

    def _joined(self, actions: Mapping[str, Any], names: list[str]) -> NDArray[Any]:
        """The actions of agents of one kind as (1, agents, …); zeros for those that act no more."""
        none = np.zeros(self.action_spaces[names[0]].shape or ())
        return np.stack([np.asarray(actions.get(name, none)) for name in names])[None]

    def _told(self, stepped: MarketStepped) -> tuple[Any, ...]:
        places = [self.possible_agents.index(name) for name in self.agents]
        ends = stepped.terminated[0], stepped.truncated[0]
        terminated, truncated = ({name: bool(end[at]) for name, at in zip(self.agents, places, strict=True)}
                                 for end in ends)  # fmt: skip
        over = not (self.rows.acting()[0] & ~stepped.truncated[0]).any()
        everybody = all(terminated.values())
        terminated["__all__"], truncated["__all__"] = over and everybody, over and not everybody
        rewards = {name: float(stepped.rewards[0, at]) for name, at in zip(self.agents, places, strict=True)}
        return self._observations(stepped.borrowers, stepped.liquidators), rewards, terminated, truncated, self._infos()

    def _observations(self, borrowers: NDArray[Any], liquidators: NDArray[Any]) -> dict[str, Any]:
        seen = dict(zip(self.possible_agents, [*borrowers[0], *liquidators[0]], strict=True))
        return {name: seen[name] for name in self.agents}

    def _infos(self) -> dict[str, Any]:
        infos: dict[str, Any] = {name: {} for name in self.agents}
        if self.exact_info:
            told = {name: values[0] for name, values in self.rows.exact().items()}
            episode = int(self.rows.episodes[0]), int(self.rows.steps[0]), self.rows.columns["clipped_by"][0].tolist()
            infos["__common__"] = told | dict(zip(("episode_number", "step", "clipped_actions"), episode, strict=True))
        return infos

    def render(self) -> str | None:
        """The market in words, one line a figure."""
        if self.render_mode is None:
            return None
        return "\n".join(f"{label}: {value}" for label, value in self.rows.tells(0))

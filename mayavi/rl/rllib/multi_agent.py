"""Multi-agent training environments of RLlib's runners: one row each, which can be saved and resumed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mayavi.gym_env.adapters.multi_agent import MayaviMultiAgentEnv
from mayavi.gym_env.rows import RowsEnv
from mayavi.rl.training.global_rng import spread_seed
from mayavi.rl.training.training_signal import TrainingSignal


class TrainingAgents(MayaviMultiAgentEnv):
    """One row with several agents, with rewards and episode ends from `TrainingSignal`."""

    def __init__(self, rows: RowsEnv[Any], *, runner: int, signal: TrainingSignal) -> None:
        super().__init__(rows, exact_info=False)
        self.runner, self.signal = runner, signal
        self._played: list[dict[str, Any]] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Start the next episode. Runners whose seeds are neighbours play different episodes."""
        self._played = []
        return super().reset(
            seed=None if seed is None else spread_seed(seed, f"market of runner {self.runner}"), options=options
        )

    def step(self, action_dict: Mapping[str, Any]) -> Any:
        """Play the actions of all agents."""
        self._played.append(dict(action_dict))
        observations, rewards, terminated, truncated, infos = super().step(action_dict)
        ends = {name: self.signal.ends(terminated[name], truncated[name]) for name in terminated}
        terminated, truncated = ({name: both[at] for name, both in ends.items()} for at in (0, 1))
        return (
            observations,
            {name: self.signal.reward(each) for name, each in rewards.items()},
            terminated,
            truncated,
            infos,
        )

    def state(self) -> dict[str, Any]:
        """Episode number, its actions so far and the RNG state, for a checkpoint."""
        return {
            "episode": int(self.rows.episodes[0]),
            "played": self._played,
            "chance": self.np_random.bit_generator.state,
        }

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Resume from `state()`: replay the actions of the episode."""
        super().reset(seed=0, options={"episode": kept["episode"]})
        for actions in kept["played"]:
            super().step(actions)
        self._played = list(kept["played"])
        self.np_random.bit_generator.state = kept["chance"]

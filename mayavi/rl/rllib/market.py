"""The market of several agents as RLlib's runners make it: one market a row, each able to say where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mayavi.gym_env.market.env import AaveMarketEnv
from mayavi.rl.training.global_rng import spread_seed


class TrainingMarket(AaveMarketEnv):
    """A market as the trainer sees it: rewards scaled, the horizon an end unless it is to be a cut."""

    def __init__(self, *, runner: int, scale: float, bootstrap: bool, **settings: Any) -> None:
        super().__init__(exact_info=False, **settings)
        self.runner, self.scale, self.bootstrap = runner, scale, bootstrap
        self._played: list[dict[str, Any]] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Start the next episode. Neighbouring seeds of two runners are kept apart."""
        self._played = []
        return super().reset(
            seed=None if seed is None else spread_seed(seed, f"market of runner {self.runner}"), options=options
        )

    def step(self, action_dict: Mapping[str, Any]) -> Any:
        """Play the actions of all agents."""
        self._played.append(dict(action_dict))
        observations, rewards, terminated, truncated, infos = super().step(action_dict)
        if not self.bootstrap:
            terminated = {name: terminated[name] or truncated[name] for name in terminated}
            truncated = dict.fromkeys(truncated, False)
        return observations, {name: each * self.scale for name, each in rewards.items()}, terminated, truncated, infos

    def standing(self) -> dict[str, Any]:
        """Where this market stands: its episode, what was played in it, and its generator."""
        return {
            "episode": int(self.rows.episodes[0]),
            "played": self._played,
            "chance": self.np_random.bit_generator.state,
        }

    def stand(self, kept: Mapping[str, Any]) -> None:
        """Stand where a market stood: its actions are played again."""
        super().reset(seed=0, options={"episode": kept["episode"]})
        for actions in kept["played"]:
            super().step(actions)
        self._played = list(kept["played"])
        self.np_random.bit_generator.state = kept["chance"]

"""`ScenarioEnv`: any scenario as a `gymnasium.Env`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.errors import UsageError
from mayavi.gym_env.adapters.single import MayaviEnv
from mayavi.gym_env.configuration import configured
from mayavi.gym_env.registry import chosen_world, named_world
from mayavi.scenario_env.config import ScenarioEnvConfig
from mayavi.scenario_env.rows import ScenarioRows
from mayavi.scenario_env.simulations import Simulations

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.worlds.source import WorldSource


class ScenarioEnv(MayaviEnv):
    """Environment of one agent of a scenario; what `gymnasium.make("mayavi/Scenario-v0", scenario=…)` wraps.

    `scenario` is a name of the library, the path of a YAML file, YAML text, or `Simulations` of Python agents.
    `learner` has the keys of a scenario's `learner:` and replaces those of the file. `settings` are the others of
    `ScenarioEnvConfig`. `info` holds the exact integers of all figures, and the `seed` that `mayavi run` repeats.
    """

    env: ScenarioRows

    def __init__(
        self,
        scenario: str | Path | Simulations | None = None,
        *,
        learner: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
        config: Mapping[str, object] | ScenarioEnvConfig | None = None,
        world: WorldSource | Fork | str | None = None,
        source: str | None = None,
        threads: int | None = None,
        **settings: Any,
    ) -> None:
        given: dict[str, Any] = {} if learner is None else {"learner": dict(learner)}
        episodes = scenario if isinstance(scenario, Simulations) else None
        if episodes is None and scenario is not None:
            given["scenario"] = str(scenario)
        elif episodes is not None and (given or world is not None or source is not None):
            raise UsageError("simulations of Python agents bring their own learner and world", "leave the others out")
        if isinstance(world, str):
            world, chain = named_world(world)
            settings = {"chain": chain, **settings}
        settled = configured(ScenarioEnvConfig, config, settings | given)
        rows = ScenarioRows(settled, 1, world=chosen_world(world, source), threads=threads, episodes=episodes)
        super().__init__(rows, render_mode=render_mode)

    @property
    def action_names(self) -> list[str]:
        """The actions as text, in the order of the action space."""
        return self.env.action_names

    @property
    def observed(self) -> list[str]:
        """Names of the numbers of an observation."""
        return self.env.observed

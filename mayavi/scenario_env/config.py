"""Settings of the scenario environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from mayavi.gym_env.configuration import EnvConfig

DEFAULT_SCENARIO = "learning_borrower"
"""Scenario of the library with a learner."""


class ScenarioEnvConfig(EnvConfig):
    """Settings of `ScenarioRows`. Those of the learner are in the scenario, or in `learner`."""

    scenario: str = Field(
        DEFAULT_SCENARIO,
        description="scenario: a name of the library, a YAML file, YAML text, or `module:name` of `Simulations`",
    )
    learner: dict[str, Any] = Field({}, description="keys of `learner:` that replace those of the scenario")
    overrides: dict[str, Any] = Field(
        {}, description="other values of the scenario by path: {agents.borrowers.count: 20}"
    )
    chain: str | None = Field(None, description="chain to run on; none: the scenario's")
    actions: Literal["discrete", "continuous"] | None = Field(  # type: ignore[assignment]  # None: the learner's
        None, description="kind of action space; none: the learner's `action_space`"
    )
    folder: str | None = Field(
        None, description="folder of the code that a YAML text names by import path; none: the current one"
    )
    horizon: int = Field(0, ge=0, le=10_000_000, description="steps of an episode; 0: those of the scenario")

    def pinned(self) -> dict[str, object]:
        """Settings that hold the scenario itself, with its files embedded, in place of its path."""
        from mayavi.scenario_env.simulations import is_import_path, load

        if is_import_path(self.scenario):
            return {}
        scenario = load(self)
        seed = {"seed": scenario.config.seed} if scenario.config.seed else {}
        pinned: dict[str, object] = {"scenario": scenario.text, "chain": scenario.config.chain, "learner": {}}
        code = any(is_import_path(str(agent.kind)) for agent in scenario.config.agents.values())
        return pinned | {"overrides": seed, "folder": str(Path(self.scenario).resolve().parent) if code else None}

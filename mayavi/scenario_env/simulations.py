"""Sources of episodes: a scenario of the library, a YAML file, or a Python function that builds a simulation."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mayavi.errors import BadScenario, UsageError
from mayavi.scenarios.loading import Scenario, load_scenario, load_text
from mayavi.scenarios.models.learner import Learner
from mayavi.scenarios.run.overrides import override_texts, override_value

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.scenario_env.config import ScenarioEnvConfig
    from mayavi.scenarios.build.build import Built
    from mayavi.scenarios.models.agents.shared import AgentSettings
    from mayavi.sim.market_figures import Reader
    from mayavi.sim.scheduler import Scheduler
    from mayavi.sim.world_state import WorldState
    from mayavi.worlds.source import WorldSource


@dataclass(frozen=True)
class Simulation:
    """World and scheduler of an episode before its first step. `readers` have the market figures to observe."""

    world: WorldState
    scheduler: Scheduler
    readers: Sequence[Reader] = ()
    built: Built | None = None
    """Result of the scenario's build, if a scenario was built."""


class EpisodeSource(Protocol):
    """Protocol for sources of episodes."""

    name: str
    steps: int
    learner: Learner
    seed: int
    """Seed of the fixed start."""

    @property
    def world_digest(self) -> str:
        """Identity of the world that all episodes share."""

    @property
    def draws(self) -> bool:
        """Whether another seed gives another episode."""

    def open(self, seed: int) -> Simulation:
        """Build the simulation of `seed` on a world of its own."""

    def settings(self, agent: str) -> AgentSettings | None:
        """Settings of an agent of the scenario; None if there are none."""


class ScenarioEpisodes:
    """Episodes of a scenario with a learner. `world` is a source, or a fork, which is copied."""

    def __init__(self, scenario: Scenario, world: WorldSource | Fork | None = None, threads: int | None = None) -> None:
        from mayavi.scenarios.build.build import set_up
        from mayavi.worlds.source import WorldSource

        config = scenario.config
        self.scenario, self.config, self.name, self.steps = scenario, config, config.name, config.steps
        self.learner, self.seed, self.threads = learner_of(scenario), config.seed, threads or 1
        fork = (world or WorldSource(world=config.world)).on(config.chain).open() if _is_source(world) else world.copy()  # type: ignore[union-attr]
        self.pristine = fork.copy()
        """World before the scenario changes it, as `mayavi run` starts from it."""
        try:
            set_up(config, fork)
        except BadScenario as error:
            raise scenario.blame(error) from error
        # A copy of a frozen world costs only what it writes: each episode starts from one.
        self._start = fork if fork.fetches_missing else fork.frozen()

    @cached_property
    def world_digest(self) -> str:
        """Digest of the world before the scenario changes it."""
        from mayavi.gym_env.chain_rows import identity_of

        return identity_of(self.pristine)

    @property
    def world_name(self) -> str | None:
        """Name of that world."""
        from mayavi.gym_env.chain_rows import name_of

        return name_of(self.pristine)

    @cached_property
    def draws(self) -> bool:
        """Whether prices, populations or trades are random; kinds of other packages may be, too."""
        from mayavi.scenarios.models.agents.kinds import KINDS
        from mayavi.scenarios.run.randomness import draws

        return draws(self.config) or any(each.kind not in KINDS for each in self.config.agents.values())

    def open(self, seed: int) -> Simulation:
        """Build the simulation of `seed`."""
        from mayavi.scenarios.build.build import build

        try:
            built = build(self.config, self._start.copy(), seed, self.threads, is_set_up=True)
        except BadScenario as error:
            raise self.scenario.blame(error) from error
        return Simulation(built.world, built.scheduler, built.snapshots.readers, built)

    def settings(self, agent: str) -> AgentSettings | None:
        """Settings of an agent, or of the entry that one of several agents comes from."""
        found: AgentSettings | None = self.config.agents.get(agent) or self.config.agents.get(agent.rpartition("-")[0])
        return found


@dataclass
class Simulations:
    """Episodes that a Python function builds: `build(seed)` returns a new `Simulation`.

    For agents of one's own without a YAML file. `learner` has the keys of a scenario's `learner:`.

        def build(seed: int) -> Simulation:
            agents = [MyAgent("me"), BorrowerPopulation(…)]
            world = WorldState(Fork.replica("base"), agents, seed=seed)
            return Simulation(world, Scheduler(world, [AgentBlock("all", agents)], step_blocks=300))

        env = ScenarioEnv(Simulations(build, steps=24, learner={"agent": "me", …}))

    A module that holds them is a scenario too, also for `mayavi train`: `scenario:my_module:simulations`.
    """

    build: Callable[[int], Simulation]
    steps: int
    learner: Any
    """A `Learner`, or a mapping with its keys."""
    name: str = "simulation"
    seed: int = 0
    draws: bool = True
    world_digest: str = field(default="", init=False)

    def __post_init__(self) -> None:
        from mayavi.scenarios.document_kind import SCENARIO
        from mayavi.settings.validation import checked_values

        if type(self.steps) is not int or self.steps < 1:
            raise UsageError(f"an episode of {self.steps!r} steps does nothing", "give at least one step")
        if not isinstance(self.learner, Learner):
            self.learner = checked_values(Learner, dict(self.learner), SCENARIO)
        self.world_digest = self.open(self.seed).world.fork.digest()

    def open(self, seed: int) -> Simulation:
        """Build the simulation of `seed`."""
        found: object = self.build(seed)
        if not isinstance(found, Simulation):
            raise UsageError(f"'{self.name}' built {found!r}", "return a `Simulation(world, scheduler)`")
        return found

    def settings(self, agent: str) -> None:
        """Return None: agents that are made in Python have no settings."""


def load(config: ScenarioEnvConfig) -> Scenario:
    """Load the scenario of the settings, with their learner, overrides, chain and horizon."""
    texts = override_texts(config.overrides)
    texts += [f"learner.{key}={override_value(_quoted(value))}" for key, value in config.learner.items()]
    options: dict[str, Any] = {"chain": config.chain, "steps": config.horizon or None, "overrides": texts}
    if "\n" in config.scenario:
        folder = Path(config.folder) if config.folder else None
        return load_text(config.scenario, folder=folder if folder and folder.is_dir() else None, **options)
    return load_scenario(config.scenario, **options)


def episodes_of(config: ScenarioEnvConfig, world: WorldSource | Fork | None, threads: int | None) -> EpisodeSource:
    """Open what the settings name: a scenario, or `module:name` of `Simulations`."""
    if not is_import_path(config.scenario):
        return ScenarioEpisodes(load(config), world, threads)
    if config.learner or config.overrides or config.chain or config.horizon:
        raise UsageError(
            f"'{config.scenario}' is Python code with its own learner, chain and steps",
            "leave learner, overrides, chain and horizon out",
        )
    return _imported(config.scenario)


def is_import_path(scenario: str) -> bool:
    """Whether a scenario is `module:name` of Python code."""
    return re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", scenario) is not None


def _imported(path: str) -> Simulations:
    module, _, name = path.partition(":")
    try:
        found = getattr(import_module(module), name)
        simulations = found() if callable(found) else found
    except Exception as error:
        raise UsageError(
            f"'{path}' cannot be imported: {type(error).__name__}: {error}",
            "it should be `module:name`, importable from here: installed, or on PYTHONPATH",
        ) from error
    if not isinstance(simulations, Simulations):
        raise UsageError(f"'{path}' is {simulations!r}", "it should be `Simulations`, or a function that returns some")
    return simulations


def learner_of(scenario: Scenario) -> Learner:
    """Return the scenario's learner; raise `BadScenario` if it has none."""
    if scenario.config.learner is None:
        raise BadScenario(
            f"'{scenario.name}' has no 'learner', so nobody learns in it",
            "add `learner:` with agent, observes, actions and reward: docs/how-to/learn-in-a-scenario.md",
        )
    return scenario.config.learner


def _quoted(value: Any) -> Any:
    """Text as JSON, so that it is not read as YAML: `own.liquidations > 0` in a list, `pnl`."""
    import json

    return json.dumps(value) if isinstance(value, str) else value


def _is_source(world: object) -> bool:
    from mayavi.worlds.source import WorldSource

    return world is None or isinstance(world, WorldSource)

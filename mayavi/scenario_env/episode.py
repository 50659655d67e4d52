"""`Episode`: one simulation that pauses in every step before the learner's agent block."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from mayavi.errors import UnknownName, UsageError
from mayavi.scenario_env.control import Chosen, Control, block_of, check_actions, find_agent
from mayavi.scenario_env.figures import FigureReader
from mayavi.scenario_env.learner_account import LearnerAccount
from mayavi.scenario_env.own_figures import OwnFigures, OwnTally, Value
from mayavi.scenario_env.simulations import EpisodeSource, Simulation
from mayavi.scenarios.build.chain.lending_markets import market_name
from mayavi.scenarios.models.agents.shared import AgentSettings
from mayavi.scenarios.models.config import pool_tokens
from mayavi.scenarios.models.learner import LAST_ACTION, Learner
from mayavi.scenarios.models.values.mixes import Mix
from mayavi.scenarios.models.values.quantities import Asset
from mayavi.sim.runner import Runner
from mayavi.sim.tally import RunTally

RunnerOf = Callable[[Simulation], Runner]


class Episode:
    """An episode of `source`, paused where the learner decides; `step` plays its actions up to the next pause.

    `figures` are exact and belong to the state at the pause, which is the one that the agents of the learner's block
    observe. After the last step they belong to the state at its end. With a `runner` the rows of the run are recorded
    as `mayavi run` does; without, nothing is recorded and the hooks of the scenario are left out. `places` are the
    indices of the readers that have the learner's market figures, if another episode of `source` has found them.
    """

    def __init__(
        self, source: EpisodeSource, seed: int, *, runner: RunnerOf | None = None, places: Sequence[int] | None = None
    ) -> None:
        learner = source.learner
        simulation = source.open(seed)
        world, scheduler = simulation.world, simulation.scheduler
        self.seed, self.steps, self.world = seed, source.steps, world
        self.over = False
        self.end: Any = None
        """`RunEnd` of a recorded run, once it is over."""
        agent, account = find_agent(world, learner.agent)
        settings = source.settings(learner.agent)
        learner_account = LearnerAccount(
            world.fork, account, world.address(account), learner.market or _market_of(settings)
        )
        self.tally = OwnTally(account)
        if runner is None:
            scheduler.hooks, scheduler.tally = (self.tally,), RunTally()
        else:
            scheduler.hooks = (*scheduler.hooks, self.tally)
        self.control = Control(agent, account, learner_account)
        self._block = block_of(scheduler.blocks, agent)
        self._simulation = simulation
        self._parts = self._ticks() if runner is None else runner(simulation).run_in_parts(pause_before=self._block)
        self._proceed()
        tokens = learner.tokens if learner.tokens is not None else tokens_of(learner, settings)
        own = OwnFigures(world, agent, learner_account, self.tally, tokens)
        try:
            self._reader = FigureReader(names_of(learner), world, own, simulation.readers, source.steps, places)
            self.figures: dict[str, Value] = self._reader.read()
        except UnknownName as error:
            raise UnknownName(f"{error.message}{_place_of(error, learner)}", error.hint) from None

    def check(self, learner: Learner) -> None:
        """Raise `UsageError` for actions that the learner cannot take."""
        try:
            check_actions(self.control.agent, learner.actions, self.control.learner_account)
        except UnknownName as error:
            raise UnknownName(f"{error.message} in learner.actions", error.hint) from None

    @property
    def places(self) -> tuple[int, ...]:
        """Indices of the readers that have the learner's market figures."""
        return self._reader.places

    def step(self, chosen: Sequence[Chosen]) -> None:
        """Play the chosen actions and go on to the next pause, or to the end."""
        if self.over:
            raise UsageError("the episode is over", "call reset() first")
        self.control.choose(chosen)
        self._proceed()
        self._reader.over = self.over
        self.figures = self._reader.read()

    def _proceed(self) -> None:
        try:
            next(self._parts)
        except StopIteration as stop:
            self.over, self.end = True, stop.value

    def _ticks(self) -> Generator[None, None, Any]:
        for _ in range(self.steps):
            yield from self._simulation.scheduler.tick_in_parts(self._block)

    def close(self) -> None:
        """End the simulation before its last step."""
        self._parts.close()


def _place_of(error: UnknownName, learner: Learner) -> str:
    """Part of the learner that names the figure of `error`."""
    for part in ("observes", "reward", "ends"):
        if any(f"'{each.figure}'" in error.message for each in getattr(learner, part)):
            return f" in learner.{part}"
    return ""


def names_of(learner: Learner) -> list[str]:
    """Names of all figures that observations, rewards and ends need, each once, without the last action."""
    names = [each.figure for part in (learner.observes, learner.reward, learner.ends) for each in part]
    return [name for name in dict.fromkeys(names) if name != LAST_ACTION]


def tokens_of(learner: Learner, settings: AgentSettings | None) -> list[str]:
    """Tokens that count as the learner's wealth: those of its actions, observed balances and settings."""
    found: dict[str, None] = {}
    for action in learner.actions:
        for each in (action, action.opposite):
            if each is not None:
                found |= {symbol: None for symbol in (each.token, each.into) if symbol}
    found |= {name.removeprefix("own.balance."): None for name in names_of(learner) if name.startswith("own.balance.")}
    for value in dict(settings or ()).values():
        if isinstance(value, Asset):
            found[value.symbol] = None
        elif isinstance(value, Mix):
            found |= dict.fromkeys(value.symbols)
    if settings is not None:
        found |= dict.fromkeys(getattr(settings, "capital", {}))
        found |= dict.fromkeys((pool_tokens(str(getattr(settings, "pool", ""))) or ())[:2])
    return list(found)


def _market_of(settings: AgentSettings | None) -> str:
    """Lending market of an agent's settings; Aave V3 for those without one."""
    return market_name(getattr(settings, "protocol", "aave_v3"), getattr(settings, "market", ""))

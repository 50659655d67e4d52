"""`ScenarioRows`: episodes of any scenario in which one agent learns, each on its own `WorldState` and `Scheduler`."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from mayavi.gym_env.roles import Script
from mayavi.gym_env.rows import Floats, Observations, Rows, RowsEnv
from mayavi.protocols.health import NO_DEBT
from mayavi.scenario_env.config import ScenarioEnvConfig
from mayavi.scenario_env.control import PLAY_SCRIPT, Chosen
from mayavi.scenario_env.episode import Episode, RunnerOf
from mayavi.scenario_env.learner_account import MILLION
from mayavi.scenario_env.observations import Entry, entry_of, observation
from mayavi.scenario_env.own_figures import Value
from mayavi.scenario_env.rewards import check_start, has_ended, reward
from mayavi.scenario_env.simulations import EpisodeSource, episodes_of
from mayavi.scenarios.models.learner import HOLD, LAST_ACTION

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.worlds.source import WorldSource

FIRST_SEEDS = {"train": 0, "validation": 2**32, "test": 2**33}
"""Seed of episode 0 of each split: `mayavi run SCENARIO --seed` of this plus the episode's number is the same world."""
Figures = dict[str, Value]


def noop(env: Any) -> NDArray[Any]:
    """Do nothing."""
    return np.zeros((env.rows, *(env.action_space.shape or ())), dtype=env.action_space.dtype)


def scripted(env: Any) -> NDArray[Any]:
    """Let the learner's agent act as its kind does, in the next step of all rows."""
    env.play_script()
    return noop(env)


class ScenarioRows(RowsEnv[ScenarioEnvConfig]):
    """Rows of a scenario's learner: its `observes`, `actions`, `reward` and `ends`.

    Discrete action 0 does nothing, the others are `actions` in their order. A continuous action has a number from -1 to
    1 for each of them: above zero a part of the action, below zero a part of its `opposite`, if it has one.

    Each row is a separate simulation. Rows are played one after the other; several processes share the work. Episode n
    of a split is the run of the scenario with seed `FIRST_SEEDS[split] + n`.
    """

    name: ClassVar[str] = "scenario"
    config_type: ClassVar[type[Any]] = ScenarioEnvConfig
    strategies: ClassVar[dict[str, Script]] = {"noop": noop, "scripted": scripted}
    takes_world: ClassVar[bool] = True

    def __init__(
        self,
        config: ScenarioEnvConfig,
        rows: int = 1,
        *,
        world: WorldSource | Fork | None = None,
        threads: int | None = None,
        episodes: EpisodeSource | None = None,
    ) -> None:
        source = episodes or episodes_of(config, world, threads)
        space = config.actions or source.learner.action_space
        config = config.model_copy(update={"horizon": source.steps, "actions": space})
        super().__init__(config, rows, threads=threads)
        self.source, self.learner, self.world_digest = source, source.learner, source.world_digest
        self.world_name = getattr(source, "world_name", None)
        self.recording: RunnerOf | None = None
        """Factory of the runner that records an episode; None records nothing."""
        self._prepare_spaces()
        self._playing: list[Episode | None] = [None] * rows
        self._history: list[list[tuple[Chosen, ...]]] = [[] for _ in range(rows)]
        self._start: list[Figures] = [{} for _ in range(rows)]
        self._scripts_next = False
        self.columns |= {
            "seen": np.zeros((rows, len(self.observation_space.low))),
            "last_action": np.zeros((rows, self._action_size)),
            "reward": np.zeros(rows),
            "ended": np.zeros(rows, dtype=np.bool_),
        }

    def _prepare_spaces(self) -> None:
        """Open the fixed episode to find the figures there are, and to check the actions."""
        learner = self.learner
        probe = Episode(self.source, self.source.seed)
        probe.check(learner)
        check_start(learner.reward, probe.figures)
        count, discrete = len(learner.actions), self.config.actions == "discrete"
        self._action_size = count + discrete
        self.entries: list[Entry] = [
            Entry(LAST_ACTION, "value", 1.0, -1.0, 1.0)
            if each.figure == LAST_ACTION
            else entry_of(each, probe.figures[each.figure])
            for each in learner.observes
        ]
        self.observed: list[str] = []
        """Names of the entries of an observation."""
        for entry in self.entries:
            several = [f"{LAST_ACTION}.{name}" for name in self.action_names]
            self.observed += several if entry.figure == LAST_ACTION else [entry.figure]
        wide = [each for each in self.entries for _ in range(self._width(each))]
        low, high = (np.array([getattr(each, side) for each in wide], dtype=np.float32) for side in ("low", "high"))
        self.observation_space = spaces.Box(low, high, dtype=np.float32)
        self.action_space = spaces.Discrete(count + 1) if discrete else spaces.Box(-1.0, 1.0, (count,), np.float32)
        self._places = probe.places
        self.units = {name: value.unit for name, value in probe.figures.items()}
        probe.close()

    def _width(self, entry: Entry) -> int:
        return self._action_size if entry.figure == LAST_ACTION else 1

    @property
    def action_names(self) -> list[str]:
        """The discrete actions, or the numbers of a continuous one, as text."""
        names = [each.label for each in self.learner.actions]
        return [HOLD, *names] if self.config.actions == "discrete" else names

    # -- episodes -----------------------------------------------------------------------------------------------------

    def seed_of(self, episode: int) -> int:
        """Seed of the scenario for an episode of this split."""
        return self.source.seed if self.config.start == "fixed" else FIRST_SEEDS[self.config.split] + episode

    def start(self, rows: Rows, rngs: Sequence[np.random.Generator]) -> None:
        """Build a simulation for each of `rows` and run it to the learner's first decision."""
        del rngs  # a scenario draws from streams of its seed
        for row in rows.tolist():
            self._open(row, self.seed_of(int(self.episodes[row])))
            self._see(row, self._start[row])

    def _open(self, row: int, seed: int) -> None:
        old = self._playing[row]
        if old is not None:
            old.close()
        episode = self._playing[row] = Episode(self.source, seed, runner=self.recording, places=self._places)
        self._history[row], self._start[row] = [], episode.figures
        check_start(self.learner.reward, episode.figures)

    def apply(self, actions: NDArray[Any], live: NDArray[np.bool_]) -> None:
        """Play one step in every live row."""
        by_script, self._scripts_next = self._scripts_next, False
        for row in np.flatnonzero(live).tolist():
            chosen = (PLAY_SCRIPT,) if by_script else self.chosen(actions[row])
            episode = self.episode(row)
            before = episode.figures
            episode.step(chosen)
            self._history[row].append(chosen)
            self.columns["last_action"][row] = self._as_vector(actions[row])
            ended = has_ended(self.learner.ends, episode.figures)
            self.columns["ended"][row] = ended
            self.columns["reward"][row] = reward(
                self.learner.reward, episode.figures, before, self._start[row], over=ended or episode.over
            )
            self._see(row, before)

    def play_script(self) -> None:
        """Let the agent's own kind act in the next step of all rows, whatever the actions are."""
        self._scripts_next = True

    def chosen(self, action: Any) -> tuple[Chosen, ...]:
        """Return the learner's actions that an action of the action space stands for."""
        if self.config.actions == "discrete":
            return (Chosen(self.learner.actions[int(action) - 1]),) if int(action) else ()
        found = []
        for each, part in zip(self.learner.actions, np.rint(action.astype(np.float64) * MILLION).tolist(), strict=True):
            if part > 0:
                found.append(Chosen(each, int(part)))
            elif part < 0 and each.opposite is not None:
                found.append(Chosen(each.opposite, -int(part)))
        return tuple(found)

    def _as_vector(self, action: Any) -> NDArray[Any]:
        if self.config.actions == "discrete":
            return np.asarray(np.eye(self._action_size)[int(action)])
        return np.asarray(action)

    def _see(self, row: int, before: Figures) -> None:
        last = self.columns["last_action"][row].tolist()
        now = self.episode(row).figures
        self.columns["seen"][row] = observation(self.entries, now, before, self._start[row], last)

    def episode(self, row: int) -> Episode:
        """The simulation of a row."""
        found = self._playing[row]
        assert found is not None  # `step` refuses rows without an episode
        return found

    # -- outcome ------------------------------------------------------------------------------------------------------

    def observe(self) -> Observations:
        """Observations in the order of `observed`."""
        return self.within_bounds(self.columns["seen"])

    def rewards(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Reward of the learner, and whether one of its `ends` is reached."""
        return self.columns["reward"].copy(), self.columns["ended"].copy()

    def exact(self) -> dict[str, list[Any]]:
        """All figures of observations, rewards and ends; the seed, block and time of the simulation."""
        playing = self._playing
        found: dict[str, list[Any]] = {
            name: [each.figures[name].exact if each else None for each in playing] for name in self.units
        }
        found["seed"] = [each.seed if each else None for each in playing]
        found["block"] = [each.world.fork.block_number if each else None for each in playing]
        found["timestamp"] = [each.world.fork.timestamp if each else None for each in playing]
        return found | {"failed_actions": [each.tally.failed if each else None for each in playing]}

    def describe_value(self, name: str, value: Any) -> str:
        """A figure as text; a health factor without debt is "no debt"."""
        return "no debt" if value == NO_DEBT else super().describe_value(name, value)

    def curves(self) -> dict[str, dict[str, Floats]]:
        """The observed numbers by name, without the last action."""
        seen = self.observe().astype(np.float64)
        named = enumerate(self.observed)
        return {"observations": {name: seen[:, at] for at, name in named if not name.startswith(LAST_ACTION)}}

    # -- copies: an episode is its seed and its actions ---------------------------------------------------------------

    def identities(self, rows: Rows) -> list[bytes]:
        """Hash of each row's seed and actions; of the actions alone where the seed changes nothing."""
        return [sha256(repr(self._key(row)).encode()).digest() for row in rows.tolist()]

    def _key(self, row: int) -> tuple[int | None, list[Any]]:
        played = [[(each.action.label, each.part_ppm) for each in chosen] for chosen in self._history[row]]
        return self.episode(row).seed if self.source.draws else None, played

    def _copy_state(self, sources: Rows, targets: Rows) -> None:
        self._restore_state(self._save_state(sources), targets)

    def _save_state(self, rows: Rows) -> list[Any]:
        return [(self.episode(row).seed, tuple(self._history[row])) for row in rows.tolist()]

    def _restore_state(self, kept: Sequence[Any], rows: Rows) -> None:
        for (seed, history), row in zip(kept, rows.tolist(), strict=True):
            self._open(row, seed)
            for chosen in history:
                self.episode(row).step(chosen)
            self._history[row] = list(history)

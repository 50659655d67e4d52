"""`RowsEnv`: a batch of N episodes of one environment, stepped by one call.

`gymnasium.make` wraps a batch of one, `gymnasium.make_vec` a batch of N. Training, evaluation and the search for an
optimum work on the rows themselves. `ChainRowsEnv` adds a chain under every row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import BadArgument, UsageError
from mayavi.gym_env.action_checks import agent_owner, joined_agents
from mayavi.gym_env.action_clipping import clip_actions
from mayavi.gym_env.configuration import EnvConfig
from mayavi.gym_env.episodes import checked_episode, episode_streams
from mayavi.gym_env.rendering import MODES
from mayavi.gym_env.roles import AGENT, Floats, Observations, Role, Script, Stepped, clip_observations

if TYPE_CHECKING:
    from gymnasium import spaces

__all__ = ["Floats", "KeptRows", "Observations", "Rows", "RowsEnv", "Stepped"]

C = TypeVar("C", bound=EnvConfig)
Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class KeptRows:
    """Saved state of rows: columns, episode numbers and, on a chain, the state of their chains."""

    chains: list[Any]
    episodes: NDArray[np.int64]
    columns: dict[str, NDArray[Any]]


class RowsEnv(ABC, Generic[C]):
    """N episodes of one environment. All randomness of an episode follows from its number; see `episodes.py`.

    A subclass sets

    - `name`, its name on the command line, and `config_type`;
    - `observation_space` and `action_space` of one row, both finite;
    - `world_digest`, the identity of the state that all its episodes share;

    and provides

    - `start(rows, rngs)`: reset `rows` to the start of their episodes;
    - `apply(actions, live)`: step all `live` rows in one call, and leave the others unchanged;
    - `observe()`, `rewards()` and `exact()`: outcome of the last call, for all rows.

    An environment of several agents sets `role_names` and provides `roles` and `acting()` instead of the two spaces.
    Its actions and observations are mappings by role; see `roles.py`. Rewards and terminations have shape
    (rows, agents).

    All Python state of rows is in the arrays of `columns`, whose first axis is the row, so that rows can be copied.
    """

    name: ClassVar[str]
    config_type: ClassVar[type[Any]]
    role_names: ClassVar[tuple[str, ...]] = (AGENT,)
    strategies: ClassVar[dict[str, Script]] = {}
    """Scripted strategies of a single agent, by name; those of several roles are in `roles`."""
    render_modes: ClassVar[tuple[str, ...]] = MODES
    """Supported render modes; an environment that adds `human` provides `line`."""
    info_names: ClassVar[dict[str, tuple[str, ...]]] = {}
    """For each figure of `exact` that is a list: names of its entries, the keys in infos."""
    takes_world: ClassVar[bool] = False
    """Whether the constructor takes a `world`."""

    independent_episodes: int | None = None
    """Number of non-overlapping episodes, or None if all are independent."""

    _records_curves = False
    observation_space: spaces.Box
    action_space: spaces.Space[Any]

    world_digest: str
    world_name: str | None = None
    """Name of the world, such as `ethereum@2025-12`; None if it has none."""

    def __init__(self, config: C, rows: int = 1, *, threads: int | None = None) -> None:
        if type(rows) is not int or rows < 1:
            raise UsageError(f"an environment of {rows!r} rows does nothing", "give at least one row")
        if threads is not None and (type(threads) is not int or threads < 1):
            raise UsageError(f"{threads!r} threads do nothing", "give at least one thread")
        self.config, self.rows, self.threads = config, rows, threads
        self.episodes = np.full(rows, -1, dtype=np.int64)
        """Episode number of each row; -1 before the first."""
        self.columns: dict[str, NDArray[Any]] = {
            "steps": np.zeros(rows, dtype=np.int64),
            "clipped": np.zeros(rows, dtype=np.int64),
        }
        if self.multi_agent:
            self.columns["clipped_by"] = np.zeros((rows, len(self.agents)), dtype=np.int64)

    def training_overlap(self, trained: C) -> str | None:
        """Describe how training with the settings `trained` used episodes of this environment; "" if it did not.

        None, the default, leaves the decision to the names of the splits.
        """
        return None

    # -- roles --------------------------------------------------------------------------------------------------------

    @property
    def multi_agent(self) -> bool:
        """Whether there are several roles."""
        return len(self.role_names) > 1

    @property
    def roles(self) -> tuple[Role, ...]:
        """Roles in the order of `role_names`; by default one role with a single agent."""
        return (Role(AGENT, 1, self.observation_space, self.action_space, self.strategies),)

    def role(self, name: str | None = None) -> Role:
        """Role `name`, by default the only one; `UsageError` if there is none or the choice is ambiguous."""
        if name is None and self.multi_agent:
            raise UsageError(f"'{self.name}' has several roles", f"name one of {', '.join(self.role_names)}")
        for each in self.roles:
            if name in {None, each.name}:
                return each
        raise UsageError(f"'{self.name}' has no role '{name}'", f"it has {', '.join(self.role_names)}")

    @cached_property
    def agents(self) -> tuple[str, ...]:
        """Names of all agents, role by role."""
        return tuple(name for role in self.roles for name in role.agent_names)

    @cached_property
    def role_agents(self) -> dict[str, slice]:
        """Positions of each role's agents among all agents."""
        found, first = {}, 0
        for role in self.roles:
            found[role.name] = slice(first, first + role.agents)
            first += role.agents
        return found

    def acting(self) -> NDArray[np.bool_]:
        """Which agents still act in the episode of their row: (rows, agents)."""
        return np.ones((self.rows, len(self.agents)), dtype=np.bool_)

    # -- to be provided by a subclass ---------------------------------------------------------------------------------

    @abstractmethod
    def start(self, rows: Rows, rngs: Sequence[np.random.Generator]) -> None:
        """Reset `rows`, in ascending order, to the start of their episodes; `rngs` holds one RNG per row."""

    @abstractmethod
    def apply(self, actions: Any, live: NDArray[np.bool_]) -> None:
        """Execute the actions, advance time and read the outcome, in one call.

        Rows that are not `live` must not change. `actions` are in range. Agents that no longer act get the zero action.
        """

    @abstractmethod
    def observe(self) -> Any:
        """Observations of all rows: finite, scaled, within the observation space."""

    @abstractmethod
    def rewards(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Rewards of the last step, and whether it terminated the episode, for all rows.

        Called once per step, after `apply` and after `columns["steps"]` is incremented.
        """

    @abstractmethod
    def exact(self) -> dict[str, list[Any]]:
        """Exact integers behind the observations: by name, one value for each row."""

    def describe_row(self, row: int) -> list[tuple[str, str]]:
        """Label and value of every figure of a row, for `render`."""
        return [(name, self._describe(name, values[row])) for name, values in self.exact().items()]

    def _describe(self, name: str, value: Any) -> str:
        if isinstance(value, list):
            return "  ".join(self._describe(name, each) for each in value)
        return self.describe_value(name, value)

    def describe_value(self, name: str, value: Any) -> str:
        """One figure of `exact` as text."""
        return f"{value:,}" if isinstance(value, int) else str(value)

    def line(self, row: int) -> str:
        """Describe a row in one line, for the render mode `human`."""
        raise NotImplementedError

    def curves(self) -> dict[str, dict[str, Floats]]:
        """Values to plot over the steps: by panel title and line label, one number for each row."""
        return {"observations": {str(at): values.astype(np.float64) for at, values in enumerate(self.observe().T)}}

    # -- row state outside `columns`, by default none -----------------------------------------------------------------

    def identities(self, rows: Rows) -> list[bytes]:
        """Identity of the state of each of `rows` outside `columns`."""
        return [b""] * len(rows)

    def _reset_state(self, rows: Rows) -> None:
        """Reset `rows` to the state that all episodes share."""

    def _copy_state(self, sources: Rows, targets: Rows) -> None:
        """Copy the state of `sources[i]` to `targets[i]`."""

    def _save_state(self, rows: Rows) -> list[Any]:
        """Save the state of `rows`."""
        return [None] * len(rows)

    def _restore_state(self, kept: Sequence[Any], rows: Rows) -> None:
        """Restore `kept[i]` into `rows[i]`."""

    def keep_paths(self) -> None:
        """Keep the recorded paths of transactions for later environments on this world; without a chain, do nothing."""

    # -- episodes and steps -------------------------------------------------------------------------------------------

    @property
    def steps(self) -> NDArray[np.int64]:
        """Number of steps taken in the episode of each row."""
        steps: NDArray[np.int64] = self.columns["steps"]
        return steps

    @property
    def clipped(self) -> NDArray[np.int64]:
        """Number of steps with a clipped action in the episode of each row."""
        clipped: NDArray[np.int64] = self.columns["clipped"]
        return clipped

    @property
    def clipped_by_agent(self) -> NDArray[np.int64]:
        """Number of clipped actions of each agent in the episode: (rows, agents)."""
        return self.columns["clipped_by"] if self.multi_agent else self.clipped[:, None]

    def begin(self, rows: Sequence[int] | Rows, episodes: Sequence[int]) -> None:
        """Start `episodes` in `rows`, even if their last episode is not over."""
        numbers = [checked_episode(each) for each in episodes]
        if len(rows) != len(numbers):
            raise UsageError(f"{len(rows)} rows cannot start {len(numbers)} episodes", "give each row one")
        places = np.asarray(rows, dtype=np.intp)
        if not len(places):
            return
        order = np.argsort(places)
        places, numbers = places[order], [numbers[at] for at in order.tolist()]
        self._reset_state(places)
        for column in self.columns.values():
            column[places] = 0
        self.episodes[places] = numbers
        self.start(places, episode_streams(self.name, self.config.split, numbers))
        if self._records_curves:
            self._record_curves(places)

    def step(self, actions: Any, live: NDArray[np.bool_] | None = None) -> Stepped:
        """Play `actions`, one for each agent. Rows that are not `live` do not change, and their results are undefined.

        A single-agent environment takes an array (rows, …), a multi-agent one a mapping from the name of a role to an
        array (rows, agents, …).
        """
        alive = np.ones(self.rows, dtype=np.bool_) if live is None else live
        rewards, terminated, truncated, played = self._advance(actions, alive)
        return Stepped(self.observe(), rewards, terminated, truncated, played)

    def advance(self, actions: Any, alive: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
        """`step` without computing observations: rewards, terminated, truncated."""
        return self._advance(actions, alive)[:3]

    def _advance(
        self, actions: Any, alive: NDArray[np.bool_]
    ) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_], Any]:
        if ((self.episodes < 0) & alive).any():
            raise UsageError("a row has no episode yet", "call reset() first")
        if self.multi_agent:
            return self._advance_agents(actions, alive)
        played, clipped = clip_actions(self.action_space, actions, alive)
        self.columns["clipped"] += clipped
        self.apply(played, alive)
        self.columns["steps"] += alive
        rewards, terminated = self.rewards()
        truncated = (self.steps >= self.config.horizon) & ~terminated
        if self._records_curves:
            self._record_curves(np.flatnonzero(alive), rewards)
        return rewards, terminated, truncated, played

    def _advance_agents(
        self, actions: Any, alive: NDArray[np.bool_]
    ) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_], dict[str, NDArray[Any]]]:
        """`_advance` for several roles: agents that no longer act get no reward and no termination."""
        acting = self.acting() & alive[:, None]
        played = self._clip_by_role(actions, acting)
        self.apply(played, alive)
        self.columns["steps"] += alive
        rewards, terminated = self.rewards()
        truncated = (self.steps >= self.config.horizon)[:, None] & acting & ~terminated
        return np.where(acting, rewards, 0.0), terminated & acting, truncated, played

    def _clip_by_role(self, actions: Any, acting: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        if not isinstance(actions, Mapping) or set(actions) != set(self.role_names):
            raise BadArgument(
                f"'{self.name}' takes actions by role", f"give a mapping with {' and '.join(self.role_names)}"
            )
        played, clipped = {}, np.zeros(acting.shape, dtype=np.bool_)
        for role in self.roles:
            space, agents = role.action_space, self.role_agents[role.name]
            given, acts = joined_agents(role, actions[role.name], self.rows), acting[:, agents]
            fitting, outside = clip_actions(space, given, acts.ravel(), agent_owner(role))
            played[role.name] = fitting.reshape(self.rows, role.agents, *fitting.shape[1:])
            clipped[:, agents] = outside.reshape(acts.shape)
        self.columns["clipped_by"] += clipped
        self.columns["clipped"] += clipped.any(axis=1)
        return played

    def remember(self) -> None:
        """Record `curves` at every step of the episodes that begin from now on, for rendering."""
        self._records_curves = True

    def _record_curves(self, places: Rows, rewards: Floats | None = None) -> None:
        """Record the present curves of the rows `places`; without rewards their episodes have just begun."""
        given = np.zeros(self.rows) if rewards is None else rewards
        lines = [given, *(values for panel in self.curves().values() for values in panel.values())]
        shape = (self.rows, self.config.horizon + 1, len(lines))
        kept = self.columns.setdefault("remembered", np.full(shape, np.nan))
        if rewards is None:
            kept[places] = np.nan
        kept[places, self.steps[places]] = np.stack(lines, axis=1)[places]

    def copy_rows(self, sources: Sequence[int] | Rows, targets: Sequence[int] | Rows) -> None:
        """Copy the state of `sources[i]` to `targets[i]`, at any point of an episode."""
        origin, goal = np.asarray(sources, dtype=np.intp), np.asarray(targets, dtype=np.intp)
        if np.intersect1d(origin, goal).size:
            raise UsageError("a row is both a source and a target", "copy in two calls")
        self._copy_state(origin, goal)
        self.episodes[goal] = self.episodes[origin]
        for column in self.columns.values():
            column[goal] = column[origin]

    def keep(self, rows: Sequence[int] | Rows) -> KeptRows:
        """Save the state of `rows` at any point of an episode; `put` restores it."""
        places = np.asarray(rows, dtype=np.intp)
        columns = {name: column[places] for name, column in self.columns.items()}
        return KeptRows(self._save_state(places), self.episodes[places], columns)

    def put(self, kept: KeptRows, which: Sequence[int] | Rows, rows: Sequence[int] | Rows) -> None:
        """Restore the saved state number `which[i]` of `kept` into `rows[i]`."""
        origin, goal = np.asarray(which, dtype=np.intp), np.asarray(rows, dtype=np.intp)
        self._restore_state([kept.chains[source] for source in origin.tolist()], goal)
        self.episodes[goal] = kept.episodes[origin]
        for name, column in self.columns.items():
            column[goal] = kept.columns[name][origin]

    def within_bounds(self, seen: Floats) -> Observations:
        """Clip `seen` to the bounds of the observation space, as float32."""
        return clip_observations(self.observation_space, seen)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.rows} rows of '{self.name}', {self.config.split} split>"

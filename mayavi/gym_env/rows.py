"""`RowsEnv`: an environment written once, over rows.

N episodes stand side by side, and one call steps all of them. `gymnasium.make` wraps a batch of one,
`gymnasium.make_vec` a batch of N; training, evaluation and the search for an optimum work on the rows themselves.
`ChainRowsEnv` adds the chain under the rows; what needs none, such as a portfolio, does without.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from mayavi.errors import BadArgument, UsageError
from mayavi.gym_env.configuration import EnvConfig
from mayavi.gym_env.episodes import checked_episode, episode_streams
from mayavi.gym_env.rendering import MODES
from mayavi.protocols.health import NO_DEBT

if TYPE_CHECKING:
    from gymnasium import spaces

C = TypeVar("C", bound=EnvConfig)
Floats = NDArray[np.float64]
Observations = NDArray[np.float32]
Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Stepped:
    """What a step gave, one entry for each row."""

    observations: Observations
    rewards: Floats
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]

    @property
    def done(self) -> NDArray[np.bool_]:
        """Whether the episode is over, either way."""
        return self.terminated | self.truncated


@dataclass(frozen=True, slots=True)
class KeptRows:
    """Rows as they stood once: what the environment remembered of each, and its chain where it has one."""

    chains: list[Any]
    episodes: NDArray[np.int64]
    columns: dict[str, NDArray[Any]]


class RowsEnv(ABC, Generic[C]):
    """N episodes of one environment. What is random in an episode follows from its number; see `episodes.py`.

    A subclass sets

    - `name`, as the command line has it, and `config_type`;
    - `observation_space` and `action_space` of one row, finite both;
    - `world_digest`, the identity of what all its episodes have in common;

    and provides

    - `start(rows, chances)`: put `rows` where their episodes start;
    - `apply(actions, live)`: one call for all rows; those that are not `live` stay as they are;
    - `observe()`, `rewards()` and `exact()`: what the last call gave, worked out for all rows.

    Whatever Python remembers of a row is an array in `columns`, its first axis the rows: then rows can be copied.
    """

    name: ClassVar[str]
    config_type: ClassVar[type[Any]]
    strategies: ClassVar[dict[str, Callable[[Any], NDArray[Any]]]] = {}
    """Scripted play by name: given the environment, the actions of all rows now, in its own action space."""
    render_modes: ClassVar[tuple[str, ...]] = MODES
    """How it can be looked at; one that has `human` besides provides `line`."""

    apart: int | None = None
    """How many episodes there are that share nothing with one another; None where all are of their own chance."""

    _remembers = False
    observation_space: spaces.Box
    action_space: spaces.Space[Any]

    world_digest: str

    def __init__(self, config: C, rows: int = 1, *, threads: int | None = None) -> None:
        if type(rows) is not int or rows < 1:
            raise UsageError(f"an environment of {rows!r} rows does nothing", "give at least one row")
        if threads is not None and (type(threads) is not int or threads < 1):
            raise UsageError(f"{threads!r} threads do nothing", "give at least one thread")
        self.config, self.rows, self.threads = config, rows, threads
        self.episodes = np.full(rows, -1, dtype=np.int64)
        """The number of the episode each row plays; -1 before the first."""
        self.columns: dict[str, NDArray[Any]] = {
            "steps": np.zeros(rows, dtype=np.int64),
            "clipped": np.zeros(rows, dtype=np.int64),
        }

    def training_overlap(self, trained: C) -> str | None:
        """How a training with the settings `trained` met episodes of this environment; "" if it met none.

        None where the names of the splits decide, as they do unless a subclass knows better.
        """
        return None

    # -- what a subclass provides -------------------------------------------------------------------------------------

    @abstractmethod
    def start(self, rows: Rows, chances: Sequence[np.random.Generator]) -> None:
        """Put `rows`, in ascending order, where their episodes start, each drawn from its own of `chances`."""

    @abstractmethod
    def apply(self, actions: NDArray[Any], live: NDArray[np.bool_]) -> None:
        """Act, let time pass and look, in one call. Rows that are not `live` stay exactly as they are."""

    @abstractmethod
    def observe(self) -> Observations:
        """What all rows see now: finite, scaled, within the observation space."""

    @abstractmethod
    def rewards(self) -> tuple[Floats, NDArray[np.bool_]]:
        """What the last step earned, and whether it ended the episode by itself, for all rows.

        Asked once a step, after `apply`, when `columns["steps"]` has counted it.
        """

    @abstractmethod
    def exact(self) -> dict[str, list[Any]]:
        """The exact integers behind the observations: by name one value for each row."""

    def tells(self, row: int) -> list[tuple[str, str]]:
        """The row in words, label and value, for `render`."""
        return [(name, _in_words(name, values[row])) for name, values in self.exact().items()]

    def line(self, row: int) -> str:
        """The row in one line, for `human`."""
        raise NotImplementedError

    def curves(self) -> dict[str, dict[str, Floats]]:
        """What pictures draw over the steps: by the title of a panel and the label of a line a number for each row."""
        return {"observations": {str(at): values.astype(np.float64) for at, values in enumerate(self.observe().T)}}

    # -- what stands under the rows, nothing here ---------------------------------------------------------------------

    def identities(self, rows: Rows) -> list[bytes]:
        """For each of `rows` what tells its state from another's, beyond `columns`."""
        return [b""] * len(rows)

    def _renew_under(self, rows: Rows) -> None:
        """Put what stands under `rows` where all episodes begin."""

    def _copy_under(self, sources: Rows, targets: Rows) -> None:
        """Put what stands under each of `targets` where its one of `sources` stands."""

    def _keep_under(self, rows: Rows) -> list[Any]:
        """What stands under `rows`, to be put somewhere later."""
        return [None] * len(rows)

    def _put_under(self, kept: Sequence[Any], rows: Rows) -> None:
        """Put each of `kept` under its one of `rows`."""

    # -- what it does with it -----------------------------------------------------------------------------------------

    @property
    def steps(self) -> NDArray[np.int64]:
        """How many steps of its episode each row has done."""
        steps: NDArray[np.int64] = self.columns["steps"]
        return steps

    @property
    def clipped(self) -> NDArray[np.int64]:
        """How many actions of its episode were out of range, and were taken for the nearest that is not."""
        clipped: NDArray[np.int64] = self.columns["clipped"]
        return clipped

    def begin(self, rows: Sequence[int] | Rows, episodes: Sequence[int]) -> None:
        """Put `rows` at the start of `episodes`, whatever they did before."""
        numbers = [checked_episode(each) for each in episodes]
        if len(rows) != len(numbers):
            raise UsageError(f"{len(rows)} rows cannot start {len(numbers)} episodes", "give each row one")
        places = np.asarray(rows, dtype=np.intp)
        if not len(places):
            return
        order = np.argsort(places)
        places, numbers = places[order], [numbers[at] for at in order.tolist()]
        self._renew_under(places)
        for column in self.columns.values():
            column[places] = 0
        self.episodes[places] = numbers
        self.start(places, episode_streams(self.name, self.config.split, numbers))
        if self._remembers:
            self._recall(places)

    def step(self, actions: Any, live: NDArray[np.bool_] | None = None) -> Stepped:
        """Play `actions`, one for each row. Rows that are not `live` stay; what is told of them has no meaning."""
        alive = np.ones(self.rows, dtype=np.bool_) if live is None else live
        rewards, terminated, truncated = self.advance(actions, alive)
        return Stepped(self.observe(), rewards, terminated, truncated)

    def advance(self, actions: Any, alive: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
        """`step` for whoever does not look: rewards, terminated, truncated, and no observations worked out."""
        if ((self.episodes < 0) & alive).any():
            raise UsageError("a row has no episode yet", "call reset() first")
        self.apply(self._within_range(actions, alive), alive)
        self.columns["steps"] += alive
        rewards, terminated = self.rewards()
        truncated = (self.steps >= self.config.horizon) & ~terminated
        if self._remembers:
            self._recall(np.flatnonzero(alive), rewards)
        return rewards, terminated, truncated

    def remember(self) -> None:
        """Keep what `curves` gives at every step of the episodes that begin from now on: pictures are drawn from it."""
        self._remembers = True

    def _recall(self, places: Rows, rewards: Floats | None = None) -> None:
        """Keep the curves of `places` as they are now; without rewards their episodes have just begun."""
        given = np.zeros(self.rows) if rewards is None else rewards
        lines = [given, *(values for panel in self.curves().values() for values in panel.values())]
        shape = (self.rows, self.config.horizon + 1, len(lines))
        kept = self.columns.setdefault("remembered", np.full(shape, np.nan))
        if rewards is None:
            kept[places] = np.nan
        kept[places, self.steps[places]] = np.stack(lines, axis=1)[places]

    def copy_rows(self, sources: Sequence[int] | Rows, targets: Sequence[int] | Rows) -> None:
        """Put each of `targets` where its one of `sources` stands, in the middle of an episode or not."""
        origin, goal = np.asarray(sources, dtype=np.intp), np.asarray(targets, dtype=np.intp)
        if np.intersect1d(origin, goal).size:
            raise UsageError("a row is both a source and a target", "copy in two goes")
        self._copy_under(origin, goal)
        self.episodes[goal] = self.episodes[origin]
        for column in self.columns.values():
            column[goal] = column[origin]

    def keep(self, rows: Sequence[int] | Rows) -> KeptRows:
        """Where `rows` stand now, in the middle of an episode or not: a search puts rows there again."""
        places = np.asarray(rows, dtype=np.intp)
        columns = {name: column[places] for name, column in self.columns.items()}
        return KeptRows(self._keep_under(places), self.episodes[places], columns)

    def put(self, kept: KeptRows, which: Sequence[int] | Rows, rows: Sequence[int] | Rows) -> None:
        """Put each of `rows` where its one of `which`, numbers in `kept`, stood."""
        origin, goal = np.asarray(which, dtype=np.intp), np.asarray(rows, dtype=np.intp)
        self._put_under([kept.chains[source] for source in origin.tolist()], goal)
        self.episodes[goal] = kept.episodes[origin]
        for name, column in self.columns.items():
            column[goal] = kept.columns[name][origin]

    def within_bounds(self, seen: Floats) -> Observations:
        """`seen` as an observation, clipped at the bounds of the space."""
        space = self.observation_space
        return np.clip(seen, space.low, space.high).astype(np.float32, copy=False)

    def _within_range(self, actions: Any, alive: NDArray[np.bool_]) -> NDArray[Any]:
        """`actions` as the action space has them; those out of range are clipped and counted."""
        fitting, clipped = fitting_actions(self.action_space, actions, alive)
        self.columns["clipped"] += clipped
        return fitting

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.rows} rows of '{self.name}', {self.config.split} split>"


def _in_words(name: str, value: Any) -> str:
    if isinstance(value, list):
        return "  ".join(_in_words(name, each) for each in value)
    if name == "health_factor_wad" and value == NO_DEBT:
        return "no debt"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _all_fit(space: spaces.Space[Any], given: NDArray[Any]) -> bool:
    """Whether there is nothing to be done about any of these actions, as nearly always."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        first = int(space.start)
        return given.dtype.kind in "iu" and bool(first <= given.min() and given.max() < first + int(space.n))
    return isinstance(space, spaces.Box) and bool(((given >= space.low) & (given <= space.high)).all())


def fitting_actions(
    space: spaces.Space[Any], actions: Any, alive: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Actions, one for each of `alive`, as `space` has them: the nearest in range, and which were out of it."""
    from gymnasium import spaces

    given, rows = np.asarray(actions), len(alive)
    shape = (rows, *(space.shape or ()))
    if given.shape != shape:
        raise BadArgument(f"actions have the shape {given.shape}", f"{rows} rows take the shape {shape}")
    if given.dtype.kind not in "iuf":
        raise BadArgument(f"actions are {given.dtype}", "give numbers")
    if _all_fit(space, given):
        nothing = int(space.start) if isinstance(space, spaces.Discrete) else 0.0
        taken = given.astype(type(nothing))
        taken[~alive] = nothing
        return taken, np.zeros(rows, dtype=np.bool_)
    bad = np.flatnonzero(~np.isfinite(given).reshape(rows, -1).all(axis=1) & alive)
    if len(bad):
        raise BadArgument(f"the action of row {bad[0]} is no number", "a policy that gives NaN has diverged")
    fitting: NDArray[Any]
    if isinstance(space, spaces.Discrete):
        if given.dtype.kind == "f" and (given[alive] != np.floor(given[alive])).any():
            raise BadArgument("an action is not a whole number", f"choose one of {space.n} by its number")
        first, last = int(space.start), int(space.start) + int(space.n) - 1
        wanted: NDArray[Any] = np.where(alive, given, first)
        fitting = np.clip(wanted, first, last).astype(np.int64)
    elif isinstance(space, spaces.Box):
        wanted = np.where(alive.reshape(-1, *(1,) * (given.ndim - 1)), given, 0.0).astype(np.float64)
        fitting = np.clip(wanted, space.low, space.high)
    else:
        raise BadArgument(f"actions of a {type(space).__name__} are not known here", "use Discrete or Box")
    return fitting, (fitting != wanted).reshape(rows, -1).any(axis=1) & alive

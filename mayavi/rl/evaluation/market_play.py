"""A market on chosen episodes: somebody plays the borrowers, somebody the liquidators, and every role has its outcome.

A role's reward in an episode is the mean over its agents. A trajectory is its start and the actions of all agents, so
both roles of a game have the same fingerprints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mayavi.gym_env.market.config import ROLES
from mayavi.gym_env.rows import Observations, fitting_actions
from mayavi.numerics.streams import stream
from mayavi.rl.evaluation.fingerprints import fingerprint, states
from mayavi.rl.evaluation.play import Played, Policy, Progress, in_batches
from mayavi.rl.evaluation.strategies import RANDOM

if TYPE_CHECKING:
    from mayavi.gym_env.market.rows import AaveMarketRows
    from mayavi.gym_env.market.strategies import Script


class RolePlayer(Protocol):
    """Who decides for all agents of a role: `begin` when all rows have started, `actions` before every step."""

    def begin(self, market: AaveMarketRows, role: str, episodes: Sequence[int]) -> None:
        """All rows stand at the start of `episodes`, one for each row."""

    def actions(self, market: AaveMarketRows, seen: Observations) -> NDArray[Any]:
        """(rows, agents of the role), and the shape of an action; `seen` is (rows, agents, entries)."""


@dataclass(frozen=True, slots=True)
class ScriptedRole:
    """One of `AaveMarketRows.role_strategies`."""

    play: Script

    def begin(self, market: AaveMarketRows, role: str, episodes: Sequence[int]) -> None:
        """It remembers nothing."""

    def actions(self, market: AaveMarketRows, seen: Observations) -> NDArray[Any]:
        """What the script says."""
        return self.play(market)


@dataclass(slots=True)
class ChanceRole:
    """Uniformly random actions; those of an episode follow from `seed`, the role and its number alone."""

    seed: int = 0
    _role: str = ""
    _rngs: list[np.random.Generator] = field(default_factory=list, repr=False)

    def begin(self, market: AaveMarketRows, role: str, episodes: Sequence[int]) -> None:
        """A stream for each episode."""
        self._role = role
        self._rngs = [stream(self.seed, "random play", market.name, role, str(episode)) for episode in episodes]

    def actions(self, market: AaveMarketRows, seen: Observations) -> NDArray[Any]:
        """Any action, each as likely as the others."""
        from gymnasium import spaces

        space, agents = market.role_spaces[self._role][1], seen.shape[1]
        if isinstance(space, spaces.Discrete):
            return np.stack([rng.integers(int(space.n), size=agents) + int(space.start) for rng in self._rngs])
        assert isinstance(space, spaces.Box)
        return np.stack([rng.uniform(space.low, space.high, (agents, *space.shape)) for rng in self._rngs])


@dataclass(slots=True)
class TrainedRole:
    """The policy of a role, for all its agents at once, each with a memory of its own."""

    policy: Policy
    deterministic: bool = True
    seed: int = 0
    _state: Any = field(default=None, repr=False)
    _rng: np.random.Generator = field(default_factory=lambda: stream(0, "policy"), repr=False)

    def begin(self, market: AaveMarketRows, role: str, episodes: Sequence[int]) -> None:
        """Forget the episodes before; what is drawn follows from the role and the episodes of this batch."""
        self._state = None
        self._rng = stream(self.seed, "policy", market.name, role, *(str(episode) for episode in episodes))

    def actions(self, market: AaveMarketRows, seen: Observations) -> NDArray[Any]:
        """What the policy does."""
        chosen, self._state = self.policy.actions(
            seen.reshape(-1, seen.shape[2]), self._state, deterministic=self.deterministic, rng=self._rng
        )
        return chosen.reshape(*seen.shape[:2], *chosen.shape[1:])


def role_player(market: AaveMarketRows | type[AaveMarketRows], role: str, name: str, *, seed: int = 0) -> RolePlayer:
    """The script of that name, or chance."""
    return ChanceRole(seed) if name == RANDOM else ScriptedRole(market.role_strategies[role][name])


def play_market(
    market: AaveMarketRows,
    players: Mapping[str, RolePlayer],
    episodes: Sequence[int],
    *,
    name: str = "game",
    progress: Progress | None = None,
) -> dict[str, Played]:
    """Play `episodes` on the rows of `market` with a player for each role; what each role has of it."""
    parts = in_batches(market.rows, episodes, lambda batch: _play_batch(market, players, batch, name), progress)
    return {role: Played.joined([part[role] for part in parts]) for role in ROLES}


def _play_batch(
    market: AaveMarketRows, players: Mapping[str, RolePlayer], episodes: Sequence[int], name: str
) -> dict[str, Played]:
    count, rows = len(episodes), market.rows
    filled = [*episodes, *(episodes[-1] for _ in range(rows - count))]
    market.begin(range(rows), filled)
    starts = states(market, range(count))
    for role in ROLES:
        players[role].begin(market, role, filled)
    live = np.arange(rows) < count
    earned = np.zeros((rows, len(market.agents)))
    ended = np.zeros((rows, len(market.agents)), dtype=np.bool_)
    lengths = {role: np.zeros(rows, dtype=np.int64) for role in ROLES}
    taken: list[list[NDArray[Any]]] = [[] for _ in range(count)]
    seen = market.borrowers_see(), market.liquidators_see()
    while live.any():
        acting = market.acting() & live[:, None]
        first, second = (np.asarray(players[role].actions(market, own)) for role, own in zip(ROLES, seen, strict=True))
        done = np.concatenate(
            [_done(market, *both, acting) for both in zip(ROLES, (first, second), strict=True)], axis=1
        )
        stepped = market.step_all(first, second, live)
        seen = stepped.borrowers, stepped.liquidators
        for row in np.flatnonzero(live):
            taken[row].append(done[row])
        for role in ROLES:
            lengths[role] += acting[:, market.role_agents[role]].any(axis=1)
        earned += np.where(live[:, None], stepped.rewards, 0.0)
        ended |= stepped.terminated & live[:, None]
        live = live & (market.acting() & ~stepped.truncated).any(axis=1)
    actions = tuple(np.array(each) for each in taken)
    fingerprints = tuple(fingerprint(start, each) for start, each in zip(starts, actions, strict=True))
    return {
        role: Played(
            name,
            tuple(int(each) for each in episodes),
            earned[:count, agents].mean(axis=1),
            lengths[role][:count],
            ended[:count, agents].sum(axis=1),
            market.columns["clipped_by"][:count, agents].sum(axis=1),
            tuple(start.hex()[:32] for start in starts),
            fingerprints,
            actions,
        )
        for role, agents in market.role_agents.items()
    }


def _done(market: AaveMarketRows, role: str, wanted: NDArray[Any], acting: NDArray[np.bool_]) -> NDArray[Any]:
    """What the market makes of the actions of a role, in one line for each row; nothing of those who act no more."""
    space, acts = market.role_spaces[role][1], acting[:, market.role_agents[role]]
    fitting, _ = fitting_actions(space, wanted.reshape(-1, *(space.shape or ())), acts.ravel())
    return fitting.reshape(market.rows, -1)

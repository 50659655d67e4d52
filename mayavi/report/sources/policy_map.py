"""What a policy does over its two most influential observations, the others at their median of the evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.report.sources.env_labels import action_names, component_names, observation_names
from mayavi.rl.policy import Categorical, Policy

if TYPE_CHECKING:
    from mayavi.gym_env.rows import Observations, RowsEnv
    from mayavi.rl.models import Model

EPISODES = 64
SIDE = 9
"""Cells along an axis: 81 in all, few enough for a number in each."""
_TAIL = 0.02
"""Share of the observed values that the axes leave out at each end."""


@dataclass(frozen=True, slots=True)
class PolicyMap:
    """Actions of a policy on a grid of two observations. `cells[row][column]`: row is y, from high to low."""

    role: str
    x_name: str
    y_name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    component: str
    cells: tuple[tuple[float, ...], ...]
    actions: tuple[str, ...]
    """Names of discrete actions, by their number; empty for a continuous action."""
    medians: tuple[tuple[str, float], ...]
    """The other observations, and the values they are held at."""
    episodes: int
    seen: int
    """Number of observations that the medians and ranges come from."""

    @property
    def distinct(self) -> int:
        """Number of different actions on the map."""
        return len({value for row in self.cells for value in row})


@dataclass(slots=True)
class _Recording:
    """A trained strategy that keeps the observations it acts on."""

    inner: Any
    seen: list[NDArray[Any]] = field(default_factory=list)
    _before: NDArray[Any] | None = None

    @property
    def name(self) -> str:
        return str(self.inner.name)

    def begin(self, env: RowsEnv[Any], episodes: Sequence[int]) -> None:
        self._before = None
        self.inner.begin(env, episodes)

    def actions(self, env: RowsEnv[Any], observations: Observations) -> NDArray[Any]:
        steps = env.steps.copy()
        moved = np.ones(len(steps), dtype=bool) if self._before is None else steps > self._before
        self._before = steps
        self.seen.append(np.asarray(observations)[moved].reshape(-1, observations.shape[-1]))
        return np.asarray(self.inner.actions(env, observations))


def policy_maps(
    model: Model, evaluation: Mapping[str, Any] | None = None, *, episodes: int = EPISODES
) -> list[PolicyMap]:
    """Map the policies of `model`, one map for each role and component of the action; at most three a role.

    The policy plays `episodes` of `evaluation`, or of the test split, to see which observations occur. A recurrent
    policy has none: its action depends on what it saw before.
    """
    from mayavi.rl.evaluation.play import play_roles
    from mayavi.rl.evaluation.strategies import Trained

    if model.config.recurrent:
        return []
    config = {"split": "test"} if evaluation is None else dict(evaluation["env"]["config"])
    env = model.make_env(min(episodes, EPISODES), **config)
    names = env.role_names
    policies = {role: model.policy(role=role if env.multi_agent else None) for role in names}
    playing = {
        role: _Recording(Trained(role, policy, role=role if env.multi_agent else None))
        for role, policy in policies.items()
    }
    play_roles(env, playing, range(episodes))
    found = []
    for role, policy in policies.items():
        seen = np.concatenate(playing[role].seen)
        found += _maps(env.name, role if env.multi_agent else "", policy, seen, episodes)
    return found


def _maps(env: str, role: str, policy: Policy, seen: NDArray[Any], episodes: int) -> list[PolicyMap]:
    middle = np.median(seen, axis=0)
    low, high = np.quantile(seen, [_TAIL, 1 - _TAIL], axis=0)
    chosen = _influential(policy, middle, low, high)
    if len(chosen) < 2:
        return []
    across, up = chosen
    names = observation_names(env, role, seen.shape[1])
    xs, ys = np.linspace(low[across], high[across], SIDE), np.linspace(high[up], low[up], SIDE)
    grid = np.tile(middle, (SIDE * SIDE, 1))
    grid[:, across], grid[:, up] = np.tile(xs, SIDE), np.repeat(ys, SIDE)
    actions = np.asarray(policy.actions(grid.astype(np.float32))[0]).reshape(SIDE, SIDE, -1)
    discrete = hasattr(policy.action_space, "n")
    labels = action_names(env, role, int(policy.action_space.n)) if discrete else ()  # type: ignore[attr-defined]
    components = ("action",) if discrete else component_names(env, actions.shape[2])
    others = tuple((name, float(middle[at])) for at, name in enumerate(names) if at not in chosen)
    start = int(getattr(policy.action_space, "start", 0))
    return [
        PolicyMap(
            role,
            names[across],
            names[up],
            tuple(map(float, xs)),
            tuple(map(float, ys)),
            component,
            tuple(tuple(float(value) - start for value in row) for row in actions[:, :, at]),
            labels,
            others,
            episodes,
            len(seen),
        )
        for at, component in enumerate(components[:3])
    ]


def _influential(policy: Policy, middle: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> list[int]:
    """Return the two observations that move the action most when each moves alone over the values that occur."""
    entries = len(middle)
    moving = [at for at in range(entries) if high[at] > low[at]]
    if len(moving) < 2:
        return []
    probes = np.tile(middle, (len(moving) * SIDE, 1))
    for place, at in enumerate(moving):
        probes[place * SIDE : (place + 1) * SIDE, at] = np.linspace(low[at], high[at], SIDE)
    given, _ = policy.distribution(probes.astype(np.float32), None)
    if isinstance(given, Categorical):
        weights = np.exp(given.logits - given.logits.max(axis=1, keepdims=True))
        shown = weights / weights.sum(axis=1, keepdims=True)
    else:
        shown = np.asarray(given.mode(), dtype=np.float64).reshape(len(probes), -1)
    spread = [float(np.ptp(shown[place * SIDE : (place + 1) * SIDE], axis=0).sum()) for place in range(len(moving))]
    order = sorted(range(len(moving)), key=lambda place: (-spread[place], moving[place]))
    return [moving[place] for place in order[:2]]

"""Share one set of normalisation statistics among all RLlib runners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mayavi.rl.rllib.env import training_vector
from mayavi.rl.training.normaliser import Normaliser


def set_statistics(algorithm: Any, normaliser: Normaliser) -> None:
    """Make every runner normalise with a copy of `normaliser`."""
    written = normaliser.to_json()

    def replace(runner: Any) -> None:
        lens = training_vector(runner).lens
        assert lens is not None
        lens.now = Normaliser.of(written)
        lens.take()

    _for_each_runner(algorithm, replace)


def update_statistics(algorithm: Any, normaliser: Normaliser) -> float | None:
    """Merge what all runners recorded into `normaliser` and distribute the result.

    Runners are merged in the order of their index, so that the sums are reproducible. Returns the mean return of
    their most recent episodes, None before the first has ended.
    """
    returns: list[float] = []
    for _, recorded, recent in sorted(_for_each_runner(algorithm, _take_recorded), key=lambda each: int(each[0])):
        normaliser.merge(Normaliser.of(recorded))
        returns.extend(recent)
    set_statistics(algorithm, normaliser)
    return sum(returns) / len(returns) if returns else None


def _take_recorded(runner: Any) -> tuple[int, dict[str, Any], list[float]]:
    """Runner index, statistics recorded since the last update, and returns of recent episodes."""
    vector = training_vector(runner)
    assert vector.lens is not None
    return runner.worker_index or 0, vector.lens.take().to_json(), list(vector.recent)


def _for_each_runner(algorithm: Any, function: Callable[[Any], Any]) -> list[Any]:
    group = algorithm.env_runner_group
    found: list[Any] = group.foreach_env_runner(function, local_env_runner=group.num_remote_env_runners() == 0)
    return found

"""The statistics that RLlib's runners see through: one and the same for all, moved between rollouts."""

from __future__ import annotations

from typing import Any

from mayavi.rl.training.normaliser import Normaliser


def show_through(algorithm: Any, normaliser: Normaliser) -> None:
    """Let every runner see through `normaliser`."""
    written = normaliser.to_json()

    def show(runner: Any) -> None:
        from mayavi.rl.rllib.env import training_vector

        lens = training_vector(runner).lens
        assert lens is not None
        lens.now = Normaliser.of(written)
        lens.take()

    _each(algorithm, show)


def move_statistics(algorithm: Any, normaliser: Normaliser) -> float | None:
    """Take in what all runners saw, one after the other by their number. Gives what the last episodes earned."""
    earned: list[float] = []
    for _, noted, recent in sorted(_each(algorithm, _taken), key=lambda each: int(each[0])):
        normaliser.merge(Normaliser.of(noted))
        earned.extend(recent)
    show_through(algorithm, normaliser)
    return sum(earned) / len(earned) if earned else None


def _taken(runner: Any) -> tuple[int, dict[str, Any], list[float]]:
    from mayavi.rl.rllib.env import training_vector

    vector = training_vector(runner)
    assert vector.lens is not None
    return runner.worker_index or 0, vector.lens.take().to_json(), list(vector.recent)


def _each(algorithm: Any, do: Any) -> list[Any]:
    group = algorithm.env_runner_group
    found: list[Any] = group.foreach_env_runner(do, local_env_runner=group.num_remote_env_runners() == 0)
    return found

"""Run trials through Ray Tune, on this machine or on a Ray cluster."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from mayavi.errors import WorkerError
from mayavi.rl.grid.trial import Trial, run_trial
from mayavi.rl.rllib.ray_connection import ray_for, silence_ray

Done = Callable[[dict[str, Any]], None]
"""`done(result)` is called when a trial has ended."""

_QUIET = {
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # Ctrl-C stops at once: trainings resume from their checkpoints
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",  # paths of snapshots and data files stay as given
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_TRAIN_V2_ENABLED": "0",
}


def run_trials(trials: Sequence[Trial], jobs: int, address: str | None, done: Done) -> list[dict[str, Any]]:
    """Run `trials`, at most `jobs` at a time, and return their results. On a cluster its cores are the limit."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    processes = 1 + max(int(each.config.get("runners") or 0) for each in trials)
    with ray_for(0 if address else jobs * processes, address), tempfile.TemporaryDirectory() as scratch:
        from ray import tune

        silence_ray()
        results: dict[str, dict[str, Any]] = {}

        class Listener(tune.Callback):  # type: ignore[misc]  # no types there
            """Collects results as trials end."""

            def on_trial_complete(self, iteration: int, trials: Any, trial: Any, **_: Any) -> None:
                found = dict(trial.last_result)
                results[trial.config["trial"]["run_id"]] = found
                done(found)

            def on_trial_error(self, iteration: int, trials: Any, trial: Any, **_: Any) -> None:
                run_id = trial.config["trial"]["run_id"]
                results[run_id] = {"run_id": run_id, "error": "its process died", "hint": "it may lack memory"}
                done(results[run_id])

        tuner = tune.Tuner(
            tune.with_resources(_trainable, _resources(tune, trials, jobs, processes)),
            param_space={"trial": tune.grid_search([each.to_json() for each in trials])},
            tune_config=tune.TuneConfig(max_concurrent_trials=None if address else jobs),
            run_config=tune.RunConfig(storage_path=scratch, name="grid", verbose=0, callbacks=[Listener()]),
        )
        tuner.fit()
        missing = [each.run_id for each in trials if each.run_id not in results]
        if missing:
            raise WorkerError(f"Ray Tune returned no result for {missing[0]}", "the same command continues the grid")
        return [results[each.run_id] for each in trials]


def _trainable(config: dict[str, Any]) -> dict[str, Any]:
    return run_trial(config["trial"])


def _resources(tune: Any, trials: Sequence[Trial], jobs: int, processes: int) -> Any:
    """A core for each process of a trial, and its share of the GPUs of this machine."""
    import torch

    first: dict[str, float] = {"CPU": 1}
    uses_gpu = any(each.config.get("device") != "cpu" and each.backend != "modal" for each in trials)
    if uses_gpu and torch.cuda.is_available():
        first["GPU"] = min(1.0, torch.cuda.device_count() / jobs)
    return tune.PlacementGroupFactory([first, *({"CPU": 1} for _ in range(processes - 1))])

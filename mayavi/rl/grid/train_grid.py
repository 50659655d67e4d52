"""`train_grid`: run all trainings of a grid, compare its points on the validation split, test the best one.

The same call continues an interrupted grid: finished trainings are kept, others resume from their last checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mayavi.errors import WorkerError
from mayavi.evm.specialise import chosen_specialise
from mayavi.parallel.cores import available_cores
from mayavi.parallel.processes import check_jobs
from mayavi.rl.environments import env_config
from mayavi.rl.evaluation.after_training import TEST, evaluate_training
from mayavi.rl.evaluation.document import eval_name, write_eval
from mayavi.rl.evaluation.evaluate import Say
from mayavi.rl.evaluation.models import evaluate_models
from mayavi.rl.evaluation.settings import EvaluationSettings
from mayavi.rl.grid.journal import assign_runs
from mayavi.rl.grid.plan import GridPlan, GridTask
from mayavi.rl.grid.result import GridResult, PointResult, TrainedRun, best_point, summarise_point, with_differences
from mayavi.rl.grid.trial import Trial, is_trained, stored_evaluation
from mayavi.rl.models import Model
from mayavi.rl.training.backend import LOCAL, MODAL
from mayavi.rl.training.validation import SPLIT
from mayavi.rl.training_runs.atomic_files import write_json
from mayavi.rl.training_runs.folder import EVALUATIONS, models_path

MOST_MODAL_JOBS = 8

Progress = Callable[[int, int], None]
"""`progress(done, total)` counts trainings."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Evaluation of the best point on the test split, and its file."""

    document: dict[str, Any]
    path: Path


def train_grid(
    plan: GridPlan,
    *,
    models: Path | None = None,
    jobs: int | None = None,
    ray: str | None = None,
    backend: str = LOCAL,
    progress: Progress | None = None,
    say: Callable[[str], None] = print,
) -> GridResult:
    """Run the trainings of `plan` through Ray Tune and compare its points.

    At most `jobs` trainings run at a time, by default as many as there are cores; with `ray` those of the cluster at
    that address, which must reach the folder of models at the same path. On Modal the sum of the maximum costs is
    checked before anything is spent.
    """
    place = models_path(models).absolute()
    limit = check_jobs(jobs) if jobs is not None else MOST_MODAL_JOBS if backend == MODAL else available_cores()
    trials = _trials(plan, place, backend)
    waiting = [each for each in trials.values() if not is_trained(each) or stored_evaluation(each) is None]
    if backend == MODAL:
        _check_modal([each for each in waiting if not is_trained(each)], place, say)
    done = len(trials) - len(waiting)
    if done:
        say(f"{done:,} of {len(trials):,} trainings are finished already")
    failed = _run(waiting, min(limit, len(waiting)), ray, done, len(trials), progress) if waiting else {}
    points = [_point(plan, at, trials, failed) for at in range(len(plan.points))]
    best = best_point(points)
    finished = [each for point in points for each in point.trainings]
    result = GridResult(
        plan.grid_id,
        plan.base.env,
        plan.seeds,
        plan.base.evaluate_episodes,
        tuple(with_differences(points, best)),
        best,
        round(sum(each.cost_usd for each in finished), 6),
        _most_usd(trials, finished),
    )
    write_json(result_path(place, result), result.to_json())
    return result


def evaluate_best(result: GridResult, plan: GridPlan, models: Path, say: Say | None = None) -> HeldOut:
    """Evaluate the policies of the best point on the test split of the base environment: each seed, and all together.

    The evaluation of a seed is stored with its run, so that its report and its bundle have it.
    """
    assert result.best is not None
    runs = [Model(_folder(models, each.run_id)) for each in result.points[result.best].trainings]
    config, episodes = _base_env(plan), plan.base.test_episodes
    alone = [evaluate_training(each, episodes=episodes, config=config, say=say) for each in runs]
    if len(alone) == 1:
        return HeldOut(*alone[0])
    settings = EvaluationSettings(episodes)
    document = evaluate_models(runs, None, settings, config={**config, "split": TEST}, say=say)
    path = models / EVALUATIONS / eval_name(document)
    write_eval(document, path)
    return HeldOut(document, path)


def result_path(models: Path, result: GridResult) -> Path:
    """File of the result of a grid."""
    folder = models / EVALUATIONS
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{result.grid_id}.json"


def _trials(plan: GridPlan, models: Path, backend: str) -> dict[str, Trial]:
    """Trial of each task by its key."""
    runs = assign_runs(models, plan.tasks)
    env = {**_base_env(plan), "split": SPLIT}
    return {
        each.key: Trial(
            each.config.to_json(),
            runs[each.key],
            str(models),
            backend,
            env,
            plan.base.evaluate_episodes,
            specialise=chosen_specialise(),
        )
        for each in plan.tasks
    }


def _base_env(plan: GridPlan) -> dict[str, Any]:
    """All settings of the environment on which points are compared."""
    return env_config(plan.base).model_dump(mode="json")


def _run(
    waiting: Sequence[Trial], jobs: int, ray: str | None, done: int, total: int, progress: Progress | None
) -> dict[str, str]:
    """Run the trials and return the error of each failed one by run id."""
    from mayavi.rl.grid.tuner import run_trials

    ended = done

    def count(_: Mapping[str, Any]) -> None:
        nonlocal ended
        ended += 1
        if progress is not None:
            progress(ended, total)

    if progress is not None:
        progress(done, total)
    results = run_trials(waiting, jobs, ray, count)
    failed = {each["run_id"]: _reason(each) for each in results if each["error"]}
    for trial in waiting:
        if trial.run_id not in failed and not is_trained(trial):
            raise WorkerError(
                f"run {trial.run_id} was trained on another machine and is not in '{trial.models}'",
                "every node of the cluster needs this folder at the same path: `--models FOLDER`",
            )
    return failed


def _reason(result: Mapping[str, Any]) -> str:
    return "; ".join(each for each in (result["error"], result.get("hint")) if each)


def _point(plan: GridPlan, point: int, trials: Mapping[str, Trial], failed: Mapping[str, str]) -> PointResult:
    trained, broken = [], {}
    for task in plan.tasks:
        if task.point != point:
            continue
        trial = trials[task.key]
        if trial.run_id in failed:
            broken[task.seed] = failed[trial.run_id]
        else:
            trained.append(_trained(task, trial))
    return summarise_point(plan.points[point], trained, broken)


def _trained(task: GridTask, trial: Trial) -> TrainedRun:
    import numpy as np

    document, record = stored_evaluation(trial), trial.folder.read()
    assert document is not None
    rewards = document[document["models"][0]["name"]]["rewards"]
    cost = float((record.get("cost") or {}).get("usd") or 0.0)
    return TrainedRun(task.seed, trial.run_id, np.array(rewards), float(record["seconds"]), cost)


def _most_usd(trials: Mapping[str, Trial], finished: Sequence[TrainedRun]) -> float | None:
    known = {each.run_id for each in finished}
    costs = [(each.folder.read().get("cost") or {}).get("most_usd") for each in trials.values() if each.run_id in known]
    found = [each for each in costs if each is not None]
    return round(sum(found), 6) if found else None


def _check_modal(trials: Sequence[Trial], models: Path, say: Callable[[str], None]) -> None:
    """Show the maximum cost of `trials` on Modal, refuse them above the ceiling, and see whether Modal answers."""
    if not trials:
        return
    from mayavi.rl.modal.cost_guard import Machine, ceiling_usd, check_total_cost
    from mayavi.rl.modal.training import fetch_run

    check_total_cost(Machine.from_environment(), len(trials), ceiling_usd(), say)
    fetch_run(trials[0].run_id, models, say=say)  # without an account nothing is started


def _folder(models: Path, run_id: str) -> Any:
    from mayavi.rl.training_runs.folder import RunFolder

    return RunFolder(models / run_id)

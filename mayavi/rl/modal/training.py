"""Train on Modal from this machine.

    show the maximum cost → check the ceiling → upload world, data and run → call → download the run

Nothing is spent before the ceiling and everything else that can be checked on this machine was checked. The world is
uploaded as a snapshot, so the Modal machine needs neither compilers nor a node.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mayavi.errors import RemoteError, SetupError, UsageError
from mayavi.evm.specialise import SPECIALISE, chosen_specialise
from mayavi.gym_env.registry import env_versions
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import check_runs_on_device, env_facts, needs_chain
from mayavi.rl.modal.app import Request, as_arguments, build_app, import_modal, open_volume
from mayavi.rl.modal.cost_guard import Machine, ceiling_usd, check_cost
from mayavi.rl.modal.gpu_memory import check_memory, memory_gb
from mayavi.rl.modal.volume import (
    Say,
    Volume,
    download,
    read_record,
    upload_data_files,
    upload_run,
    upload_world,
)
from mayavi.rl.rollouts.fitting import check_rollouts
from mayavi.rl.training.memory_ceiling import VARIABLE as MEMORY_CEILING
from mayavi.rl.training.memory_ceiling import estimate
from mayavi.rl.training.progress import Progress, TrainProgress
from mayavi.rl.training.resuming import check_resumable
from mayavi.rl.training.train import TrainedModel, trained_model
from mayavi.rl.training_runs.folder import FINISHED, RECORD, RunFolder, find_run, models_path, now
from mayavi.runs.run_id import check_id, new_run_id

POLL_S = 15.0
FORWARDED = ("MAYAVI_RL_NUM_ENV_RUNNERS",)
"""Environment variables of this machine that are set on the Modal machine too."""

Call = Callable[[Machine, Any, Request, Callable[[], None]], dict[str, Any]]
"""`call(machine, volume, request, poll)` returns the answer of the machine, calling `poll` while it works."""


def train_on_modal(
    config: TrainConfig,
    *,
    models: Path | None = None,
    resume: str | None = None,
    run_id: str | None = None,
    progress: Progress | None = None,
    begun: Callable[[str], None] | None = None,
    say: Say = print,
    volume: Volume | None = None,
    call: Call | None = None,
) -> TrainedModel:
    """Train `config` on Modal and download the run into `models`. Tests replace Modal's own `volume` and `call`."""
    place = models_path(models)
    folder = find_run(resume, place) if resume is not None else None
    if folder is not None:
        record = folder.read()
        if record["status"] == FINISHED and config.timesteps <= record["steps"]:
            return trained_model(folder, config)
        check_resumable(folder, config)
    machine, ceiling = Machine.from_environment(), ceiling_usd()
    say(f"Modal, {machine.describe()}; the ceiling is ${ceiling:.2f}")
    check_cost(machine, ceiling)
    import_modal()
    _check_trainable(config, machine)
    run_id = folder.run_id if folder is not None else check_id(run_id or new_run_id())
    with explain_modal_errors():
        store = volume if volume is not None else open_volume()
        request = _upload(config, run_id, folder, store, machine)
        if begun is not None:
            begun(run_id)
        say("starting a machine; the first time Modal builds its image, which takes some minutes")
        try:
            answer = (call or call_modal)(machine, store, request, lambda: _report(store, run_id, config, progress))
        except BaseException:
            with suppress(Exception):  # there may be nothing to download yet
                say(f"run {run_id} stopped; what the volume holds of it is in {download(store, run_id, place).path}")
            raise
        if "error" in answer:
            raise RemoteError(f"on Modal: {answer['error']}", answer.get("hint"))
        found = download(store, run_id, place, say=say)
    return trained_model(found, config)


def call_modal(machine: Machine, volume: Any, request: Request, poll: Callable[[], None]) -> dict[str, Any]:
    """Call the function on Modal and wait for its answer. This is the only step that costs money."""
    app, function = build_app(machine, volume)
    with app.run():
        running = function.spawn(as_arguments(request))
        while True:
            try:
                answer: dict[str, Any] = running.get(timeout=POLL_S)
            except TimeoutError:  # the builtin one: not finished yet
                poll()
            else:
                return answer


def fetch_run(
    run_id: str, models: Path | None = None, *, volume: Volume | None = None, say: Say = print
) -> RunFolder | None:
    """Download a run unless the copy in `models` has as many steps; None if the volume does not hold it."""
    place = models_path(models)
    with explain_modal_errors():
        store = volume if volume is not None else open_volume()
        local, remote = RunFolder(place / check_id(run_id)), read_record(store, run_id)
        if remote is None:
            return None
        if (local.path / RECORD).is_file() and remote["steps"] <= local.read()["steps"]:
            return local
        return download(store, run_id, place, say=say)


@contextmanager
def explain_modal_errors() -> Iterator[None]:
    """Convert errors of Modal to a `MayaviError` with a hint."""
    modal = import_modal()
    try:
        yield
    except modal.exception.AuthError as error:
        raise SetupError(
            f"Modal refused the login: {str(error).partition('. ')[0]}",
            "`modal token new` sets an account up; see docs/how-to/train-on-modal.md",
        ) from None
    except modal.exception.FunctionTimeoutError:
        raise RemoteError(
            "the time on Modal was used up before the training was finished",
            "`mayavi train --resume RUN --remote modal` continues from its last checkpoint",
        ) from None
    except modal.exception.Error as error:
        raise RemoteError(
            f"Modal: {type(error).__name__}: {error}",
            "`mayavi train --resume RUN --remote modal` continues a run that has started",
        ) from error


def _check_trainable(config: TrainConfig, machine: Machine) -> None:
    """Check locally, at no cost, everything that the Modal machine would refuse. Its own memory is the limit."""
    if config.source.partition(":")[0] == "rpc":
        raise UsageError(
            "a machine on Modal asks no node",
            f"read it beforehand: mayavi snapshot warm --env {config.env} --output FILE, then --source snapshot:FILE",
        )
    if env_versions(config.env):
        raise UsageError(
            f"a machine on Modal has only Mayavi's own environments, not '{config.env}'",
            "train it here, without --remote",
        )
    check_runs_on_device(config)
    facts = env_facts(config)
    check_rollouts(config, facts)
    check_memory(estimate(config, facts.sizes(), discrete=facts.discrete), machine)


def _upload(config: TrainConfig, run_id: str, folder: RunFolder | None, volume: Volume, machine: Machine) -> Request:
    """Upload everything that the training needs, and describe it in a request."""
    with TemporaryDirectory() as scratch:
        world = upload_world(config, volume, Path(scratch)) if needs_chain(config) else None
        files = upload_data_files(config, volume)
        if folder is not None:
            upload_run(folder, volume, Path(scratch))
    environment = {name: os.environ[name] for name in FORWARDED if name in os.environ}
    environment[SPECIALISE] = chosen_specialise()
    environment[MEMORY_CEILING] = f"{memory_gb(machine):g}"
    return Request(
        config.to_json(),
        run_id,
        world,
        files,
        environment=environment,
        usd_per_hour=str(machine.usd_per_hour),
        most_usd=str(machine.worst_case_usd),
        requested=f"{run_id} {now()}",
    )


def _report(volume: Volume, run_id: str, config: TrainConfig, progress: Progress | None) -> None:
    """Report the progress as of the last checkpoint in the volume."""
    record = read_record(volume, run_id) if progress is not None else None
    if progress is not None and record is not None:
        progress(
            TrainProgress(
                record["steps"], config.timesteps, record["episodes"], record["mean_reward"], record["seconds"]
            )
        )

"""A training on Modal as it is seen from here: what it may cost, the way there, and the model on its way back.

    worst case told → ceiling checked → world and run to the volume → the call → the run into data/models

Nothing is spent before the ceiling is checked and everything that can be checked here was. What is trained on travels
as a snapshot, so the machine there needs neither compilers nor a node.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from mayavi.errors import RemoteError, SetupError, UsageError
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import env_config
from mayavi.rl.modal.app import FILES, HOME_FILE, WORLDS, Request, as_arguments, build_app, import_modal, open_volume
from mayavi.rl.modal.cost_guard import Machine, ceiling_usd, check_cost
from mayavi.rl.training.progress import Progress, TrainProgress
from mayavi.rl.training.run_files import MANIFEST, digest_of, fetch, list_files, parse_manifest
from mayavi.rl.training.run_folder import FINISHED, RECORD, RunFolder, find_run, models_path
from mayavi.rl.training.train import TrainedModel, check_resumable, trained_model

STAGING = ".downloads"
POLL_S = 15.0
CARRIED = ("MAYAVI_LOCAL_GPU_MEM_GB_CEILING", "MAYAVI_RL_NUM_ENV_RUNNERS")
"""Settings of this machine that hold there too."""

Say = Callable[[str], None]
Call = Callable[[Machine, Any, Request, Callable[[], None]], dict[str, Any]]
"""`call(machine, volume, request, poll)`: what the machine answers; `poll` is called now and then while it works."""


class Volume(Protocol):
    """What is used of `modal.Volume`."""

    def listdir(self, path: str, *, recursive: bool = False) -> list[Any]:
        """Its entries, each with a `path`."""

    def read_file(self, path: str) -> Iterable[bytes]:
        """A file in pieces."""

    def batch_upload(self, force: bool = False) -> Any:
        """A context to put files in."""


def train_on_modal(
    config: TrainConfig,
    *,
    models: Path | None = None,
    resume: str | None = None,
    progress: Progress | None = None,
    begun: Callable[[str], None] | None = None,
    say: Say = print,
    volume: Volume | None = None,
    call: Call | None = None,
) -> TrainedModel:
    """Train `config` on Modal; the model lands in `models` here. `volume` and `call` stand in for Modal's own."""
    from mayavi.rl.environments import stands_on_a_chain
    from mayavi.runs.run_id import new_run_id

    place = models_path(models)
    folder = find_run(resume, place) if resume is not None else None
    if folder is not None:
        record = folder.read()
        if record["status"] == FINISHED and config.timesteps <= record["steps"]:
            return trained_model(folder, config)
        check_resumable(folder, config)
    machine, ceiling = Machine.from_environment(), ceiling_usd()
    say(f"Modal, {machine.told()}; the ceiling is ${ceiling:.2f}")
    check_cost(machine, ceiling)
    import_modal()
    _check_here(config)
    run_id = folder.run_id if folder is not None else new_run_id()
    with told_as_ours(), TemporaryDirectory() as scratch:
        store = volume if volume is not None else open_volume()
        world = _bring_world(config, store, Path(scratch)) if stands_on_a_chain(config) else None
        files = _bring_files(config, store)
        if folder is not None:
            _bring_run(folder, store, Path(scratch))
        carried = {name: os.environ[name] for name in CARRIED if name in os.environ}
        request = Request(config.to_json(), run_id, world, files, environment=carried)
        if begun is not None:
            begun(run_id)
        say("a machine is started; an image that Modal does not have yet is built first, which takes some minutes")
        try:
            answer = (call or call_modal)(machine, store, request, lambda: _tell(store, run_id, config, progress))
        except BaseException:
            with suppress(Exception):  # what was kept until then, where something was
                say(f"run {run_id} stopped; what the volume holds of it is in {download(store, run_id, place).path}")
            raise
        if "error" in answer:
            raise RemoteError(f"on Modal: {answer['error']}", answer.get("hint"))
        found = download(store, run_id, place, say=say)
    return trained_model(found, config)


def call_modal(machine: Machine, volume: Any, request: Request, poll: Callable[[], None]) -> dict[str, Any]:
    """The call itself, the one thing that costs."""
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


@contextmanager
def told_as_ours() -> Iterator[None]:
    """Errors of Modal as errors of Mayavi, with what to do."""
    modal = import_modal()
    try:
        yield
    except modal.exception.AuthError as error:
        raise SetupError(
            f"Modal does not know who you are: {str(error).partition('. ')[0]}",
            "`modal token new` sets an account up; docs/how-to/train-on-modal.md tells the rest",
        ) from None
    except modal.exception.FunctionTimeoutError:
        raise RemoteError(
            "the time on Modal was used up before the training was finished",
            "`mayavi train --resume RUN --remote modal` goes on with what it kept",
        ) from None
    except modal.exception.Error as error:
        raise RemoteError(
            f"Modal: {type(error).__name__}: {error}",
            "`mayavi train --resume RUN --remote modal` goes on with a run that was begun",
        ) from error


# -- there ------------------------------------------------------------------------------------------------------------


def _check_here(config: TrainConfig) -> None:
    """Whatever would be refused there is refused here, where it costs nothing."""
    from mayavi.rl.environments import env_facts
    from mayavi.rl.training.memory_ceiling import check_ceiling, estimate

    if config.source.partition(":")[0] == "rpc":
        raise UsageError(
            "a machine on Modal asks no node",
            f"read it beforehand: mayavi snapshot warm --env {config.env} --output FILE, then --source snapshot:FILE",
        )
    facts = env_facts(config)
    check_ceiling(estimate(config, facts.sizes(), discrete=facts.discrete))


def _bring_world(config: TrainConfig, volume: Volume, scratch: Path) -> str:
    """The world in the volume, under its digest: brought there where it is not yet."""
    from mayavi.evm.snapshot import read_info
    from mayavi.rl.environments import world_of

    world = world_of(config)
    if world.path is not None:
        file = world.path
    else:
        file = scratch / "world.snapshot"
        world.on(str(config.env_config.get("chain", "ethereum"))).open().dump_snapshot(file)
    name = f"{WORLDS}/{read_info(file).digest}.snapshot"
    if name not in _names(volume, WORLDS):
        with volume.batch_upload(force=True) as batch:
            batch.put_file(str(file), f"/{name}")
    return name


def _bring_files(config: TrainConfig, volume: Volume) -> dict[str, str]:
    """The files of a market of the past in the volume, under their hashes: by their names here."""
    files = env_config(config).data_files()
    if not files:
        return {}
    places = {each: f"{FILES}/{digest_of(Path(each))}{Path(each).suffix}" for each in files}
    there = _names(volume, FILES)
    with volume.batch_upload(force=True) as batch:
        for file, place in places.items():
            if place not in there:
                batch.put_file(file, f"/{place}")
    return places


def _bring_run(folder: RunFolder, volume: Volume, scratch: Path) -> None:
    """A run that is further here than in the volume, where it goes on."""
    there = _record(volume, folder.run_id)
    if there is not None and there["steps"] >= folder.read()["steps"]:
        return
    files = list_files(folder.path)
    listed = scratch / MANIFEST
    listed.write_text(json.dumps({"format": 1, "files": files}), encoding="utf-8")
    with volume.batch_upload(force=True) as batch:
        for name in files:
            batch.put_file(str(folder.path / name), f"/{folder.run_id}/{name}")
    with volume.batch_upload(force=True) as batch:
        batch.put_file(str(listed), f"/{folder.run_id}/{MANIFEST}")


def _names(volume: Volume, folder: str) -> set[str]:
    try:
        return {str(each.path).lstrip("/") for each in volume.listdir(f"/{folder}", recursive=True)}
    except (FileNotFoundError, import_modal().exception.NotFoundError):
        return set()


def _read(volume: Volume, path: str) -> bytes | None:
    try:
        return b"".join(volume.read_file(path))
    except (FileNotFoundError, import_modal().exception.NotFoundError):
        return None


def _record(volume: Volume, run_id: str) -> dict[str, Any] | None:
    content = _read(volume, f"{run_id}/{RECORD}")
    try:
        record: dict[str, Any] | None = json.loads(content) if content else None
    except ValueError:
        return None
    return record


def _tell(volume: Volume, run_id: str, config: TrainConfig, progress: Progress | None) -> None:
    """How far it is, as of the last checkpoint in the volume."""
    if progress is None:
        return
    record = _record(volume, run_id)
    if record is not None:
        progress(
            TrainProgress(
                record["steps"], config.timesteps, record["episodes"], record["mean_reward"], record["seconds"]
            )
        )


# -- back -------------------------------------------------------------------------------------------------------------


def fetch_run(
    run_id: str, models: Path | None = None, *, volume: Volume | None = None, say: Say = print
) -> RunFolder | None:
    """The run of that id out of the volume, where it is not here or further there; None where the volume has none."""
    from mayavi.runs.run_id import check_id

    place = models_path(models)
    with told_as_ours():
        store = volume if volume is not None else open_volume()
        here, there = RunFolder(place / check_id(run_id)), _record(store, run_id)
        if there is None:
            return None
        if (here.path / RECORD).is_file() and there["steps"] <= here.read()["steps"]:
            return here
        return download(store, run_id, place, say=say)


def download(volume: Volume, run_id: str, models: Path, *, say: Say | None = None) -> RunFolder:
    """The run out of the volume into `models`, where it appears at once and whole.

    Until then it lies in a folder that nobody takes for a run. A download that was interrupted goes on where it was.
    """
    content = _read(volume, f"{run_id}/{MANIFEST}")
    if content is None:
        raise RemoteError(f"the volume holds no run {run_id}", "it has made no checkpoint yet, or has another id")
    files = parse_manifest(content, run_id)
    staging = models / STAGING / run_id
    try:
        fetch(files, lambda name: volume.read_file(f"{run_id}/{name}"), staging)
    except BaseException as error:
        again = f"`mayavi train --resume {run_id} --remote modal` goes on with it; what arrived is kept"
        if isinstance(error, Exception):
            raise RemoteError(f"the download of run {run_id} was interrupted: {error}", again) from error
        if say is not None:
            say(f"the download of run {run_id} was interrupted: {again}")
        raise
    _settle(staging, models / run_id)
    return RunFolder(models / run_id)


def _settle(staging: Path, target: Path) -> None:
    """Give what arrived its place: its record names world and files as they are called here, evaluations made here
    stay.
    """
    home = staging / HOME_FILE
    if home.is_file():
        placed = json.loads(home.read_text(encoding="utf-8"))
        record = RunFolder(staging).read()
        RunFolder(staging).write(record | {"config": record["config"] | placed, "run_id": target.name})
        home.unlink()
    before = staging.with_name(f"{target.name}.before")
    shutil.rmtree(before, ignore_errors=True)
    if target.exists():
        for each in sorted((target / "eval").glob("*")):
            (staging / "eval").mkdir(exist_ok=True)
            if not (staging / "eval" / each.name).exists():
                shutil.copy2(each, staging / "eval" / each.name)
        target.rename(before)
    staging.rename(target)
    shutil.rmtree(before, ignore_errors=True)
    with suppress(OSError):  # it is empty, unless another download is under way
        staging.parent.rmdir()

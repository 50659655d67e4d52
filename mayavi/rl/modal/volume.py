"""Transfer worlds, data files and training runs between this machine and the Modal volume."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from mayavi.errors import RemoteError
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import env_config, world_of
from mayavi.rl.modal.app import FILES, WORLDS, import_modal
from mayavi.rl.training_runs.file_copies import FORMAT, MANIFEST, digest_of, fetch, list_files, parse_manifest
from mayavi.rl.training_runs.folder import RECORD, RunFolder

STAGING = ".downloads"
HOME_FILE = "home.json"
"""Stored by older versions with a run: settings with paths of the requesting machine, which its record lacked."""

Say = Callable[[str], None]
"""Shows a message to the user."""


class Volume(Protocol):
    """The part of `modal.Volume` that is used here."""

    def listdir(self, path: str, *, recursive: bool = False) -> list[Any]:
        """Entries of a folder, each with a `path`."""

    def read_file(self, path: str) -> Iterable[bytes]:
        """Contents of a file in chunks."""

    def batch_upload(self, force: bool = False) -> Any:
        """Context manager that uploads files on exit."""


def upload_world(config: TrainConfig, volume: Volume, scratch: Path) -> str:
    """Upload the world of a training as a snapshot, unless it is there. Returns its path in the volume."""
    from mayavi.evm.snapshot.file import read_info

    world = world_of(config)
    if world.path is not None:
        file = world.path
    else:
        file = scratch / "world.snapshot"
        world.on(str(config.env_config.get("chain", "ethereum"))).open().dump_snapshot(file)
    name = f"{WORLDS}/{read_info(file).digest}.snapshot"
    if name not in _list_names(volume, WORLDS):
        with volume.batch_upload(force=True) as batch:
            batch.put_file(str(file), f"/{name}")
    return name


def upload_data_files(config: TrainConfig, volume: Volume) -> dict[str, str]:
    """Upload market data and recorded rollouts, named by hash. Returns paths in the volume by path on this machine."""
    files = [*env_config(config).data_files(), *([] if config.rollouts is None else [config.rollouts])]
    if not files:
        return {}
    places = {each: f"{FILES}/{digest_of(Path(each))}{Path(each).suffix}" for each in files}
    uploaded = _list_names(volume, FILES)
    with volume.batch_upload(force=True) as batch:
        for file, place in places.items():
            if place not in uploaded:
                batch.put_file(file, f"/{place}")
    return places


def upload_run(folder: RunFolder, volume: Volume, scratch: Path) -> None:
    """Upload a run, its manifest last, unless the volume's copy has at least as many steps."""
    remote = read_record(volume, folder.run_id)
    if remote is not None and remote["steps"] >= folder.read()["steps"]:
        return
    files = list_files(folder.path)
    manifest = scratch / MANIFEST
    manifest.write_text(json.dumps({"format": FORMAT, "files": files}), encoding="utf-8")
    with volume.batch_upload(force=True) as batch:
        for name in files:
            batch.put_file(str(folder.path / name), f"/{folder.run_id}/{name}")
    with volume.batch_upload(force=True) as batch:
        batch.put_file(str(manifest), f"/{folder.run_id}/{MANIFEST}")


def read_record(volume: Volume, run_id: str) -> dict[str, Any] | None:
    """`run.json` of a run in the volume; None if it is missing or half written."""
    content = _read(volume, f"{run_id}/{RECORD}")
    try:
        record: dict[str, Any] | None = json.loads(content) if content else None
    except ValueError:
        return None
    return record


def download(volume: Volume, run_id: str, models: Path, *, say: Say | None = None) -> RunFolder:
    """Download a run into `models`, where it appears only when it is complete.

    Until then it lies in a staging folder. An interrupted download continues with the missing files.
    """
    content = _read(volume, f"{run_id}/{MANIFEST}")
    if content is None:
        raise RemoteError(f"the volume holds no run {run_id}", "it has no checkpoint yet, or another id")
    files = parse_manifest(content, run_id)
    staging = models / STAGING / run_id
    try:
        fetch(files, lambda name: volume.read_file(f"{run_id}/{name}"), staging)
    except BaseException as error:
        again = f"`mayavi train --resume {run_id} --remote modal` continues it; what arrived is kept"
        if isinstance(error, Exception):
            raise RemoteError(f"the download of run {run_id} was interrupted: {error}", again) from error
        if say is not None:
            say(f"the download of run {run_id} was interrupted: {again}")
        raise
    _install(staging, models / run_id)
    return RunFolder(models / run_id)


def _install(staging: Path, target: Path) -> None:
    """Replace `target` by the downloaded run.

    Its record gets back the paths of this machine, and evaluations made on this machine are kept.
    """
    home = staging / HOME_FILE
    if home.is_file():
        own_paths = json.loads(home.read_text(encoding="utf-8"))
        record = RunFolder(staging).read()
        RunFolder(staging).write(record | {"config": record["config"] | own_paths, "run_id": target.name})
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
    with suppress(OSError):  # not empty while another download is running
        staging.parent.rmdir()


def _list_names(volume: Volume, folder: str) -> set[str]:
    try:
        return {str(each.path).lstrip("/") for each in volume.listdir(f"/{folder}", recursive=True)}
    except (FileNotFoundError, import_modal().exception.NotFoundError):
        return set()


def _read(volume: Volume, path: str) -> bytes | None:
    try:
        return b"".join(volume.read_file(path))
    except (FileNotFoundError, import_modal().exception.NotFoundError):
        return None

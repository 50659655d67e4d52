"""Mayavi on Modal: the app, its image, its volume, and the one function that trains there.

`train_on_volume` is a plain function: `modal_function` wraps it and adds nothing. It trains on the machine's own disk
and copies the run to the volume whenever something new is on it, whole files with their list last: whatever happens to
the machine, the volume holds a run that can be gone on with, and an attempt that finds one there goes on with it.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mayavi.errors import MayaviError, RemoteError, SetupError
from mayavi.rl.modal.cost_guard import NO_GPU, STARTUP_S, Machine

APP = "mayavi"
VOLUME = "mayavi-models"
MOUNT = Path("/models")
WORLDS = "worlds"
FILES = "data"
PLACED = ("source", "env_config")
"""What of a training's settings may name places of a machine."""
HOME_FILE = "home.json"
"""Beside the record of a run: what its world and its files are called where it was asked for."""
_HOME = "/root"


@dataclass(frozen=True, slots=True)
class Request:
    """What a machine is asked to train."""

    config: dict[str, Any]
    run_id: str
    world: str | None
    """The snapshot to train on, as a path in the volume; none where the environment needs no world."""
    files: dict[str, str] = field(default_factory=dict)
    """The files of a market of the past, by their names where the request comes from: as paths in the volume."""
    volume: str = str(MOUNT)
    environment: dict[str, str] = field(default_factory=dict)


# -- there ------------------------------------------------------------------------------------------------------------


def train_on_volume(asked: dict[str, Any]) -> dict[str, Any]:
    """What runs on Modal: train what is asked, or go on with it, and keep it in the volume.

    What Mayavi can explain comes back as the answer, since another attempt would end alike. Whatever else goes wrong is
    raised, and Modal tries again.
    """
    request = Request(**asked)
    os.environ.update(request.environment)
    try:
        return train_in(Path(request.volume), request, _commit)
    except MayaviError as error:
        return {"error": error.message, "hint": error.hint, "kind": type(error).__name__}


def train_in(volume: Path, request: Request, commit: Callable[[], None]) -> dict[str, Any]:
    """Train in a folder of this machine and keep a copy in `volume`; `commit` is called when the copy is complete."""
    from mayavi.rl.config import TrainConfig
    from mayavi.rl.training.checkpoints import write_json
    from mayavi.rl.training.run_files import MANIFEST, fetch, mirror, read_manifest
    from mayavi.rl.training.run_folder import FINISHED, RunFolder
    from mayavi.rl.training.train import train

    config = TrainConfig.of(request.config, _as_there(volume, request))
    kept = volume / request.run_id
    with TemporaryDirectory() as scratch:
        models = Path(scratch)
        folder = RunFolder(models / request.run_id)

        def keep() -> None:
            write_json(folder.path / HOME_FILE, {name: request.config[name] for name in PLACED})
            mirror(folder.path, kept)
            commit()

        resume = None
        if (kept / MANIFEST).is_file():
            fetch(read_manifest(kept), lambda name: [(kept / name).read_bytes()], folder.path)
            record = folder.read()
            if record["status"] == FINISHED and config.timesteps <= record["steps"]:
                return {"run_id": request.run_id, "steps": record["steps"]}
            folder.write(record | {"config": record["config"] | {name: config.to_json()[name] for name in PLACED}})
            resume = str(folder.path)
        done = train(config, models=models, resume=resume, run_id=request.run_id, commit=keep)
        keep()
    return {"run_id": done.run_id, "steps": done.steps}


def _as_there(volume: Path, request: Request) -> dict[str, Any]:
    """What of a training's settings names places, with those that its world and its files have in the volume."""
    there: dict[str, Any] = {}
    if request.world is not None:
        there["source"] = f"snapshot:{volume / request.world}"
    if request.files:
        from mayavi.rl.config import TrainConfig
        from mayavi.rl.environments import env_config

        places = {name: str(volume / place) for name, place in request.files.items()}
        settings = env_config(TrainConfig.of(request.config))
        there["env_config"] = request.config["env_config"] | settings.with_data_files(places)
    return there


def _commit() -> None:
    """Make what was written to the volume last; a folder that stands for it needs nothing."""
    import modal

    if not modal.is_local():
        modal.Volume.from_name(VOLUME).commit()


# -- here -------------------------------------------------------------------------------------------------------------


def import_modal() -> Any:
    """The package `modal`; `SetupError` where it is not installed."""
    try:
        import modal
    except ModuleNotFoundError:
        raise SetupError(
            "training on Modal needs modal, which is not installed", "`pip install 'mayavi-sim[rl]'` installs it"
        ) from None
    return modal


def open_volume() -> Any:
    """The volume that keeps models, made where there is none yet."""
    return import_modal().Volume.from_name(VOLUME, create_if_missing=True)


def build_app(machine: Machine, volume: Any) -> tuple[Any, Any]:
    """The app, and in it the function `train_on_volume` on such a machine."""
    modal = import_modal()
    app = modal.App(APP)
    return app, modal_function(app, machine, volume, build_image())


def modal_function(app: Any, machine: Machine, volume: Any, image: Any) -> Any:
    """`train_on_volume` as a function of `app`. Its limits are those that the worst case counts."""
    modal = import_modal()
    cores, memory_mib = float(machine.cores), int(machine.memory_gib * 1024)
    wrapped = app.function(
        image=image,
        gpu=None if machine.gpu == NO_GPU else machine.gpu,
        cpu=(cores, cores),
        memory=(memory_mib, memory_mib),
        timeout=machine.attempt_s,
        startup_timeout=STARTUP_S,
        retries=modal.Retries(max_retries=machine.attempts - 1, initial_delay=0.0),
        single_use_containers=True,
        volumes={str(MOUNT): volume},
        serialized=True,
        include_source=False,
        name="train",
    )
    return wrapped(train_on_volume)


def build_image() -> Any:
    """What the machine has: the packages of this project as they are installed here, and Mayavi itself.

    The kernel is checked while the image is built, before a GPU is paid for.
    """
    from mayavi.worlds.contract_folder import contracts_root

    check_platform()
    image = import_modal().Image.debian_slim(python_version=f"{sys.version_info.major}.{sys.version_info.minor}")
    package = Path(__file__).resolve().parents[2]
    image = image.uv_pip_install(*requirements()).add_local_dir(
        package, f"{_HOME}/mayavi", copy=True, ignore=["**/__pycache__", "**/*.pyc"]
    )
    place = contracts_root() / "build"  # our own contracts: a real chain's price feed is replaced by one of them
    if place.is_dir():
        image = image.add_local_dir(place, f"{_HOME}/contracts/build", copy=True)
    variables = {"PYTHONPATH": _HOME, "MAYAVI_CONTRACTS": f"{_HOME}/contracts"}
    return image.env(variables).run_commands(f"cd {_HOME} && python -c 'import mayavi._kernel'")


def check_platform(system: str | None = None, machine: str | None = None) -> None:
    """`SetupError` where the kernel that is built here cannot run on Modal's machines."""
    here = (system or platform.system(), machine or platform.machine())
    if here not in {("Linux", "x86_64"), ("Linux", "AMD64")}:
        raise SetupError(
            f"Modal's machines are Linux on x86-64, and Mayavi is built for {here[0]} on {here[1]} here",
            "start the training from Linux on x86-64, such as a container",
        )


def requirements() -> list[str]:
    """The project's own requirements with those of its extra `rl`, each in the version that is installed here."""
    pinned = []
    for requirement in _declared():
        found = re.match(r"([A-Za-z0-9._-]+)\s*(\[[^\]]*\])?", requirement)
        if found is None:
            raise RemoteError(f"the requirement '{requirement}' is not understood")
        name, extras = found.group(1), found.group(2) or ""
        try:
            version = metadata.version(name).partition("+")[0]
        except metadata.PackageNotFoundError:
            raise SetupError(
                f"{name} is needed there and not installed here", "`pip install 'mayavi-sim[rl]'` installs it"
            ) from None
        pinned.append(f"{name}{extras}=={version}")
    return pinned


def _declared() -> list[str]:
    """What pyproject.toml asks for, or beside an installed package what its metadata does."""
    project = Path(__file__).resolve().parents[3] / "pyproject.toml"
    if project.is_file():
        document = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
        return [*document["dependencies"], *document["optional-dependencies"]["rl"]]
    wanted = []
    for each in metadata.requires("mayavi-sim") or []:
        requirement, _, marker = each.partition(";")
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", marker)
        if extra is None or extra.group(1) == "rl":
            wanted.append(requirement.strip())
    return wanted


def as_arguments(request: Request) -> dict[str, Any]:
    """A request as it is sent."""
    return asdict(request)

"""Modal app: its image, its volume, and the function that trains there.

`train_on_volume` is a plain function that `modal_function` wraps. It trains on the machine's own disk and mirrors the
run to the volume after every write, files first and the manifest last. Whatever happens to the machine, the volume
holds a run that can be resumed, and the next attempt resumes it.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mayavi.errors import MayaviError, RemoteError, SetupError
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import env_config
from mayavi.rl.modal.cost_guard import MOST_TIMEOUT_S, NO_GPU, STARTUP_S, Machine
from mayavi.rl.training.cost import MODAL, Rental, charged_until_now
from mayavi.rl.training.train import train
from mayavi.rl.training_runs.file_copies import MANIFEST, fetch, mirror, read_manifest
from mayavi.rl.training_runs.folder import FINISHED, RunFolder
from mayavi.setup_errors import RL_HINT

APP = "mayavi"
VOLUME = "mayavi-models"
MOUNT = Path("/models")
WORLDS = "worlds"
FILES = "data"
PATH_SETTINGS = ("source", "block", "env_config", "rollouts")
"""Settings of a training that may contain paths of a machine. `run.json` has those of the requesting machine."""
_HOME = "/root"
_START_TIME = 19
"""Place of the start time among the fields of /proc/PID/stat that follow the name of the process."""


@dataclass(frozen=True, slots=True)
class Request:
    """Training request for a Modal machine."""

    config: dict[str, Any]
    run_id: str
    world: str | None
    """Path of the snapshot in the volume; None if the environment needs no world."""
    files: dict[str, str] = field(default_factory=dict)
    """Paths in the volume of historical market data and recorded rollouts, by their paths on the requesting machine."""
    volume: str = str(MOUNT)
    environment: dict[str, str] = field(default_factory=dict)
    usd_per_hour: str = "0"
    most_usd: str | None = None
    requested: str = ""
    """Identifies the request: all its attempts share the maximum cost."""


# -- on the Modal machine ---------------------------------------------------------------------------------------------


def train_on_volume(asked: dict[str, Any]) -> dict[str, Any]:
    """Entry point on Modal: start or resume the requested training and store it in the volume.

    A `MayaviError` is returned as the answer, since another attempt would fail alike. Other exceptions are raised, and
    Modal retries.
    """
    request = Request(**asked)
    os.environ.update(request.environment)
    try:
        return train_in(Path(request.volume), request, _commit, since=_machine_start())
    except MayaviError as error:
        return {"error": error.message, "hint": error.hint, "kind": type(error).__name__}


def train_in(
    volume: Path, request: Request, commit: Callable[[], None], *, since: float | None = None
) -> dict[str, Any]:
    """Train in a temporary folder and mirror the run to `volume`; `commit` is called after each mirror.

    `since` is the time at which the machine started; its cost counts from there to the last write.
    """
    rental = Rental(
        MODAL,
        Decimal(request.usd_per_hour),
        None if request.most_usd is None else Decimal(request.most_usd),
        request.requested,
        time.time() if since is None else since,
    )
    config = TrainConfig.of(request.config, _paths_in_volume(volume, request))
    stored = volume / request.run_id
    with TemporaryDirectory() as scratch:
        models = Path(scratch)
        folder = RunFolder(models / request.run_id)

        def store() -> None:
            mirror(folder.path, stored)
            commit()

        resume = None
        if (stored / MANIFEST).is_file():
            fetch(read_manifest(stored), lambda name: [(stored / name).read_bytes()], folder.path)
            record = folder.read()
            if record["status"] == FINISHED and config.timesteps <= record["steps"]:
                return {"run_id": request.run_id, "steps": record["steps"]}
            folder.write(
                record | {"config": record["config"] | {name: config.to_json()[name] for name in PATH_SETTINGS}}
            )
            resume = str(folder.path)
        recorded = {name: request.config.get(name) for name in PATH_SETTINGS}
        done = train(
            config,
            models=models,
            resume=resume,
            run_id=request.run_id,
            commit=store,
            rental=rental,
            recorded=recorded,
        )
        folder.write(charged_until_now(folder.read(), rental))
        store()  # with the last curves
    return {"run_id": done.run_id, "steps": done.steps}


def _paths_in_volume(volume: Path, request: Request) -> dict[str, Any]:
    """Settings `PATH_SETTINGS` with the paths that the world and the data files have in the volume."""
    settings: dict[str, Any] = {}
    if request.world is not None:
        settings |= {"source": f"snapshot:{volume / request.world}", "block": None}  # a snapshot has its own block
    if request.files:
        places = {name: str(volume / place) for name, place in request.files.items()}
        config = env_config(TrainConfig.of(request.config))
        settings["env_config"] = request.config["env_config"] | config.with_data_files(places)
        if (rollouts := request.config.get("rollouts")) is not None:
            settings["rollouts"] = places[rollouts]
    return settings


def _machine_start() -> float:
    """Time at which the machine of this process started: of a container on Modal that of its first process."""
    import modal

    now = time.time()
    if modal.is_local():
        return now
    try:
        up = float(Path("/proc/uptime").read_text(encoding="utf-8").split()[0])
        fields = Path("/proc/1/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ran = up - int(fields[_START_TIME]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return now
    return now - ran if 0 <= ran <= MOST_TIMEOUT_S else now


def _commit() -> None:
    """Persist the volume; a local folder in its place needs nothing."""
    import modal

    if not modal.is_local():
        modal.Volume.from_name(VOLUME).commit()


# -- on the requesting machine ----------------------------------------------------------------------------------------


def import_modal() -> Any:
    """Import `modal`; `SetupError` if it is not installed."""
    try:
        import modal
    except ModuleNotFoundError:
        raise SetupError("training on Modal needs modal, which is not installed", RL_HINT) from None
    return modal


def open_volume() -> Any:
    """Open the volume of models, creating it if it does not exist."""
    return import_modal().Volume.from_name(VOLUME, create_if_missing=True)


def build_app(machine: Machine, volume: Any) -> tuple[Any, Any]:
    """Modal app, and its function `train_on_volume` on `machine`."""
    modal = import_modal()
    app = modal.App(APP)
    return app, modal_function(app, machine, volume, build_image())


def modal_function(app: Any, machine: Machine, volume: Any, image: Any) -> Any:
    """Wrap `train_on_volume` as a function of `app`, with the limits that the maximum cost assumes."""
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
    """Image with Mayavi and its packages in the versions installed on this machine.

    Building it imports the kernel, so a broken one is found before a GPU is paid for.
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
    """Raise `SetupError` if the kernel built on this machine cannot run on Modal."""
    here = (system or platform.system(), machine or platform.machine())
    if here not in {("Linux", "x86_64"), ("Linux", "AMD64")}:
        raise SetupError(
            f"Modal runs Linux on x86-64, and Mayavi on this machine is built for {here[0]} on {here[1]}",
            "start the training from Linux on x86-64, such as a container",
        )


def requirements() -> list[str]:
    """Requirements of the project and its extra `rl`, pinned to the versions installed on this machine."""
    pinned = []
    for requirement in _declared():
        found = re.match(r"([A-Za-z0-9._-]+)\s*(\[[^\]]*\])?", requirement)
        if found is None:
            raise RemoteError(f"the requirement '{requirement}' cannot be parsed")
        name, extras = found.group(1), found.group(2) or ""
        try:
            version = metadata.version(name).partition("+")[0]
        except metadata.PackageNotFoundError:
            raise SetupError(
                f"{name} is needed on Modal and not installed on this machine",
                RL_HINT,
            ) from None
        pinned.append(f"{name}{extras}=={version}")
    return pinned


def _declared() -> list[str]:
    """Requirements from pyproject.toml, or from the metadata of the installed package."""
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
    """Request as JSON data for `train_on_volume`."""
    return asdict(request)

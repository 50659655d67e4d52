"""Modal on this machine: a folder in place of the volume, and the function through `.local()`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import modal
import pytest

from mayavi.rl.modal import app as modal_app
from mayavi.rl.modal.cost_guard import Machine


class FolderVolume:
    """Volume in a local folder, whose downloads can be interrupted at a file."""

    def __init__(self, path: Path) -> None:
        self.path, self.breaks_at, self.read = path, "", []
        path.mkdir(exist_ok=True)

    def listdir(self, path: str, *, recursive: bool = False) -> list[Any]:
        folder = self.path / path.lstrip("/")
        if not folder.is_dir():
            raise FileNotFoundError(path)
        return [SimpleNamespace(path=str(each.relative_to(self.path))) for each in folder.rglob("*") if each.is_file()]

    def read_file(self, path: str) -> Iterator[bytes]:
        content = (self.path / path).read_bytes()
        self.read.append(path)
        yield content[: len(content) // 2]
        if self.breaks_at and path.endswith(self.breaks_at):
            raise ConnectionError("the line is dead")
        yield content[len(content) // 2 :]

    @contextmanager
    def batch_upload(self, force: bool = False) -> Iterator[Any]:
        def put_file(local: str, remote: str) -> None:
            place = self.path / remote.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(local, place)

        yield SimpleNamespace(put_file=put_file)


def wrapped(machine: Machine) -> Any:
    """Modal function on an image that is not built."""
    image = modal.Image.debian_slim(python_version="3.11")
    return modal_app.modal_function(
        modal.App("test"), machine, modal.Volume.from_name("mayavi-models", create_if_missing=True), image
    )


def locally(machine: Machine, volume: FolderVolume, request: modal_app.Request, poll: Any) -> dict[str, Any]:
    """Run the call on this machine."""
    asked = modal_app.as_arguments(request) | {"volume": str(volume.path)}
    with pytest.warns(UserWarning, match="executing locally"):
        answer: dict[str, Any] = wrapped(machine).local(asked)
    poll()
    return answer

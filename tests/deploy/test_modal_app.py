"""The service on Modal without the deployment: a folder replaces the volume, and the application runs here."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import modal
import pytest
import uvicorn

from benchmarks.subjects.service import ENDED, TINY, wait_for

KEY = "a-bootstrap-key-of-the-tests"


def load(folder: Path) -> ModuleType:
    """Import the file as `modal deploy` does."""
    spec = importlib.util.spec_from_file_location("modal_app", folder / "deploy/modal_app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["modal_app"] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def served(app: Any) -> Iterator[httpx.Client]:
    """Serve an application from a thread, with its start and its end."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, lifespan="on", log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_for(lambda: server.started, "the server to start")
        port = server.servers[0].sockets[0].getsockname()[1]
        headers = {"Authorization": f"Bearer {KEY}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=300) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(300)


@pytest.fixture
def checkout(tmp_path: Path, repository: Path) -> Iterator[Path]:
    """A checkout with a wheel."""
    for name in ("deploy/modal_app.py", "constraints.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(repository / name, tmp_path / name)
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist/mayavi_sim-0.1.0-cp311-abi3-manylinux_2_34_x86_64.whl").touch()
    yield tmp_path
    sys.modules.pop("modal_app", None)


def test_the_file_declares_one_web_endpoint(checkout: Path) -> None:
    module = load(checkout)
    assert module.app.name == "mayavi-api"
    assert isinstance(module.fastapi_app, modal.Function)
    assert module.fastapi_app._is_web_endpoint


def test_a_missing_wheel_is_said_with_the_command_that_builds_it(checkout: Path) -> None:
    shutil.rmtree(checkout / "dist")
    with pytest.raises(SystemExit, match="`make wheel` builds it"):
        load(checkout)


@pytest.mark.slow(10)
def test_a_new_container_goes_on_where_the_last_one_stopped(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAYAVI_API_KEY", KEY)
    module = load(checkout)
    volume, commits = checkout / "volume", []
    volume.mkdir()

    def commit() -> None:
        commits.append((volume / module.CURRENT).read_text())

    with served(module.build(volume, checkout / "first", commit)) as client:
        run_id = client.post("/runs", json=TINY).raise_for_status().json()["run_id"]
        wait_for(lambda: client.get(f"/runs/{run_id}").json()["status"] in ENDED, "the run to end")
        digest = client.get(f"/runs/{run_id}").json()["digest"]
        assert digest
    assert len(commits) == 1
    assert {each.name for each in volume.iterdir()} == {module.CURRENT, commits[0]}
    with served(module.build(volume, checkout / "second", commit)) as client:
        assert client.get(f"/runs/{run_id}").raise_for_status().json()["digest"] == digest
        assert client.get(f"/runs/{run_id}/events").raise_for_status()
    assert len(commits) == 2
    assert {each.name for each in volume.iterdir()} == {module.CURRENT, commits[1]}


def test_a_failed_copy_leaves_the_former_one(checkout: Path) -> None:
    module = load(checkout)
    volume = checkout / "volume"
    former = volume / "copy-1"
    former.mkdir(parents=True)
    (volume / module.CURRENT).write_text(former.name)
    with pytest.raises(Exception, match="holds no service"):
        module.copy_to(volume, checkout / "nothing", lambda: None)
    assert (volume / module.CURRENT).read_text() == former.name
    assert [each.name for each in volume.glob("copy-*")] == [former.name]

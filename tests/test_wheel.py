"""The built wheel works alone: an empty virtual environment, an empty home, and no checkout.

MAYAVI_WHEEL names a wheel to try instead of building one; MAYAVI_REQUIRE_WHEEL=1 turns a skip into a failure.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import NoReturn

import pytest

pytestmark = pytest.mark.slow

DIGEST = "2fe3451f1f70d7b55c486f9ebf525c4e4b7820d4a7134f0b7e695e5565c76222"
UNREACHABLE = {"NPM_CONFIG_REGISTRY": "http://127.0.0.1:9"}
NO_INDEX = ("NewConnectionError", "ConnectTimeoutError", "ReadTimeoutError", "NameResolutionError", "ProxyError")


class Installed:
    """A virtual environment with the wheel in it, and a home of its own."""

    def __init__(self, root: Path) -> None:
        self.root, self.home = root, root / "home"
        self.home.mkdir()
        venv.create(root / "venv", symlinks=True)  # without pip, which takes seconds to install: ours serves it
        self.bin = root / "venv" / "bin"

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """Start `mayavi` with nothing of ours in its environment but what finds the network."""
        own = {key: value for key, value in os.environ.items() if not key.startswith(("MAYAVI_", "PYTHON", "XDG_"))}
        settings = Path.home() / ".npmrc"  # a mirror or a proxy
        return subprocess.Popen(
            [self.bin / "mayavi", *arguments],
            cwd=self.root,
            env=own | {"HOME": str(self.home), "NPM_CONFIG_USERCONFIG": str(settings)} | variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *arguments: str, **variables: str) -> tuple[int, str, str]:
        process = self.start(*arguments, **variables)
        output, errors = process.communicate(timeout=600)
        return process.returncode, output, errors


def cannot(why: str) -> NoReturn:
    if os.environ.get("MAYAVI_REQUIRE_WHEEL") == "1":
        pytest.fail(f"{why}, and MAYAVI_REQUIRE_WHEEL=1 demands it")
    pytest.skip(why)


@pytest.fixture(scope="module")
def wheel(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if named := os.environ.get("MAYAVI_WHEEL"):
        return Path(named).resolve()
    if shutil.which("cargo") is None:
        cannot("cargo is not on the PATH, and MAYAVI_WHEEL names no wheel")
    folder = tmp_path_factory.mktemp("dist")
    # The interpreter that the checkout's kernel was built with, so that cargo compiles nothing again.
    environment = {"PYO3_PYTHON": str(repository / ".venv/bin/python")} | os.environ
    built = subprocess.run(
        [sys.executable, "-m", "maturin", "build", "--release", "--locked", "--out", str(folder)],
        cwd=repository,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    made = Installed(tmp_path_factory.mktemp("installed"))
    command = [sys.executable, "-m", "pip", "--python", made.bin / "python", "install", "-q", "--no-compile"]
    command += ["-c", repository / "constraints.txt"]
    finished = subprocess.run([*command, f"{wheel}[contracts]"], capture_output=True, text=True, check=False)
    if finished.returncode != 0 and any(sign in finished.stderr for sign in NO_INDEX):
        cannot("pip cannot reach a package index")
    assert finished.returncode == 0, finished.stderr
    return made


def test_the_wheel_carries_the_dashboard(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "mayavi/api/dashboard/index.html" in names
    assert [name for name in names if re.fullmatch(r"mayavi/api/dashboard/assets/index-.*\.js", name)]
    assert not [name for name in names if "node_modules" in name or name.startswith("web/")]


@pytest.mark.slow(45)
def test_the_wheel_sets_itself_up_and_works_offline_afterwards(installed: Installed) -> None:
    cache = installed.home / ".cache" / "mayavi"
    failed, output, errors = installed.run("demo", **UNREACHABLE)
    assert (failed, output) == (1, "")
    assert "error: the npm registry cannot be reached" in errors
    assert not list(cache.rglob("node_modules"))

    together = [installed.start("demo") for _ in range(2)]
    for process in together:
        output, errors = process.communicate(timeout=900)
        if process.returncode != 0 and "registry cannot be reached" in errors:
            for other in together:
                other.kill()
            cannot("npm cannot reach its registry")
        assert process.returncode == 0, errors
        assert f"seed 7 · digest {DIGEST}" in output

    code, output, errors = installed.run("demo", **UNREACHABLE)
    assert code == 0, errors
    assert DIGEST in output
    assert "installing" not in errors
    assert "no report: `mayavi setup` installs what draws its charts" in output
    code, output, errors = installed.run("setup", "--no-replicas")
    assert code == 0, errors
    code, output, errors = installed.run("setup", "--chain", "base", **UNREACHABLE)
    assert code == 0, errors
    assert output.count("already there") == 4  # the packages, Morpho's, the Vyper contracts and Plotly
    for command in (["run", "aave_borrower", "--steps", "1"], ["report", "latest", "--out", "report.html"]):
        code, output, errors = installed.run(*command, **UNREACHABLE)
        assert code == 0, errors
    assert (installed.root / "report.html").stat().st_size > 1_000_000  # with templates, scripts and Plotly
    code, output, _ = installed.run("doctor")
    assert code == 0, output
    assert "make" not in output

"""The systemd unit: a command that exists, its own folders, and no way to anything else."""

from __future__ import annotations

import configparser
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.main import get_command

from mayavi.cli.app import app_of


@pytest.fixture(scope="module")
def unit(repository: Path) -> str:
    return (repository / "deploy/mayavi.service").read_text(encoding="utf-8")


def settings(unit: str) -> dict[str, str]:
    parser = configparser.ConfigParser(strict=False, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(unit)
    return dict(parser["Service"])


def test_it_starts_a_command_that_mayavi_knows(unit: str) -> None:
    _, name, *options, more = shlex.split(settings(unit)["ExecStart"])
    assert more == "$OPTIONS"
    assert "Environment=OPTIONS=\n" in unit
    command = get_command(app_of()).commands[name]  # type: ignore[attr-defined]
    given = command.make_context(name, options, resilient_parsing=False).params
    assert given["secure_cookies"] is True
    assert given["host"] == "127.0.0.1"
    assert str(given["data"]).startswith("/var/lib/mayavi/")


def test_it_has_its_own_user_and_may_not_become_another(unit: str) -> None:
    found = settings(unit)
    assert found["User"] == "mayavi"
    assert found["CapabilityBoundingSet"] == ""
    assert (found["NoNewPrivileges"], found["ProtectSystem"], found["ProtectHome"]) == ("yes", "strict", "yes")


def test_systemd_itself_accepts_it_and_rates_it_as_protected(unit: str, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    file = tmp_path / "mayavi.service"
    file.write_text(unit.replace("/opt/mayavi/bin/mayavi", "/bin/true"), encoding="utf-8")
    checked = subprocess.run([program, "--man=no", "verify", file], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    rated = subprocess.run(
        [program, "security", "--offline=true", "--threshold=15", file], capture_output=True, text=True, check=False
    )
    assert rated.returncode == 0, rated.stdout

"""How the command line ends: exit codes, one `error:` line with its hint, nothing on the wrong stream."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mayavi import __version__, errors
from mayavi.cli.outcome import explain


def test_version_is_one_line(run_mayavi) -> None:
    finished = run_mayavi("--version")
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, f"mayavi {__version__}\n", "")


def test_help_lists_every_command(run_mayavi) -> None:
    finished = run_mayavi("--help")
    assert finished.returncode == 0
    for command in ["demo", "validate", "world", "snapshot", "doctor"]:
        assert re.search(rf"^  {command} +\S", finished.stdout, re.MULTILINE), command


def test_no_command_shows_the_help_and_is_a_misuse(run_mayavi) -> None:
    finished = run_mayavi()
    assert finished.returncode == 2
    assert "doctor" in finished.stderr
    assert finished.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["demoo"], "no such command 'demoo'", "did you mean 'demo'?"),
        (["demo", "--sede", "3"], "no such option: --sede", "did you mean --seed or --steps?"),
        (["demo", "--seed", "x"], "invalid value for '--seed': 'x' is not a valid int", "mayavi demo --help"),
        (["validate", "blocks"], "missing argument 'DIR'", "mayavi validate blocks --help"),
        (["validate", "blocks", "/nowhere"], "'/nowhere' is not a folder", "one sub-folder per block"),
    ],
)
def test_misuse_is_explained_in_one_line_and_a_hint(run_mayavi, arguments: list[str], message: str, hint: str) -> None:
    finished = run_mayavi(*arguments)
    assert finished.returncode == 2
    assert finished.stdout == ""
    first, second = finished.stderr.splitlines()
    assert first == f"error: {message}"
    assert second.startswith("  ")
    assert hint in second


def test_a_failure_exits_with_1(run_mayavi, tmp_path: Path) -> None:
    finished = run_mayavi("snapshot", "info", str(tmp_path / "absent.snapshot"))
    assert finished.returncode == 1
    assert finished.stderr.startswith("error: there is no snapshot at ")
    assert "Traceback" not in finished.stderr


@pytest.mark.parametrize(
    "switch", [{"arguments": ["--debug"], "env": {}}, {"arguments": [], "env": {"MAYAVI_DEBUG": "1"}}]
)
def test_debug_shows_the_traceback_too(run_mayavi, tmp_path: Path, switch: dict) -> None:
    absent = str(tmp_path / "absent.snapshot")
    finished = run_mayavi(*switch["arguments"], "snapshot", "info", absent, env=switch["env"])
    assert finished.returncode == 1
    assert "Traceback (most recent call last)" in finished.stderr
    assert "error: there is no snapshot at " in finished.stderr


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (errors.UsageError("bad 'x'", "try 'y'"), 2, "error: bad 'x'\n  try 'y'\n"),
        (errors.RpcTimeout("no answer"), 1, "error: no answer\n"),
        (PermissionError(13, "Permission denied", "/a/b"), 1, "error: permission denied '/a/b'\n"),
        (ZeroDivisionError("boom"), 1, "error: unexpected ZeroDivisionError: boom\n  this is a fault of mayavi"),
    ],
)
def test_every_error_has_an_exit_code_and_words(capsys, error: Exception, code: int, text: str) -> None:
    assert explain(error) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(text)


def test_a_reader_that_leaves_is_no_error(cases: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; from mayavi.cli import main; sys.exit(main(['doctor']))"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()  # type: ignore[union-attr]
    _, complaint = process.communicate(timeout=120)
    assert complaint == b""


def test_an_interruption_ends_with_130_and_no_traceback(tmp_path: Path) -> None:
    """The signal arrives while the command waits for its input file: a pipe nobody writes to."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen([sys.executable, "-m", "mayavi", "snapshot", "info", pipe], stderr=subprocess.PIPE)
    with pipe.open("wb"):  # opens once the command reads: it is well under way now
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in complaint

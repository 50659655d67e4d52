"""How the command line ends: exit codes, one `error:` line with its hint, nothing on the wrong stream."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mayavi import __version__, errors
from mayavi.cli.console import outcome
from mayavi.cli.console.outcome import INTERRUPTED, explain
from tests.interruption import heed_interruptions


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


def test_an_interruption_while_a_class_is_made_is_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr(outcome, "app_for", lambda words: interrupted)
    assert outcome.run([]) == INTERRUPTED
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["demoo"], "no such command 'demoo'", "did you mean 'demo'?"),
        (["demo", "--sede", "3"], "no such option: --sede", "did you mean --seed?  "),
        (["demo", "--step", "3"], "no such option: --step", "did you mean --steps?  "),
        (["demo", "--seed", "x"], "invalid value for '--seed': 'x' is not a valid int", "mayavi demo --help"),
        (["validate", "blocks"], "missing argument 'DIR'", "mayavi validate blocks --help"),
        (["validate", "blocks", "/nowhere"], "'/nowhere' is not a folder", "one sub-folder per block"),
        (["snapshot", "info", "/nowhere"], "there is no snapshot at '/nowhere'", "mayavi world build --output FILE"),
        (["snapshot", "diff", "/nowhere", "/"], "there is no snapshot at '/nowhere'", "mayavi world build"),
        (["snapshot", "info", "/"], "'/' is a folder, not a snapshot", "name a file in it"),
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


@pytest.fixture
def damaged(tmp_path: Path) -> str:
    """A file that is there and is no snapshot."""
    path = tmp_path / "damaged.snapshot"
    path.write_text("not a snapshot")
    return str(path)


def test_a_failure_exits_with_1(run_mayavi, damaged: str) -> None:
    for command in (["snapshot", "info", damaged], ["snapshot", "diff", damaged, damaged]):
        finished = run_mayavi(*command)
        assert finished.returncode == 1
        assert finished.stderr.startswith(f"error: '{damaged}' is not a Mayavi snapshot")
        assert "Traceback" not in finished.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["snapshot", "info", "{damaged}", "--json"], 1),
        (["snapshot", "diff", "--json", "{damaged}", "{damaged}"], 1),
        (["snapshot", "info", "/nowhere", "--json"], 2),
        (["demo", "--steps", "many", "--json"], 2),
        (["world", "info", "etherium", "--json"], 2),
        (["world", "build", "--output", "/", "--json"], 2),
        (["validate", "blocks", "/nowhere", "--json"], 2),
        (["world", "list", "--json", "--wrong"], 2),
        (["doctor", "--json", "--wrong"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_program_gets_the_failure_as_json(run_mayavi, damaged: str, arguments: list[str], code: int) -> None:
    finished = run_mayavi(*(word.format(damaged=damaged) for word in arguments))
    assert finished.returncode == code
    document = json.loads(finished.stdout.splitlines()[-1])
    assert set(document) == {"error", "hint", "exit_code"}
    assert document["exit_code"] == code
    assert finished.stderr.splitlines()[0] == f"error: {document['error']}"
    assert finished.stderr.splitlines()[1:] == ([f"  {document['hint']}"] if document["hint"] else [])


@pytest.mark.parametrize("value", ["0", "false", "no", "off", ""])
def test_debug_can_be_said_to_be_off(run_mayavi, damaged: str, value: str) -> None:
    assert "Traceback" not in run_mayavi("snapshot", "info", damaged, env={"MAYAVI_DEBUG": value}).stderr


@pytest.mark.parametrize(
    "switch", [{"arguments": ["--debug"], "env": {}}, {"arguments": [], "env": {"MAYAVI_DEBUG": "1"}}]
)
def test_debug_shows_the_traceback_too(run_mayavi, damaged: str, switch: dict) -> None:
    finished = run_mayavi(*switch["arguments"], "snapshot", "info", damaged, env=switch["env"])
    assert finished.returncode == 1
    assert "Traceback (most recent call last)" in finished.stderr
    assert f"error: '{damaged}' is not a Mayavi snapshot" in finished.stderr


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (errors.UsageError("bad 'x'", "try 'y'"), 2, "error: bad 'x'\n  try 'y'\n"),
        (errors.RpcTimeout("no answer"), 1, "error: no answer\n"),
        (PermissionError(13, "Permission denied", "/a/b"), 1, "error: permission denied '/a/b'\n"),
        (
            ModuleNotFoundError("No module named 'numpy'", name="numpy"),
            1,
            "error: the Python package 'numpy' is not installed\n  run `make setup`",
        ),
        (
            ModuleNotFoundError("No module named 'ray.rllib'", name="ray.rllib"),
            1,
            "error: the Python package 'ray' is not installed\n"
            "  `pip install 'mayavi-sim[rl]'` installs it; in a checkout: `make rl`",
        ),
        (ZeroDivisionError("boom"), 1, "error: unexpected ZeroDivisionError: boom\n  this is a bug in mayavi"),
    ],
)
def test_every_error_has_an_exit_code_and_words(capsys, error: Exception, code: int, text: str) -> None:
    assert explain(error) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(text)


@pytest.mark.slow(1)
def test_a_reader_that_leaves_is_no_error(cases: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; from mayavi.cli import main; sys.exit(main(['doctor']))"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()  # type: ignore[union-attr]
    _, complaint = process.communicate(timeout=120)
    assert complaint == b""


@pytest.mark.slow(0.3)
def test_an_interruption_ends_with_130_and_no_traceback(tmp_path: Path) -> None:
    """The signal arrives while the command waits for its input file: a pipe nobody writes to."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [sys.executable, "-m", "mayavi", "snapshot", "info", pipe],
        stderr=subprocess.PIPE,
        preexec_fn=heed_interruptions,
    )
    with pipe.open("wb"):  # opens once the command reads: it is well under way now
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=600)
    assert process.returncode == 130
    assert b"Traceback" not in complaint


def test_an_interruption_while_modules_load_is_quiet_too(start_mayavi, tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGINT)\n")
    finished = start_mayavi("--help", env={"PYTHONPATH": str(tmp_path)}, preexec_fn=heed_interruptions)
    assert (finished.returncode, finished.stdout, finished.stderr) == (130, "", "")


@pytest.mark.slow(0.3)
@pytest.mark.parametrize(
    ("closed", "code"), [(">&-", 0), ("2>&-", 0), (">&- 2>&-", 0), (">/dev/full", 1), ("--json >/dev/full", 1)]
)
def test_an_output_that_takes_nothing_is_no_crash(closed: str, code: int) -> None:
    finished = subprocess.run(
        ["sh", "-c", f'"$0" -m mayavi world list {closed}', sys.executable],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert finished.returncode == code
    assert finished.stderr == ("error: no space left on device\n" if code else "")

"""Rich on a terminal, plain in a pipe, no escape sequence under NO_COLOR."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from mayavi.cli.console import progress
from mayavi.cli.console.output import Column, print_facts, print_json, print_table

ESCAPE = "\x1b["


def run_on_terminal(*arguments: str, **environment: str) -> str:
    """What a person sees: the command's output on a pseudo-terminal."""
    controller, terminal = pty.openpty()
    base = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "CI", "FORCE_COLOR"}}
    process = subprocess.Popen(
        [sys.executable, "-m", "mayavi", *arguments],
        stdout=terminal,
        stderr=terminal,
        stdin=subprocess.DEVNULL,
        env=base | {"TERM": "xterm-256color", "COLUMNS": "120"} | environment,
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(controller, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(controller)
    process.wait(timeout=600)
    return shown.decode()


@pytest.mark.slow(0.6)
@pytest.mark.parametrize("arguments", [["doctor"], ["--help"], ["nonsense"]])
def test_a_terminal_gets_colour_and_a_pipe_none(run_mayavi, arguments: list[str]) -> None:
    assert ESCAPE in run_on_terminal(*arguments)
    piped = run_mayavi(*arguments)
    assert ESCAPE not in piped.stdout + piped.stderr


@pytest.mark.slow(0.3)
@pytest.mark.parametrize(
    "arguments",
    [["doctor"], ["--help"], ["nonsense"], ["world", "info"], ["world", "build", "--rebuild"]],
    ids=" ".join,
)
def test_under_no_color_a_terminal_gets_no_escape_sequence(arguments: list[str]) -> None:
    shown = run_on_terminal(*arguments, NO_COLOR="1")
    assert shown
    assert "\x1b" not in shown


def test_under_no_color_long_work_is_announced_in_plain_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress, "PATIENCE_S", 0)
    with progress.counted("replaying", "blocks") as advance:
        advance(1, 24)
        advance(2, 24)
    assert capsys.readouterr().err == "replaying, 24 blocks …\n"


def test_where_there_is_no_bar_a_line_now_and_then_says_how_long_it_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    with progress.counted("sweeping", "runs", eta=True) as advance:
        for done, now in [(400, 0.0), (401, 5.0), (410, 10.0), (411, 11.0), (500, 100.0)]:
            clock[0] = now
            advance(done, 1_000)
    assert capsys.readouterr().err.splitlines() == [
        "sweeping: 410 of 1,000 runs, about 10 min left",  # ten in ten seconds: what was done before does not count
        "sweeping: 500 of 1,000 runs, about 8 min left",
        "sweeping: 500 of 1,000 runs, after 2 min",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (99, "99 s"), (100, "2 min"), (5_940, "99 min"), (36_000, "10.0 h")]
)
def test_how_long_is_said_roughly(seconds: float, text: str) -> None:
    assert progress.duration(seconds) == text


def test_columns_are_aligned_and_never_cut(capsys) -> None:
    long = "x" * 300
    print_table([Column("n"), Column("text", right=False)], [("1", "a"), ("1,000", long)])
    assert capsys.readouterr().out == f"    n  text\n    1  a\n1,000  {long}\n"


def test_facts_keep_their_second_lines_below_the_first(capsys) -> None:
    print_facts([("a", "one"), ("long name", "two\nlines")])
    assert capsys.readouterr().out == "a          one\nlong name  two\n           lines\n"


def test_json_is_one_line(capsys) -> None:
    print_json({"a": [1, "é"]})
    assert capsys.readouterr().out == '{"a": [1, "é"]}\n'

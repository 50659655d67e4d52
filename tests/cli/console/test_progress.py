"""Progress where there is no terminal: a line now and then, however many parts the work has."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress

import pytest

from mayavi.cli.console import progress


def test_short_parts_of_long_work_are_told_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.in_parts() as say:
        for name in ("one", "two", "three", "four"):
            advance = say(f"playing {name}")
            for done in range(5):
                advance(done, 4)
                now[0] += 1.0
    told = capsys.readouterr().err
    assert told.splitlines() == [
        "playing three: 1 of 4 episodes, about 3 s left",  # after ten seconds, in the third part
        "playing three: 4 of 4 episodes, after 5 s",  # no line stands last that says time is left
    ]


WORK = """
import time
from mayavi.cli.console import progress
progress.PATIENCE_S = progress.REPORT_EVERY_S = 0.0
with progress.activity("opening"):
    time.sleep(0.3)
    print("while it opens")
with progress.counted("replaying", "blocks", eta=True) as advance:
    for done in range(4):
        advance(done, 4)
        print(f"block {done}")
        time.sleep(0.1)
print("all done")
"""


def test_what_is_printed_beside_a_bar_reaches_the_pipe_and_the_bar_leaves_nothing() -> None:
    controller, terminal = pty.openpty()
    base = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "CI", "FORCE_COLOR"}}
    process = subprocess.Popen(
        [sys.executable, "-c", WORK],
        stdout=subprocess.PIPE,
        stderr=terminal,
        stdin=subprocess.DEVNULL,
        env=base | {"TERM": "xterm-256color", "COLUMNS": "120"},
    )
    os.close(terminal)
    shown = b""
    with suppress(OSError):  # the other end is closed
        while part := os.read(controller, 65536):
            shown += part
    os.close(controller)
    printed = process.communicate(timeout=60)[0].decode()
    assert printed.splitlines() == ["while it opens", *(f"block {done}" for done in range(4)), "all done"]
    assert b"replaying" in shown
    assert b"block 2" not in shown
    assert shown.rstrip().endswith((b"\x1b[2K", b"\x1b[?25h"))  # the bar's line is erased


def test_without_a_terminal_progress_is_plain_lines() -> None:
    done = subprocess.run([sys.executable, "-c", WORK], capture_output=True, text=True, timeout=60, check=True)
    assert "\x1b" not in done.stderr
    assert "\r" not in done.stderr
    assert done.stderr.splitlines()[0] == "opening …"
    assert done.stderr.splitlines()[-1].startswith("replaying: 3 of 4 blocks, after ")
    assert done.stdout.splitlines()[-1] == "all done"

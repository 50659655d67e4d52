"""Progress where there is no terminal: a line now and then, however many parts the work has."""

from __future__ import annotations

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
    assert told == "playing three: 1 of 4 episodes, about 3 s left\n"  # after ten seconds, in the third part

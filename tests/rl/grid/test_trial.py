"""What a killed grid leaves behind: processes that go on training for some seconds."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from threading import Timer

import pytest

from mayavi.rl.grid import trial
from mayavi.rl.training_runs.folder import RunFolder


def test_a_trial_waits_until_nobody_else_trains_its_run(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with ExitStack() as other:
        other.enter_context(folder.held())
        Timer(0.1, other.close).start()
        trial._wait_for(folder)
        assert not folder.is_held()


def test_but_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "PATIENCE_S", 0.1)
    folder = RunFolder(tmp_path / "run")
    with folder.held():
        trial._wait_for(folder)
        assert folder.is_held()

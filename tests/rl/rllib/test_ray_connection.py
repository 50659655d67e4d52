"""How many processes play, and whose Ray it is."""

from __future__ import annotations

import os

import pytest

from mayavi.errors import UsageError
from mayavi.rl.rllib.ray_connection import VARIABLE, runner_count


def test_a_setting_wins_over_the_variable_and_that_over_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert runner_count(None) == min(len(os.sched_getaffinity(0)), 2)
    monkeypatch.setenv(VARIABLE, "7")
    assert runner_count(None) == 7
    assert runner_count(0) == 0
    for wrong in ("-1", "two", "1.5"):
        monkeypatch.setenv(VARIABLE, wrong)
        with pytest.raises(UsageError, match=f"{VARIABLE} is '{wrong}'"):
            runner_count(None)

"""Last values of the curves: what a resumed training logged again counts, and half a file as far as it goes."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

pytest.importorskip("tensorboard", reason="`pip install 'mayavi-sim[rl]'` installs it")
pytest.importorskip("torch", reason="`pip install 'mayavi-sim[rl]'` installs it")

from mayavi.rl.training_runs.curves import CurveEnd, last_values


def written(logs: Path, name: str, values: dict[int, float], time: int) -> Path:
    """A log file of one curve, whose name carries `time`."""
    from torch.utils.tensorboard import SummaryWriter

    before = set(logs.glob("*"))
    with SummaryWriter(str(logs)) as writer:
        for step, value in values.items():
            writer.add_scalar(name, value, step)
    (made,) = set(logs.glob("*")) - before
    return made.rename(logs / f"events.out.tfevents.{time}.host.1.0")


def test_the_last_entry_of_each_curve_is_read(tmp_path: Path) -> None:
    assert last_values(tmp_path / "nowhere") == {}
    written(tmp_path, "reward", {100: 1.0, 200: 2.0, 300: 3.0}, time=1)
    written(tmp_path, "loss", {300: 0.5}, time=2)
    written(tmp_path, "reward", {200: 2.5, 250: 4.0}, time=3)  # resumed at step 200
    assert last_values(tmp_path) == {"loss": CurveEnd(300, 0.5), "reward": CurveEnd(250, 4.0)}


def test_half_a_file_counts_as_far_as_it_goes(tmp_path: Path) -> None:
    file = written(tmp_path, "reward", {100: 1.0, 200: 2.0}, time=1)
    os.truncate(file, file.stat().st_size - 5)
    assert last_values(tmp_path) == {"reward": CurveEnd(100, 1.0)}


def test_a_value_that_is_no_number_is_null_in_json(run_mayavi, tmp_path: Path) -> None:
    from tests.rl.training_runs.stored import stored_training

    folder = stored_training(tmp_path, "one")
    folder.logs_path.mkdir()
    written(folder.logs_path, "rollout/reward", {100: math.nan}, time=1)
    shown = run_mayavi("trainings", "show", "one", "--models", str(tmp_path), "--json")

    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is not JSON")

    told = json.loads(shown.stdout, parse_constant=refuse)
    assert told["curves"] == {"rollout/reward": {"steps": 100, "value": None}}

"""The quick benchmark of training, in a file of its own because it starts Ray."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.benchmark_command import check_row
from tests.command_server import CommandServer


@pytest.mark.slow(40)
@pytest.mark.usefixtures("shared_ray")
def test_a_quick_run_of_training_measures_every_environment_and_every_framework(
    repository: Path, learning_server: CommandServer
) -> None:
    asked = ["--only", "rl", "--quick", "--json"]  # in a fork, for the market needs RLlib; trainings are new processes
    finished = learning_server.run(asked, os.environ, repository, module="benchmarks")
    assert finished.returncode == 0, finished.stderr
    section = json.loads(finished.stdout.splitlines()[-1])["sections"]["rl"]
    assert section["skipped"] is None
    for row in section["rows"]:
        check_row(row)
    named = {row["what"].partition(",")[0] for row in section["rows"]}
    assert {"aave", "aave-shock", "compound", "vesting", "liquidator", "market", "PPO"} <= named
    parts = ("kernel", "fleet run", "apply", "observe", "rewards", "begin", "adapter")
    batches = [row for row in section["rows"] if "in adapter" in row]
    trainings = [row for row in section["rows"] if "adapter" in row]
    assert batches
    assert len(trainings) == 6  # three frameworks, two environments
    for row in batches:
        assert sum(row[f"in {part}"]["value"] for part in parts) == pytest.approx(1), row["what"]
    for row in trainings:
        whole = sum(row[part]["value"] for part in (*parts, "playing", "learner", "other"))
        assert whole == pytest.approx(1), row["what"]
        assert all(row[part]["value"] > 0 for part in ("adapter", "playing", "learner", "processor")), row["what"]
    promised = [each["what"] for each in section["targets"]]
    assert sum(what.startswith("mayavi train") for what in promised) == 3
    assert sum(what.startswith("the EVM slows") for what in promised) == 2
    assert sum(what.endswith("processor time of the training's thread") for what in promised) == 2

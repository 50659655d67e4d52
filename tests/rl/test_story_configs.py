"""The configurations of docs/studies train as they stand: a few steps of each, and a page that shows the command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3", reason="`pip install 'mayavi-sim[rl]'` installs stable-baselines3")

from mayavi.rl.config import TrainConfig, read_config
from mayavi.rl.evaluation.play import play
from mayavi.rl.evaluation.strategies import Trained
from mayavi.rl.models import open_model
from mayavi.rl.training.train import train
from tests.pages import DOCS, pages

CONFIGS = sorted((DOCS / "studies" / "configs").glob("*.yaml"))
FEW = {"framework": "sb3", "num_envs": 4, "rollout_steps": 4, "minibatch_size": 8, "epochs": 1, "timesteps": 16}
FEW |= {"evaluate_every": None}
WITHOUT_GPU = {"framework": "fast", "device": "emulated", "start_table": 4}


@pytest.mark.slow(1)
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_configuration_trains_and_its_policy_plays(path: Path, tmp_path: Path) -> None:
    values = read_config(path)
    few = FEW | (WITHOUT_GPU if values.get("device") == "cuda" else {})
    trained = train(TrainConfig.of(values, few, {"checkpoint_every_steps": None}), models=tmp_path)
    model = open_model(trained.run_id, tmp_path)
    env = model.make_env(2, split="validation")
    assert len(play(env, Trained("ppo", model.policy()), range(2)).rewards) == 2


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_page_shows_how_a_configuration_is_trained(path: Path) -> None:
    text = "\n".join(page.text for page in [*pages("studies"), *pages("how-to")])
    assert re.search(rf"mayavi train --config docs/studies/configs/{re.escape(path.name)}\b", text)

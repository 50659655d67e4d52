"""Training with RLlib, each in a process of its own: it is the same twice, and goes on exactly where it was killed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray.rllib", reason="`pip install 'mayavi-sim[rl]'` installs RLlib")

from mayavi.rl.models import open_model

CHASE = {"env": "chase", "framework": "rllib", "seed": 3, "runners": 0}
SMALL = {"num_envs": 16, "rollout_steps": 16, "minibatch_size": 64, "network": [16, 16]}
ACTIONS = {"env_config": {"actions": "continuous"}}
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def process(**asked: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.rl.train_process", json.dumps(asked)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def told(finished: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert finished.returncode == 0, finished.stderr
    found: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    ("settings", "die_at"),
    [
        ({}, 1_300),
        ({"recurrent": True, "target_kl": 0.01}, 1_300),
        ({"algorithm": "dqn", "learning_starts": 200, "train_every": 4}, 1_300),
        ({"algorithm": "sac", "learning_starts": 200, "train_every": 4, **ACTIONS}, 1_300),
        ({"env": "market", "num_envs": 2, "timesteps": 120, "checkpoint_every_steps": 32, "minibatch_size": 32}, 80),
        ({"env": "aave", "runners": 2, "timesteps": 1_200}, 1_000),
    ],
    ids=["ppo", "lstm", "dqn", "sac", "market", "two-runners"],
)
def test_the_same_seed_gives_the_same_weights_and_a_killed_training_ends_with_them(
    tmp_path: Path, settings: dict[str, Any], die_at: int
) -> None:
    """Beyond what RLlib's own checkpoints promise: the rows and episodes of its runners are kept with them."""
    config = {**CHASE, **SMALL, "timesteps": 2_000, "checkpoint_every_steps": 500, **settings}
    whole = told(process(config=config, models=str(tmp_path), run_id="whole"))
    killed = process(config=config, models=str(tmp_path), run_id="killed", die_at=die_at)
    assert killed.returncode == -9
    assert open_model("killed", tmp_path).record["status"] == "interrupted"
    resumed = told(process(config=config, models=str(tmp_path), resume="killed"))
    assert 0 < resumed["resumed_from"] < die_at
    assert resumed["exact"]
    assert [resumed[key] for key in ("digest", "steps", "episodes")] == [
        whole[key] for key in ("digest", "steps", "episodes")
    ]


def test_other_runners_resume_with_new_episodes_and_the_run_says_so(tmp_path: Path) -> None:
    config = {**CHASE, **SMALL, "env": "aave", "timesteps": 600, "checkpoint_every_steps": 256}
    assert process(config=config, models=str(tmp_path), run_id="one", die_at=500).returncode == -9
    resumed = told(process(config=config | {"runners": 1}, models=str(tmp_path), resume="one"))
    assert not resumed["exact"]
    (note,) = open_model("one", tmp_path).record["resumes"]
    assert note["reason"] == "the learning process itself played before, and 1 runner now: episodes start anew"


def test_what_was_trained_plays_and_is_logged(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from tests.rl import chase_env

    assert chase_env.ChaseEnv
    config = {**CHASE, "timesteps": 8_000, "learning_rate": 1e-3, "gamma": 0.95}
    told(process(config=config, models=str(tmp_path), run_id="one"))
    model = open_model("one", tmp_path)
    env = model.make_env(256, split="test")
    policy = model.policy()
    totals = {"policy": np.zeros(256), "noop": np.zeros(256)}
    for name, total in totals.items():
        env.begin(range(256), range(256))
        live = np.ones(256, dtype=np.bool_)
        while live.any():
            actions = policy.actions(env.observe())[0] if name == "policy" else env.strategies["noop"](env)
            stepped = env.step(actions, live)
            total += np.where(live, stepped.rewards, 0.0)
            live &= ~stepped.done
    assert totals["policy"].mean() > totals["noop"].mean() + 0.2
    logs = EventAccumulator(str(tmp_path / "one" / "logs"))
    logs.Reload()
    assert logs.Scalars("env_runners/episode_return_mean")[-1].step == model.record["steps"]
    assert not list(tmp_path.glob("one/**/*.partial"))


def test_a_row_of_a_recurrent_policy_is_its_own(tmp_path: Path) -> None:
    config = {**CHASE, **SMALL, "timesteps": 300, "recurrent": True, "lstm_size": 8}
    told(process(config=config, models=str(tmp_path), run_id="one"))
    policy = open_model("one", tmp_path).policy()
    seen = np.random.default_rng(5).uniform(-1, 1, (6, 5, 2)).astype(np.float32)
    together, state = [], None
    for step in seen:
        together.append(policy.distribution(step, state)[0].logits)  # type: ignore[union-attr]
        state = policy.distribution(step, state)[1]
    for row in range(5):
        memory = None
        for at, step in enumerate(seen):
            alone, memory = policy.distribution(step[row : row + 1], memory)
            assert alone.logits[0] == pytest.approx(together[at][row], abs=1e-5)  # type: ignore[union-attr]
    assert state is not None
    state[2] = 0  # begins anew
    assert policy.distribution(seen[0], state)[0].logits[2] == pytest.approx(together[0][2], abs=1e-5)  # type: ignore[union-attr]

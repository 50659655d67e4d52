"""`mayavi rollouts`, and trainings that learn from its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="`pip install 'mayavi-sim[rl]'` installs RLlib")
pytest.importorskip("pyarrow", reason="`pip install 'mayavi-sim[rl]'` installs pyarrow")

from tests.parallel.ray_cluster import only_ray

RECORD = ("rollouts", "random", "--env", "aave", "--set", "actions=continuous", "--set", "horizon=4")


@pytest.mark.slow(3)
def test_a_baseline_is_recorded_and_its_file_is_refused_elsewhere(run_mayavi, tmp_path: Path) -> None:
    file = tmp_path / "random.parquet"
    done = run_mayavi(*RECORD, "--out", str(file), "--episodes", "20", "--noise-actions", "0.5", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["file"], told["episodes"], told["steps"]) == (str(file), 20, 80)
    assert (told["env"], told["env_config"]["split"], told["strategy"]) == ("aave", "train", {"name": "random"})
    assert told["settings"]["noise"] == {"actions": 0.5, "observations": 0.0}

    offline = ("train", "--algorithm", "cql", "--rollouts", str(file), "--models", str(tmp_path / "m"))
    for options, message, hint in (
        (
            ("--env", "vesting", "--set", "actions=continuous"),
            "are of 'aave', and the training is of 'vesting'",
            "--env aave",
        ),
        (("--set", "env.horizon=5"), "were recorded with horizon 4, and the training has 5", "--set env.horizon=4"),
        (("--set", "env.split=test"), "were recorded with split 'train'", "--set env.split=train"),
        (("--framework", "sb3"), "stable-baselines3 has no CQL", "--framework rllib"),
        (("--set", "block=17666333"), "on another world than 'replica:17666333' is now", "recorded on"),
    ):
        refused = run_mayavi(*offline, *options)
        assert refused.returncode == 2, refused.stderr
        assert message in refused.stderr
        assert hint in refused.stderr
    assert not (tmp_path / "m").exists()


@pytest.mark.slow(0.4)
def test_discrete_actions_are_recorded_and_the_hint_says_what_cql_needs(run_mayavi, tmp_path: Path) -> None:
    done = run_mayavi(
        "rollouts",
        "noop",
        "--env",
        "aave",
        "--set",
        "horizon=4",
        "--episodes",
        "2",
        "--out",
        str(tmp_path / "d.parquet"),
    )
    assert done.returncode == 0, done.stderr
    assert "record with `--set actions=continuous`" in done.stdout + done.stderr
    assert "--algorithm cql" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (("rollouts", "latest"), "unknown training run 'latest'", "a baseline needs --env"),
        (("rollouts", "nop", "--env", "aave"), "unknown strategy 'nop', and no training run", "did you mean 'noop'"),
        (("rollouts", "noop", "--env", "aav"), "unknown environment 'aav'", "did you mean 'aave'"),
        (
            ("rollouts", "noop", "--env", "aave", "--noise-actions", "2"),
            "a share of 2 random actions",
            "between 0 and 1",
        ),
        (("rollouts", "noop", "--env", "aave", "--split", "tests"), "unknown split 'tests'", "did you mean 'test'"),
        (
            ("eval", "-", "--env", "aave", "--noise-observations", "-1"),
            "a noise of -1 on observations",
            "standard deviation",
        ),
        (
            ("eval", "-", "--env", "aave", "--noise-actions", "-0.5"),
            "a share of -0.5 random actions",
            "between 0 and 1",
        ),
        (("train", "--env", "aave", "--algorithm", "cql"), "CQL learns from recorded rollouts", "mayavi rollouts"),
        (
            ("train", "--algorithm", "cql", "--rollouts", "no.parquet"),
            "there is no file of rollouts at 'no.parquet'",
            "mayavi rollouts",
        ),
    ],
)
def test_misuse_is_told(run_mayavi, tmp_path: Path, options, message: str, hint: str) -> None:
    more = ("--out", str(tmp_path / "out.parquet")) if options[0] == "rollouts" else ()
    refused = run_mayavi(*options, *more, "--models", str(tmp_path / "m"))
    assert refused.returncode == 2, refused.stderr
    assert message in refused.stderr
    assert hint in refused.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow(10)
@pytest.mark.usefixtures("shared_ray")
def test_cql_trains_on_the_file_and_its_policy_is_recorded_again(run_mayavi, tmp_path: Path) -> None:
    file, models = tmp_path / "random.parquet", str(tmp_path / "m")
    assert run_mayavi(*RECORD, "--out", str(file), "--episodes", "30").returncode == 0
    small = ("--set", "network=[8]", "--set", "minibatch_size=16", "--set", "test_episodes=20", "--timesteps", "20")
    with only_ray():
        done = run_mayavi("train", "--algorithm", "cql", "--rollouts", str(file), *small, "--models", models, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["steps"], told["config"]["env"], told["config"]["env_config"]["horizon"]) == (20, "aave", 4)
    assert "cql" in told["evaluation"]["mean_rewards"]
    assert told["evaluation"]["split"] == "test"
    again = run_mayavi("rollouts", told["run_id"], "--out", str(tmp_path / "own.parquet"), "--models", models, "--json")
    assert again.returncode == 0, again.stderr
    own = json.loads(again.stdout)
    assert (own["strategy"]["algorithm"], own["env_config"]["split"], own["episodes"]) == ("cql", "train", 200)

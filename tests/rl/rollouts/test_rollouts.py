"""Recorded rollouts: what the file holds, and which trainings may use it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="gymnasium is not installed; `pip install 'mayavi-sim[rl]'` installs it")
pytest.importorskip("pyarrow", reason="`pip install 'mayavi-sim[rl]'` installs pyarrow")

import pyarrow
from pyarrow import parquet

from mayavi.errors import MayaviError, ModelMismatch, RolloutsError, UsageError
from mayavi.gym_env import make_rows
from mayavi.rl.config import TrainConfig
from mayavi.rl.environments import env_facts
from mayavi.rl.evaluation.noise import Noise
from mayavi.rl.evaluation.play import play
from mayavi.rl.rollouts.file import KEY, read_facts, read_rollouts
from mayavi.rl.rollouts.fitting import check_rollouts, rollouts_layer
from mayavi.rl.rollouts.recording import RolloutSettings, record_baseline
from tests.rl import chase_env

assert chase_env.ChaseEnv
CONTINUOUS = {"actions": "continuous", "split": "train"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rollouts") / "random.parquet"
    record_baseline("chase", "random", path, RolloutSettings(150, seed=4), config=CONTINUOUS)
    return path


def test_every_step_is_in_the_file_as_it_was_played(recorded: Path, tmp_path: Path) -> None:
    found = read_rollouts(recorded)
    env = make_rows("chase", 128, split="train", actions="continuous")
    from mayavi.rl.evaluation.strategies import RandomPlay

    played = play(env, RandomPlay(4), range(150))
    assert [each.episode for each in found.episodes] == list(range(150))
    assert [each.rewards.sum() for each in found.episodes] == pytest.approx(played.rewards.tolist())
    assert [len(each) for each in found.episodes] == played.lengths.tolist()
    assert [each.terminated for each in found.episodes] == played.terminated.tolist()
    for each, actions in zip(found.episodes, played.actions, strict=True):
        assert np.allclose(each.actions, actions)
        assert each.observations.shape == (len(each) + 1, 2)
    assert found.steps == int(played.lengths.sum())
    assert found.facts["settings"]["episodes"] == 150
    assert (found.facts["env"], found.facts["env_config"]["actions"]) == ("chase", "continuous")

    table = parquet.read_table(recorded)
    assert table.column_names == [
        "episode", "step", "observation", "action", "reward", "terminated", "truncated", "next_observation",
    ]  # fmt: skip
    again = tmp_path / "again.parquet"
    record_baseline("chase", "random", again, RolloutSettings(150, seed=4), config=CONTINUOUS)
    assert again.read_bytes() == recorded.read_bytes()
    noisy = tmp_path / "noisy.parquet"
    record_baseline("chase", "steer", noisy, RolloutSettings(20, noise=Noise(actions=0.5)), config={"split": "train"})
    steered = read_rollouts(noisy)
    assert {int(action) for each in steered.episodes for action in each.actions} == {0, 1, 2}


def config(path: Path, **changes: Any) -> TrainConfig:
    inner = {"actions": "continuous", **changes.pop("env_config", {})}
    return TrainConfig.of({"env": "chase", "algorithm": "cql", "rollouts": str(path), "env_config": inner}, changes)


def test_they_give_a_training_its_environment(recorded: Path) -> None:
    layer = rollouts_layer(recorded)
    own = TrainConfig.of(layer, {"algorithm": "cql", "rollouts": str(recorded)})
    check_rollouts(own, env_facts(own))
    check_rollouts(config(recorded), env_facts(config(recorded)))
    assert (own.env, own.env_config) == ("chase", {"actions": "continuous"})


def test_those_of_another_environment_are_refused(recorded: Path) -> None:
    other = TrainConfig.of(
        {"env": "rwa", "algorithm": "cql", "rollouts": str(recorded), "env_config": {"actions": "continuous"}}
    )
    with pytest.raises(ModelMismatch, match="are of 'chase', and the training is of 'rwa'") as refused:
        check_rollouts(other, env_facts(other))
    assert "--env chase" in (refused.value.hint or "")
    for name, value, there in (("horizon", 4, "8"), ("split", "validation", "train"), ("start", "fixed", "drawn")):
        changed = config(recorded, env_config={name: value})
        with pytest.raises(ModelMismatch, match=f"were recorded with {name} ") as refused:
            check_rollouts(changed, env_facts(changed))
        assert f"--set env.{name}={there}" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"algorithm": "cql"}, "CQL learns from recorded rollouts"),
        ({"algorithm": "sac", "rollouts": "x"}, "SAC plays its own rollouts"),
        ({"algorithm": "cql", "rollouts": "x", "framework": "sb3"}, "stable-baselines3 has no CQL"),
        ({"algorithm": "cql", "rollouts": "x", "recurrent": True}, "CQL has no recurrent form"),
    ],
)
def test_settings_that_do_not_fit_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        TrainConfig.of({"env": "chase"}, values)


def test_discrete_actions_are_refused(recorded: Path) -> None:
    with pytest.raises(UsageError, match="CQL needs continuous actions"):
        env_facts(TrainConfig.of({"env": "chase", "algorithm": "cql", "rollouts": str(recorded)}))


def test_a_file_that_is_none_is_refused(recorded: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file of rollouts"):
        read_facts(tmp_path / "none.parquet")
    text = tmp_path / "text.parquet"
    text.write_text("no parquet")
    plain = tmp_path / "plain.parquet"
    parquet.write_table(pyarrow.table({"a": [1]}), plain)
    for path in (text, plain):
        with pytest.raises(RolloutsError, match="holds no rollouts"):
            read_facts(path)

    table = parquet.read_table(recorded)
    facts = json.loads(table.schema.metadata[KEY])

    def written(name: str, rows: Any = table, **changes: Any) -> Path:
        path = tmp_path / name
        parquet.write_table(rows.replace_schema_metadata({KEY: json.dumps(facts | changes)}), path)
        return path

    with pytest.raises(RolloutsError, match="has version 9"):
        read_facts(written("new.parquet", version=9))
    with pytest.raises(RolloutsError, match="holds no step"):
        read_rollouts(written("empty.parquet", table.slice(0, 0)))
    with pytest.raises(RolloutsError, match="is incomplete"):
        read_rollouts(written("cut.parquet", table.slice(0, 3)))
    with pytest.raises(RolloutsError, match="cannot be read"):
        read_rollouts(written("columns.parquet", table.drop_columns(["reward"])))


@pytest.mark.parametrize(
    ("env", "strategy", "message"),
    [
        ("market", "noop", "it has several agents"),
        ("chase", "optimum", "the optimum is a plan"),
        ("chase", "ster", "unknown strategy 'ster'"),
    ],
)
def test_what_cannot_be_recorded_is_told_and_nothing_is_written(
    tmp_path: Path, env: str, strategy: str, message: str
) -> None:
    with pytest.raises(MayaviError, match=message):
        record_baseline(env, strategy, tmp_path / "out.parquet", RolloutSettings(2))
    with pytest.raises(UsageError, match="there is no folder"):
        record_baseline("chase", "noop", tmp_path / "none" / "out.parquet", RolloutSettings(2))
    assert not list(tmp_path.iterdir())
    with pytest.raises(UsageError, match="0 episodes cannot be recorded"):
        RolloutSettings(0)

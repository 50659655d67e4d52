"""`TrainConfig`: one schema for all frameworks, told from a file, options and `--set`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mayavi.errors import UnknownName, UsageError
from mayavi.rl.config import TrainConfig, parse_settings, read_config
from mayavi.rl.training.resuming import changed_schedules
from mayavi.rl.training_runs.checkpoints import Checkpoint

pytest.importorskip("gymnasium", reason="gymnasium is not installed; `pip install 'mayavi-sim[rl]'` installs it")


def test_it_comes_back_from_json_as_it_was() -> None:
    config = TrainConfig.of(
        {"env": "aave", "network": [32, 16], "env_config": {"start": "fixed", "horizon": 3}, "learning_rate_end": 0.0}
    )
    assert TrainConfig.of(json.loads(json.dumps(config.to_json()))) == config
    assert config.network == (32, 16)
    assert config.batch_size == 64 * 32


def test_later_layers_win_and_settings_of_the_environment_are_joined() -> None:
    config = TrainConfig.of(
        {"env": "aave", "seed": 1, "env_config": {"horizon": 3}}, {"seed": 2, "env_config": {"start": "fixed"}}
    )
    assert config.seed == 2
    assert config.env_config == {"horizon": 3, "start": "fixed"}


def test_a_set_option_is_the_trainings_or_the_environments() -> None:
    told = parse_settings(
        ["learning_rate=3e-4", "network=[8, 8]", "horizon=3", "env.start=fixed"], ["horizon", "start"]
    )
    assert told == {"learning_rate": 3e-4, "network": [8, 8], "env_config": {"horizon": 3, "start": "fixed"}}
    with pytest.raises(UnknownName, match="unknown setting 'learning_rat'") as refused:
        parse_settings(["learning_rat=1"], ["horizon"])
    assert "did you mean 'learning_rate'" in (refused.value.hint or "")
    with pytest.raises(UnknownName, match="unknown setting 'horizn'") as refused:
        parse_settings(["horizn=1"], ["horizon"])
    assert "did you mean 'horizon'?" in (refused.value.hint or "")
    with pytest.raises(UsageError, match="does not set anything"):
        parse_settings(["horizon"], ["horizon"])


def test_a_file_is_yaml_or_json(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("env: aave\ngamma: 0.9\nenv_config:\n  horizon: 3\n")
    (tmp_path / "a.json").write_text('{"env": "aave", "gamma": 0.9, "env_config": {"horizon": 3}}')
    read = [TrainConfig.of(read_config(tmp_path / name)) for name in ("a.yaml", "a.json")]
    assert read[0] == read[1]
    assert read[0].gamma == 0.9
    with pytest.raises(UsageError, match="there is no configuration at"):
        read_config(tmp_path / "none.yaml")
    (tmp_path / "list.yaml").write_text("- env\n")
    (tmp_path / "empty.yaml").write_text("")
    for name, message in (("list.yaml", "a configuration is a mapping of keys to values"), ("empty.yaml", "is empty")):
        with pytest.raises(UsageError, match=message) as caught:
            read_config(tmp_path / name)
        assert "begin with `env: aave`" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("values", "message", "hint"),
    [
        ({"framework": "sb4"}, "unknown framework 'sb4'", "did you mean 'sb3'?"),
        ({"algorithm": "pop"}, "unknown algorithm 'pop'", "there are ppo, sac, dqn"),
        ({"timesteps": 0}, "setting 'timesteps' is 0, and must be at least 1", ""),
        ({"timesteps": 1.5}, "setting 'timesteps' is 1.5, not a whole number", ""),
        ({"gama": 1}, "a training has no setting 'gama'", "did you mean 'gamma'?"),
        ({"recurrent": True, "algorithm": "dqn"}, "DQN has no recurrent form here", "take ppo"),
        ({"recurrent": True, "algorithm": "sac"}, "SAC has no recurrent form here", "take ppo"),
        ({"num_envs": 2, "rollout_steps": 4}, "a minibatch of 256 rows does not fit into a batch of 8", "=8 or less"),
        ({"env": "market", "framework": "sb3"}, "the market has several agents", "--framework rllib"),
        ({"env": "market", "framework": "fast"}, "the market has several agents, and framework `fast`", "rllib"),
        ({"recurrent": True, "framework": "fast"}, "framework `fast` has no recurrent policies", "sb3 or rllib"),
        ({"algorithm": "dqn", "framework": "fast"}, "framework `fast` trains PPO, not DQN", "sb3 or rllib"),
        ({"algorithm": "cql", "rollouts": "a", "framework": "fast"}, "framework `fast` has no CQL", "rllib"),
        ({"normalize_rewards": True, "algorithm": "sac"}, "SAC learns from old observations", "take ppo"),
        ({"env": "market", "framework": "rllib", "evaluate_every": 9}, "the market has several agents", "leave"),
        ({"evaluate_every": 9, "env_config": {"split": "validation"}}, "is trained on and evaluated on", "leave one"),
        ({"network": []}, "setting 'network' has 0 entries, and needs at least 1", ""),
        ({"seed": -1}, "setting 'seed' is -1", ""),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_the_reason(values: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        TrainConfig.of({"env": "aave"}, values)
    assert message in refused.value.message
    assert hint in (refused.value.hint or "")


def test_no_setting_of_an_environment_has_the_name_of_one_of_the_training() -> None:
    from mayavi.gym_env.registry import ENVS, MULTI_AGENT
    from mayavi.rl.environments import env_settings

    for name in [*ENVS, *MULTI_AGENT]:
        assert not set(env_settings(name)) & set(TrainConfig.model_fields), name


def test_every_setting_stands_in_the_documentation(repository: Path) -> None:
    page = (repository / "docs/how-to/train.md").read_text(encoding="utf-8")
    for name, field in TrainConfig.model_fields.items():
        assert f"| `{name}` |" in page, name
        assert field.description
        assert field.description.replace("|", "\\|") in page, name


@pytest.mark.parametrize("framework", ["rllib", "sb3", "fast"])
def test_a_market_on_a_device_is_refused_with_the_reason_whatever_the_framework(framework: str) -> None:
    with pytest.raises(UsageError, match="'market' does not run on a device: its agents act in any order") as raised:
        TrainConfig.of({"env": "market", "framework": framework, "device": "emulated"})
    assert raised.value.hint == "leave the device out"


@pytest.mark.parametrize("framework", ["rllib", "sb3"])
@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, ""),
        ({"learning_rate_end": 0.0}, "learning_rate_end follows from timesteps, which were 100 and are 50,000"),
        ({"learning_rate_end": 3e-4, "learning_rate": 3e-4}, ""),
        ({"algorithm": "dqn"}, "exploration_share follows from timesteps, which were 100 and are 50,000"),
        ({"algorithm": "dqn", "exploration_share": 0.0}, ""),
        ({"algorithm": "dqn", "learning_rate_end": 0.0}, "learning_rate_end and exploration_share follow from"),
    ],
)
def test_schedules_follow_from_timesteps(framework: str, settings: dict[str, Any], reason: str) -> None:
    config = TrainConfig.of({"env": "aave", "framework": framework}, settings)
    found = changed_schedules(config, Checkpoint(Path(), {"timesteps": 100}))
    assert found.startswith(reason)
    assert bool(found) == bool(reason)
    assert not changed_schedules(config, Checkpoint(Path(), {"timesteps": 50_000}))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_envs": 65_537, "framework": "fast"}, "65,537 parallel episodes need --framework fast and --device cuda"),
        ({"num_envs": 65_537, "device": "cuda"}, "65,537 parallel episodes need --framework fast and --device cuda"),
        ({"device": "emulated"}, "^device=emulated is a setting of framework `fast`"),
        ({"precision": "bf16"}, "^precision=bf16 is a setting of framework `fast`"),
        ({"device": "emulated", "precision": "bf16"}, "device=emulated and precision=bf16 are settings of"),
        (
            {"device": "cuda:1", "framework": "fast"},
            "only the first GPU is taken\ntake cuda; .* CUDA_VISIBLE_DEVICES=1",
        ),
        ({"device": "gpu"}, r"unknown device 'gpu'\ndid you mean 'cuda'\?  there are: auto, cpu, cuda, emulated"),
        ({"start_table": 100}, "start_table is a setting of framework `fast` on a GPU"),
        ({"num_envs": 262_145, "framework": "fast", "device": "cuda"}, "num_envs"),
    ],
)
def test_settings_of_a_training_on_a_gpu_are_refused_elsewhere(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        TrainConfig.of({"env": "aave"}, settings)
    allowed = TrainConfig.of({"env": "aave", "framework": "fast", "device": "cuda", "num_envs": 262_144})
    assert (allowed.rows_on_device, allowed.start_episodes) == (True, 262_144)

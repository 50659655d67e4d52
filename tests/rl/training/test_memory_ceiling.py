"""The memory estimate of a training matches its networks, and is checked before it starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed; `pip install 'mayavi-sim[rl]'` installs it")

from mayavi.errors import MemoryCeiling, UsageError
from mayavi.evm.devices import Device
from mayavi.rl.config import TrainConfig
from mayavi.rl.training import memory_ceiling
from mayavi.rl.training.memory_ceiling import VARIABLE, ceiling_gb, check_ceiling, estimate
from mayavi.rl.training.train import train
from tests.rl.chase_env import ChaseEnv as ChaseEnv

CONTINUOUS = {"env_config": {"actions": "continuous"}}


def parameters_of_sb3(config: TrainConfig) -> int:
    from mayavi.gym_env.adapters.sb3 import RowsVecEnv
    from mayavi.rl.environments import make_training_rows
    from mayavi.rl.sb3.algorithm import build_algorithm
    from mayavi.rl.sb3.training_env import TrainingRows

    rows = TrainingRows(RowsVecEnv(make_training_rows(config, config.num_envs)), config, None)
    return sum(each.numel() for each in build_algorithm(config, rows).policy.parameters())


@pytest.mark.parametrize(
    "settings",
    [{}, {"network": [32, 16, 8]}, {"recurrent": True, "lstm_size": 24}, {"algorithm": "dqn"},
     {"algorithm": "sac", **CONTINUOUS}, CONTINUOUS],
    ids=["ppo", "deep", "lstm", "dqn", "sac", "gaussian"],
)  # fmt: skip
def test_the_parameters_are_those_the_networks_have(settings: dict[str, Any]) -> None:
    config = TrainConfig.of({"env": "chase", "framework": "sb3", "num_envs": 8}, settings)
    discrete = "env_config" not in settings
    found = estimate(config, [(2, 3 if discrete else 1)], discrete=discrete)
    # A Gaussian policy has one deviation for all states in SB3 and a second output in RLlib: the estimate counts at
    # most one row of weights too many.
    room = 0 if discrete or config.algorithm == "sac" else config.network[-1]
    there = parameters_of_sb3(config)
    assert there <= found.parameters <= there + room
    assert found.model_bytes == 16 * found.parameters  # weights, gradients and two moments, four bytes each


def test_a_larger_batch_and_a_larger_network_need_more() -> None:
    base = {"env": "chase"}
    small, wide, many = (
        estimate(TrainConfig.of(base, more), [(2, 3)], discrete=True)
        for more in ({}, {"network": [512, 512]}, {"num_envs": 1024, "minibatch_size": 4096})
    )
    assert wide.model_bytes > 30 * small.model_bytes
    assert many.batch_bytes == 16 * small.batch_bytes
    assert many.activation_bytes == 16 * small.activation_bytes


def test_a_training_beyond_the_ceiling_stops_with_the_figures_before_anything_is_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(VARIABLE, "0.001")
    config = TrainConfig.of({"env": "chase", "framework": "sb3", "timesteps": 100})
    with pytest.raises(
        MemoryCeiling, match=r"needs 1\.\d MB \(model .* MB, batch .* MB, .*may take 0\.001 GB"
    ) as refused:
        train(config, models=tmp_path)
    assert VARIABLE in (refused.value.hint or "")
    assert refused.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_the_ceiling_is_four_gigabytes_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert ceiling_gb() == 4.0
    check_ceiling(estimate(TrainConfig.of({"env": "chase"}), [(2, 3)], discrete=True))
    huge = TrainConfig.of({"env": "chase", "network": [16384, 16384, 16384]})
    with pytest.raises(MemoryCeiling, match="may take 4 GB"):
        check_ceiling(estimate(huge, [(2, 3)], discrete=True))
    monkeypatch.setenv(VARIABLE, "much")
    with pytest.raises(UsageError, match="is 'much'"):
        ceiling_gb()


def test_rows_on_a_gpu_may_take_the_memory_of_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(memory_ceiling, "cuda_devices", lambda: [Device("a GPU", 8 * 10**9, (9, 0), (13, 0))])
    settings = {"env": "aave", "framework": "fast", "device": "cuda", "rollout_steps": 12, "minibatch_size": 786_432}
    many = estimate(TrainConfig.of(settings, {"num_envs": 262_144}), [(15, 5)], discrete=True)
    assert many.total_bytes > 4 * 10**9
    check_ceiling(many)
    more = {"num_envs": 262_144, "rollout_steps": 48, "minibatch_size": 4 * 786_432}
    with pytest.raises(MemoryCeiling, match=r"needs 1\d\.\d GB .*may take 8 GB"):
        check_ceiling(estimate(TrainConfig.of(settings, more), [(15, 5)], discrete=True))
    monkeypatch.setenv(VARIABLE, "2")
    with pytest.raises(MemoryCeiling, match="may take 2 GB"):
        check_ceiling(many)

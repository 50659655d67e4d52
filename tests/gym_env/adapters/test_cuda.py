"""Rows on a device as a vector environment: tensors without copies, NumPy on top, and clear refusals."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed; `pip install 'mayavi-sim[rl]'` installs it")

import torch
from gymnasium.vector import AutoresetMode

from mayavi.errors import BadArgument, SetupError, UsageError
from mayavi.gym_env import CudaVectorEnv, make_cuda, make_rows
from mayavi.gym_env.adapters import cuda
from mayavi.gym_env.adapters.vector import MayaviVectorEnv
from tests.gym_env.stand_in_device_rows import StandInDeviceRows
from tests.rl import chase_env

assert chase_env.__name__
ROWS = 6


def stand_in(episodes: Any = range(20), **settings: Any) -> StandInDeviceRows:
    return StandInDeviceRows(make_rows("chase", ROWS, **settings), episodes)


def test_arrays_are_those_of_the_rows_played_one_by_one() -> None:
    envs = CudaVectorEnv(stand_in())
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observations, infos = envs.reset()
    reference = make_rows("chase", ROWS)
    played = np.arange(ROWS)
    reference.begin(range(ROWS), played.tolist())
    assert (observations == reference.observe()).all()
    assert infos == {}
    rng, ended = np.random.default_rng(5), 0
    for _ in range(30):
        actions = rng.integers(3, size=ROWS)
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        expected = reference.step(actions)
        assert (rewards == expected.rewards).all()
        assert (terminated == expected.terminated).all()
        assert (truncated == expected.truncated).all()
        over = np.flatnonzero(expected.done)
        if len(over):
            ended += len(over)
            assert (infos["_final_obs"] == expected.done).all()
            assert (infos["final_obs"][over] == expected.observations[over]).all()
            played[over] = (played[over] + ROWS) % 20
            reference.begin(over, played[over].tolist())
        assert (observations == reference.observe()).all()
    assert ended > 10


def test_tensors_are_the_memory_of_the_rows_and_go_through_dlpack() -> None:
    rows = stand_in()
    envs = CudaVectorEnv(rows)
    first, _ = envs.reset_tensors()
    stepped = envs.step_tensors(np.ones(ROWS, dtype=np.int64))  # an array has `__dlpack__`
    assert stepped.observations.data_ptr() == first.data_ptr() == rows.observations.data_ptr()
    assert torch.from_dlpack(stepped.rewards).data_ptr() == rows.rewards.data_ptr()
    kept = envs.step(np.zeros(ROWS, dtype=np.int64))[0]
    before = kept.copy()
    envs.step_tensors(torch.full((ROWS,), 2))
    assert (kept == before).all()  # arrays are copies


def test_actions_beyond_the_bounds_are_clipped_and_bad_arrays_refused() -> None:
    envs, other = CudaVectorEnv(stand_in(actions="continuous")), CudaVectorEnv(stand_in(actions="continuous"))
    with pytest.raises(UsageError, match="no episode has begun"):
        envs.step_tensors(torch.zeros(ROWS, 1))
    envs.reset(), other.reset()
    far, near = envs.step_tensors(torch.full((ROWS, 1), 9.0)), other.step_tensors(torch.ones(ROWS, 1))
    assert far.observations.equal(near.observations)
    with pytest.raises(UsageError, match=r"the actions have the shape \(2, 1\)"):
        envs.step_tensors(torch.zeros(2, 1))
    with pytest.raises(BadArgument, match="the actions are of the type list") as raised:
        envs.step_tensors([[0.0]] * ROWS)
    assert raised.value.hint == "give a tensor of 6 × 1 on cpu, or anything with `__dlpack__`; step takes lists"
    with pytest.raises(UsageError, match="the actions are on meta, and the rows on cpu"):
        envs.step_tensors(torch.zeros(ROWS, 1, device="meta"))
    with pytest.raises(UsageError):
        envs.step(np.full((ROWS, 1), np.nan, dtype=np.float32))


def test_a_gpu_without_a_number_takes_tensors_of_the_first_one() -> None:
    rows = stand_in()
    rows.torch_device = torch.device("cpu:0")  # as `cuda` and `cuda:0`: the same place, and not equal
    assert rows.torch_device != rows.observations.device
    envs = CudaVectorEnv(rows)
    envs.reset()
    assert len(envs.step_tensors(torch.ones(ROWS, dtype=torch.int64)).rewards) == ROWS
    assert len(envs.step(np.ones(ROWS, dtype=np.int64))[1]) == ROWS


def test_a_seed_draws_the_table_and_two_environments_play_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def open_rows(name: str, config: Any, rows: int, episodes: Any, device: str, world: Any) -> Any:
        assert (name, rows, device) == ("chase", ROWS, "cuda")
        opened.append(StandInDeviceRows(make_rows("chase", rows, config=config), episodes))
        return opened[-1]

    monkeypatch.setattr(cuda, "open_tensor_rows", open_rows)
    one, other = (make_cuda("chase", ROWS, seed=3, table=50, horizon=4) for _ in range(2))
    first, second = one.reset()[0], other.reset()[0]
    assert (first == second).all()
    assert len(opened[0].table) == 50
    one.step(np.zeros(ROWS, dtype=np.int64))
    assert (other.step(np.ones(ROWS, dtype=np.int64))[0] != one.step(np.ones(ROWS, dtype=np.int64))[0]).any()
    assert (one.reset(seed=3)[0] == first).all()
    assert (one.reset(seed=4)[0] != first).any()
    assert opened[0].closed
    assert (one.reset(seed=3)[0] == first).all()
    with pytest.raises(UsageError, match="whatever the seed"):
        CudaVectorEnv(stand_in()).reset(seed=1)
    with pytest.raises(UsageError, match="no option 'reset_mask'"):
        one.reset(options={"reset_mask": np.ones(ROWS)})
    other.close()
    assert opened[1].closed


@pytest.mark.slow(0.3)
@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_without_a_driver_it_is_refused_or_falls_back_with_a_warning() -> None:
    with pytest.raises(UsageError, match="there is no CUDA driver on this machine") as raised:
        make_cuda("aave", ROWS)
    assert str(raised.value.hint).endswith("or take make_vector, or make_cuda with fallback=True, for the processor")
    with pytest.warns(UserWarning, match="'aave' runs on the processor: there is no CUDA driver"):
        envs = make_cuda("aave", ROWS, fallback=True, horizon=4)
    assert isinstance(envs, MayaviVectorEnv)
    assert envs.autoreset_mode is AutoresetMode.SAME_STEP
    assert envs.env.config.horizon == 4


@pytest.mark.slow(0.4)
def test_an_environment_that_no_device_runs_is_refused_before_the_driver_or_falls_back() -> None:
    with pytest.raises(UsageError, match="'rwa' does not run on a device: it stands on no chain") as raised:
        make_cuda("rwa", ROWS)
    assert "make_vector" in str(raised.value.hint)
    with pytest.warns(UserWarning, match="'chase' runs on the processor: 'chase' does not run on a device"):
        envs = make_cuda("chase", ROWS, fallback=True, horizon=4)
    assert isinstance(envs, MayaviVectorEnv)
    assert envs.env.config.horizon == 4
    for fallback in (False, True):
        with pytest.raises(UsageError, match="'market' does not run on a device: its agents act in any") as raised:
            make_cuda("market", ROWS, fallback=fallback)
        assert "make_vector cannot have it either, because it has several agents" in raised.value.message
        assert "--framework rllib" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("settings", "message", "hint"),
    [
        ({"device": "gpu"}, "unknown device 'gpu'", "did you mean 'cuda'"),
        ({"device": "cpu"}, "'cpu' is the processor", "take make_vector"),
        ({"device": None}, "the device is None", "emulated; take make_vector"),
        ({"table": 0}, "table is 0", "give a whole number from 1 on; left out it is 65,536"),
        ({"table": -4}, "table is -4", "give a whole number from 1 on"),
        ({"num_envs": 2.5}, "num_envs is 2.5", "give a whole number from 1 on"),
    ],
)
@pytest.mark.parametrize("fallback", [False, True])
def test_misuse_is_refused_in_spite_of_a_fallback(
    settings: dict[str, Any], message: str, hint: str, *, fallback: bool
) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        make_cuda("aave", **{"num_envs": ROWS, "device": "emulated", **settings}, fallback=fallback)
    assert hint in str(raised.value.hint)


def test_without_torch_the_package_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SetupError, match="environments on a device need torch"):
        make_cuda("chase", ROWS)

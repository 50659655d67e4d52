"""Rows on a device give the bits of the environment on the processor, whichever of both played a step."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from mayavi.errors import BadArgument, BadInteger, UsageError
from mayavi.evm.devices import DeviceError
from mayavi.gym_env.device.parts import Style
from mayavi.gym_env.device.rows import DeviceRows
from mayavi.worlds.source import WorldSource
from tests.evm.native.devices import needs_device, without_device
from tests.gym_env.device.pairs import Pair, as_array

DEVICES = ["emulated", pytest.param("cuda", marks=[pytest.mark.gpu, needs_device])]
CRASHES = {"shock_size": (-0.9, 0.5), "shock_chance": 1.0, "health_factor": (1.05, 2.5)}
CASES: list[tuple[str, dict[str, object]]] = [
    ("aave", {}),
    ("aave", {"actions": "continuous"}),
    ("aave-shock", CRASHES),
    ("aave-shock", {"actions": "continuous"}),
    ("compound", {}),
    ("compound", {"actions": "continuous"}),
    ("vesting", {"scale": 100.0, "gas_price_gwei": 20.0}),
    ("vesting", {"actions": "continuous", "reward": "at_end"}),
    ("liquidator", {"borrowers": 3, "health_factor": (1.04, 1.06), "shock": (0.1, 0.6)}),
    ("liquidator", {"borrowers": 2, "actions": "continuous", "reward": "at_end", "capital": 9e4, "pool_depth": 0.02}),
]


@pytest.fixture(autouse=True)
def few_learners(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the episodes before the first kernel: what they miss, rows leave to the processor."""
    monkeypatch.setattr("mayavi.gym_env.device.host.LEARNERS", 64)


def made(name: str, settings: dict[str, object], device: str, rows: int = 24, **more: Any) -> DeviceRows:
    return DeviceRows(name, {"horizon": 6, **settings}, rows, episodes=range(40, 51), device=device, threads=1, **more)


@pytest.mark.slow(2)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("name", "settings"), CASES)
def test_all_bits_are_those_of_the_processor(name: str, settings: dict[str, object], device: str) -> None:
    pair = Pair(made(name, settings, device), name)
    pair.begin()
    for _ in range(14):
        pair.step()
    assert sum(pair.ends.values()) >= 2 * pair.rows.rows
    assert pair.ends["terminated"] > 0 or name not in ("aave-shock", "vesting")
    assert pair.rows.left < pair.rows.rows


@pytest.mark.slow(9)
def test_a_liquidator_on_a_pool_that_closes_small_debts_at_once() -> None:
    world = WorldSource.of(world="ethereum@2025-12")
    settings: dict[str, object] = {"borrowers": 2, "collateral": (0.3, 3.0), "shock": (0.2, 0.5)}
    rows = made("liquidator", settings, "emulated", rows=6, world=world)
    assert rows.env.loans.by_value
    pair = Pair(rows, "liquidator", world=world)
    pair.begin()
    for _ in range(8):
        pair.step()
    assert rows.left < rows.rows


@pytest.mark.slow(2)
@pytest.mark.parametrize("device", DEVICES)
def test_rows_that_leave_the_known_paths_are_the_processors(device: str) -> None:
    rows = made("aave-shock", CRASHES, device, style=Style(most_leaves=2))
    assert max(part.leaves for part in rows.parts) == 2
    pair = Pair(rows, "aave-shock")
    pair.begin()
    for _ in range(8):
        pair.step()
    assert rows.left > 40
    assert len(set(as_array(rows.memory.leaves[0]).tolist())) > 1


@pytest.mark.slow(2)
@pytest.mark.parametrize("device", DEVICES)
def test_kernels_that_rows_keep_leaving_take_words_of_any_size(device: str) -> None:
    rows = made("aave-shock", CRASHES, device, style=Style(most_leaves=2))
    rows._patience = 1
    pair = Pair(rows, "aave-shock")
    pair.begin()
    for _ in range(7):
        pair.step()
        if begun := rows._maker._compiled:
            begun.result()  # a driver's compiler takes longer than all these steps
    assert rows.parts[0].wide
    assert rows.parts[0].made > 2
    rows.close()


@pytest.mark.slow(2)
def test_the_same_paths_give_the_same_kernels_in_whichever_order_they_come_up() -> None:
    texts = []
    for threads in (1, 2):
        rows = DeviceRows("compound", {"horizon": 3}, 4, episodes=range(40, 51), device="emulated", threads=threads)
        texts.append([part.kernel.ptx() for part in rows.parts])
    assert texts[0] == texts[1]


@pytest.mark.slow(2)
def test_the_style_of_kernels_changes_nothing() -> None:
    pair = Pair(made("aave", {}, "emulated", style=Style(bucket=8, threads=32, registers=64, products=0)), "aave")
    pair.begin()
    for _ in range(7):
        pair.step()


@pytest.mark.slow(2)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("actions", ["discrete", "continuous"])
def test_a_restored_state_goes_on_as_if_nothing_had_been(actions: str, device: str) -> None:
    settings: dict[str, object] = {**CRASHES, "actions": actions}
    pair = Pair(made("aave-shock", settings, device), "aave-shock")
    pair.begin()
    for _ in range(9):
        pair.step()
    kept = pair.rows.state()
    resumed = made("aave-shock", settings, device)
    resumed.restore(kept)
    for name in ("rewards", "terminated", "truncated", "final_observations"):
        assert (as_array(getattr(resumed, name)) == as_array(getattr(pair.rows, name))).all()
    pair.rows = resumed
    for _ in range(5):
        pair.step()
    other = made("aave-shock", settings, device, rows=8)
    with pytest.raises(UsageError, match="the saved state is of 24 rows"):
        other.restore(kept)


def test_other_environments_say_why_they_do_not_run_there() -> None:
    with pytest.raises(UsageError, match="'market' does not run on a device: its agents act in any order") as raised:
        DeviceRows("market", None, 4, episodes=[1], device="emulated")
    assert "aave-shock" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ({"rows": 0}, "rows is 0", "give a whole number from 1 on"),
        ({"rows": 2.5}, r"rows is 2\.5", "give a whole number from 1 on"),
        ({"episodes": []}, "there are no episodes", "give at least one"),
        ({"device": "gpu"}, "unknown device 'gpu'", "did you mean 'cuda'?"),
        ({"device": "cpu"}, "'cpu' is the processor", "take make_vector, or make_cuda with fallback=True"),
        ({"device": None}, "the device is None", "there are: cuda, cuda:1, …, emulated"),
        ({"specialise": "off"}, "a device runs recorded paths, and specialise is off", "or the device"),
        ({"style": "fast"}, "the style is 'fast'", "Style(threads=128)"),
        ({"style": {"threads": 32}}, "the style is {'threads': 32}", "Style(threads=128)"),
    ],
)
def test_mistakes_are_named(given: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        DeviceRows("aave", None, **{"rows": 4, "episodes": [1], "device": "emulated", **given})
    assert hint in str(raised.value.hint)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"most_leaves": 0}, "give a whole number from 1 to 255"),
        ({"most_leaves": 256}, "give a whole number from 1 to 255"),
        ({"bucket": -1}, "from 0 on; give None to sort all rows, 0 to sort none"),
        ({"threads": -1}, "from 32 to 1,024"),
        ({"threads": 0}, "from 32 to 1,024"),
        ({"threads": 5_000}, "from 32 to 1,024"),
        ({"threads": 100}, "a multiple of 32"),
        ({"threads": True}, "from 32 to 1,024"),
        ({"registers": -1}, "from 16 to 255; 0 takes as many as a thread needs"),
        ({"registers": 100_000}, "from 16 to 255"),
        ({"products": -1}, "from 0 on"),
    ],
)
def test_a_style_that_no_gpu_has_is_refused(given: dict[str, Any], hint: str) -> None:
    ((name, value),) = given.items()
    with pytest.raises(BadInteger, match=f"{name} is {value}") as raised:
        Style(**given)
    assert hint in str(raised.value.hint)
    assert Style(bucket=0, threads=1_024, registers=255, most_leaves=1, products=0).bucket == 0


@pytest.mark.slow(0.3)
def test_steps_are_refused_before_the_first_episode_and_with_other_actions() -> None:
    rows = DeviceRows("aave", {"horizon": 3}, 4, episodes=[40], device="emulated", threads=1)
    none = torch.zeros(4, dtype=torch.int64)
    with pytest.raises(UsageError, match="no episode has begun") as raised:
        rows.step(none)
    assert raised.value.hint == "call begin first"
    rows.begin()
    for actions, message in (
        (none[:3], r"the actions have the shape \(3,\)"),
        (none[:, None], r"the actions have the shape \(4, 1\)"),
        (none.numpy(), "the actions are of the type ndarray"),
        (none.to("meta"), "the actions are on meta, and the rows on cpu"),
    ):
        with pytest.raises(BadArgument, match=message) as refused:
            rows.step(actions)  # type: ignore[arg-type]
        assert refused.value.hint == "give a torch tensor of 4 int64 on cpu"
    rows.step(none)
    assert rows.steps.tolist() == [1] * 4
    rows.close()


@pytest.mark.slow(0.3)
def test_rows_that_do_not_fit_into_the_memory_that_emulates_a_device_are_refused() -> None:
    with pytest.raises(UsageError, match=r"needs .* GiB of the device's memory, .* GiB are free") as raised:
        DeviceRows("aave", {"horizon": 3}, 10**10, episodes=[40], device="emulated", threads=1)
    assert raised.value.hint == "take fewer rows or episodes"


@without_device
def test_a_machine_without_a_driver_says_so_after_the_environment() -> None:
    with pytest.raises(UsageError, match="no CUDA driver") as raised:
        DeviceRows("aave", None, 4, episodes=[1])
    assert str(raised.value.hint).endswith("or take make_vector, or make_cuda with fallback=True, for the processor")
    with pytest.raises(UsageError, match="'rwa' does not run on a device: it stands on no chain"):
        DeviceRows("rwa", None, 4, episodes=[1])


@pytest.mark.gpu
@needs_device
def test_too_little_memory_is_said_before_anything_is_allocated() -> None:
    with pytest.raises(UsageError, match=r"needs .* GiB of the device's memory"):
        made("aave", {}, "cuda", rows=1 << 30)


def test_an_emulated_kernel_counts_what_its_warps_do() -> None:
    rows = DeviceRows("aave", {"horizon": 6}, 32, episodes=[40], device="emulated", threads=1)
    alike, apart = torch.zeros(32, dtype=torch.int64), torch.arange(32) % int(rows.action_space.n)  # type: ignore[attr-defined]
    works = []
    for actions in (alike, apart):
        rows.begin()
        rows.parts[0].kernel.count()
        rows.step(actions)
        works.append(rows.parts[0].kernel.count())
    (instructions, wide, issued, loaded, stored), (mixed, _, waiting, *_) = works
    assert 32 * issued == instructions > wide > 0, "rows on one path take all lanes"
    assert 32 * waiting > 1.2 * mixed, "rows on other paths wait for each other"
    assert loaded % 32 == stored % 32 == 0 < loaded
    rows.close()


@pytest.mark.gpu
@needs_device
def test_a_gpu_does_not_count() -> None:
    rows = DeviceRows("aave", {"horizon": 6}, 32, episodes=[40], device="cuda", threads=1)
    with pytest.raises(DeviceError, match="'emulated' does"):
        rows.parts[0].kernel.count()
    rows.close()

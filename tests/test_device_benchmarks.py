"""Benchmarks of a GPU, on the emulator: what they compare is equal, and what they print is complete."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from benchmarks.device.calls import main as run_device
from benchmarks.device.paths import main as record_device_paths
from benchmarks.device.ppo import main as time_device_ppo
from benchmarks.device.rows import main as run_device_rows
from benchmarks.device.study import STUDIES
from benchmarks.device.study import main as study_device
from benchmarks.device.study import settings as study_settings
from benchmarks.device.totals import main as compare_totals
from benchmarks.device.work import main as count_device_work
from mayavi.rl.config import TrainConfig, read_config
from mayavi.rl.training.train import train


class TestDevice:
    @pytest.mark.slow(5)
    def test_recorded_calls_are_exact_on_the_emulator(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert record_device_paths([str(tmp_path), "--accounts", "120"]) == 0
        small = ["--rows", "1500", "--operands", "4", "--paths", "2", "--steps", "3"]
        assert run_device(["--device", "emulated", "--data", str(tmp_path), *small]) == 0
        lines = capsys.readouterr().out.splitlines()
        for call in ("getUserAccountData", "repay", "borrow"):
            assert any(line.startswith(f"{call}: EXACT on 1,500 rows") for line in lines), lines
        assert any("720 calls" in line and " 0 calls are left" in line for line in lines), lines
        assert lines[-1] == "everything is equal"


class TestDevicePpo:
    @pytest.mark.slow(6)
    def test_the_learner_is_timed_and_trains_the_same_weights_twice(self, capsys: pytest.CaptureFixture[str]) -> None:
        small = ["--stand-in", "--device", "emulated", "--rows", "64", "--updates", "1"]
        assert time_device_ppo(small) == 0
        assert time_device_ppo([*small, "--precision", "bf16", "--twice"]) == 0
        timed, same = capsys.readouterr().out.splitlines()
        assert timed.startswith("stand-in, 64 rows, network 64,64, 4 epochs, fp32: ")
        assert same == "64 rows, 1 updates, twice: the same weights"

    @pytest.mark.slow(10)
    def test_the_real_contracts_give_the_same_weights_twice_and_after_an_interruption(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        small = ["--device", "emulated", "--rows", "8", "--updates", "2", "--table", "12", "--rollout-steps", "3"]
        assert time_device_ppo([*small, "--twice"]) == 0
        assert capsys.readouterr().out.splitlines() == [
            "8 rows, 2 updates, twice: the same weights",
            "8 rows, interrupted and resumed: the same weights",
        ]


class TestDeviceTotals:
    @pytest.mark.slow(0.5)
    def test_sums_of_both_are_compared(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert compare_totals(["--device", "emulated", "--accounts", "8", "--scenarios", "1,5"]) == 0
        rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| 8")]
        assert [(row[0], row[1], row[-1]) for row in rows] == [("| 8", "1", "equal |"), ("| 8", "5", "equal |")]


class TestDeviceStudy:
    @pytest.mark.parametrize(("env", "file"), [("aave", "borrower"), ("aave-shock", "shock")])
    def test_its_trainings_have_the_settings_of_the_study_that_they_are_compared_with(
        self, env: str, file: str
    ) -> None:
        theirs = read_config(Path("docs/studies/configs") / f"{file}.yaml")
        ours = study_settings(env, 10**9, 1, "cuda", "replica").to_json()
        assert ours["env_config"] == theirs["env_config"]
        same = ("env", "algorithm", "learning_rate", "learning_rate_end", *STUDIES[env])
        assert {name: ours[name] for name in same} == {name: theirs[name] for name in same}

    def test_its_billion_steps_have_the_settings_of_the_configuration_on_its_page(self) -> None:
        file = TrainConfig.of(read_config(Path("docs/studies/configs/gpu.yaml"))).to_json()
        ours = study_settings("aave", 10**9, 0, "cuda", "replica").to_json()
        assert {name for name in ours if ours[name] != file[name]} == {"checkpoint_every_s", "checkpoint_every_steps"}

    def test_a_training_of_any_length_has_as_many_updates_as_the_rivals(self) -> None:
        for steps in (10**5, 10**6, 10**7, 10**8, 10**9):
            config = study_settings("aave", steps, 1, "cuda", "replica")
            assert steps / config.batch_size >= 32
            assert config.batch_size % config.minibatch_size == 0

    @pytest.mark.slow(10)
    def test_policies_of_a_device_are_judged_beside_others_on_the_same_episodes(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        archive, rivals = tmp_path / "gpu.zip", tmp_path / "rivals"
        for seeds in ("1", "2"):
            assert study_device(["train", str(archive), "--steps", "96", "--seeds", seeds, "--device", "emulated"]) == 0
        for seed in (1, 2):
            train(study_settings("aave", 96, seed, "cpu", "replica"), models=rivals)
        asked = ["--rivals", str(rivals), "--episodes", "20", "--figure", str(tmp_path / "regret.svg")]
        capsys.readouterr()
        assert study_device(["evaluate", str(archive), *asked]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].startswith("aave, test split, 20 episodes, reward net_wealth.")
        rows = {line.split("|")[1].strip(): line.split("|")[2:] for line in lines if line.startswith("| ")}
        assert rows["GPU"][0].strip() == "96"
        assert rows["GPU"][-2].strip() in {"better", "worse", "indistinguishable", "saturated"}
        assert float(rows["`optimum`"][3].split()[0]) <= float(rows["`noop`"][3].split()[0])
        assert "| | seed 1 | seed 2 |" in lines
        assert "</svg>" in (tmp_path / "regret.svg").read_text()

    def test_a_folder_without_trainings_is_named(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        with ZipFile(tmp_path / "gpu.zip", "w"):
            pass
        assert study_device(["evaluate", str(tmp_path / "gpu.zip"), "--rivals", str(tmp_path)]) == 2
        assert "there is nothing to compare" in capsys.readouterr().err


class TestDeviceRows:
    @pytest.mark.slow
    def test_rows_are_exact_on_the_emulator(self, capsys: pytest.CaptureFixture[str]) -> None:
        small = ["--rows", "32", "--episodes", "16", "--steps", "3", "--style", "bucket=32,threads=32"]
        assert run_device_rows(["--device", "emulated", "--env", "aave", *small]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].startswith("aave, discrete: 32 rows made in "), lines
        assert any(line.startswith("  EXACT on 96 steps") for line in lines), lines
        assert "M steps/s" in lines[-2]
        assert lines[-1].startswith("  kernels at the end: ")

    @pytest.mark.slow
    def test_what_bounds_the_kernels_is_counted(self, capsys: pytest.CaptureFixture[str]) -> None:
        small = ["--rows", "64", "--episodes", "16", "--steps", "1", "--rate", "3e8", "--registers", "168"]
        assert count_device_work(["--env", "aave", *small]) == 0
        lines = capsys.readouterr().out.splitlines()
        numbers = [float(word.strip("%").replace(",", "")) for word in lines[-3].split()[1:]]
        assert lines[-3].startswith("all ")
        assert 100 < numbers[0] <= numbers[2] <= 32 * numbers[0], lines
        assert lines[-2] == "part 1: 168 registers, 12 of 64 warps an SM"
        assert "of 16.7 T integer instructions/s" in lines[-1]

"""`mayavi train`: what it prints, what it keeps, what it refuses, and how it stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from mayavi.cli.rl.train import _train
from mayavi.cli.rl.train_output import heading
from mayavi.rl.config import TrainConfig
from mayavi.rl.training.progress import TrainProgress
from mayavi.rl.training.train import TrainedModel, trained_model
from tests.rl.training_runs.stored import stored_training

pytest.importorskip("stable_baselines3", reason="`pip install 'mayavi-sim[rl]'` installs stable-baselines3")

SMALL = (
    "--framework", "sb3", "--set", "num_envs=8", "--set", "rollout_steps=16", "--set", "minibatch_size=64",
    "--set", "network=[16, 16]", "--set", "horizon=6", "--set", "test_episodes=24",
)  # fmt: skip


def test_the_first_line_names_a_world_other_than_the_chains_own() -> None:
    config = TrainConfig(env="aave", framework="sb3", source="replica:ethereum@2025-12", timesteps=256)
    assert heading(config, "x") == "run x · aave · replica:ethereum@2025-12 · sb3 ppo · seed 0 · 256 steps"


@pytest.mark.slow
def test_a_policy_is_trained_and_kept_under_the_id_that_stands_first_and_last(run_mayavi, tmp_path: Path) -> None:
    options = ("train", "--env", "aave", *SMALL, "--timesteps", "256", "--seed", "5", "--models", str(tmp_path))
    finished = run_mayavi(*options)
    assert finished.returncode == 0, finished.stderr
    lines = finished.stdout.splitlines()
    (folder,) = tmp_path.iterdir()
    assert lines[0] == f"run {folder.name} · aave · sb3 ppo · seed 5 · 256 steps"
    assert lines[-1].startswith(f"{folder.name} · `mayavi artifact {folder.name} --models {tmp_path}`")
    assert "256 steps, " in lines[1]
    assert "aave · test split · drawn start · reward net_wealth · 24 episodes" in finished.stdout
    assert "ppo against repay_all: " in finished.stdout
    assert (folder / "final" / "checkpoint.json").is_file()

    again = run_mayavi(*options, "--no-eval", "--json")
    told = json.loads(again.stdout.splitlines()[-1])
    assert len(again.stdout.splitlines()) == 1  # the heading is not in the way of a program
    assert told["run_id"] in again.stderr
    assert told["evaluation"] is None
    assert not (tmp_path / told["run_id"] / "eval").exists()
    assert (told["steps"], told["config"]["seed"], told["config"]["env_config"]) == (256, 5, {"horizon": 6})
    from tests.rl.training.train_process import weights_digest

    assert weights_digest(folder.name, tmp_path) == weights_digest(told["run_id"], tmp_path)


def test_a_portfolio_waits_for_no_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    from mayavi.cli import run
    from mayavi.cli.rl.train import _prepare
    from mayavi.rl.config import TrainConfig

    opened: list[str] = []
    monkeypatch.setattr(run, "open_with_progress", lambda world: opened.append(world.chain))
    for env in ("rwa", "aave", "market"):
        _prepare(TrainConfig(env=env))
    assert opened == ["ethereum", "ethereum"]


@pytest.mark.slow
def test_a_file_gives_settings_and_options_win_over_it(run_mayavi, tmp_path: Path) -> None:
    file = tmp_path / "training.yaml"
    file.write_text("env: aave\nframework: sb3\nseed: 9\ngamma: 0.9\nenv_config:\n  start: fixed\n")
    options = ("train", "--config", str(file), *SMALL, "--timesteps", "128", "--set", "gamma=0.8", "--json")
    priced = {"MAYAVI_LOCAL_USD_PER_HOUR": "3.6"}
    told = json.loads(run_mayavi(*options, "--models", str(tmp_path / "m"), env=priced).stdout)
    assert told["steps"] == 128
    record = json.loads((tmp_path / "m" / told["run_id"] / "run.json").read_text())
    (session,) = record["sessions"]
    assert (session["where"], session["steps"], session["usd_per_hour"]) == ("local", 128, 3.6)
    assert told["cost"]["usd"] == session["cost_usd"] == pytest.approx(session["seconds"] / 1000, abs=1e-5)
    assert told["hardware"] == record["hardware"] == session["hardware"]
    assert told["steps_per_second"] == pytest.approx(128 / told["seconds"], rel=0.01)
    # It ends with an evaluation, so that it can be bundled and reported at once.
    evaluated = told["evaluation"]
    assert (evaluated["split"], evaluated["episodes"]) == ("test", 24)
    assert set(evaluated["verdicts"]) < set(evaluated["mean_rewards"])
    bundle = tmp_path / "bundle.zip"
    there = (told["run_id"], "--models", str(tmp_path / "m"))
    written = run_mayavi("artifact", *there, "--output", str(bundle), "--no-report", "--json")
    assert written.returncode == 0, written.stderr
    from mayavi.runs.bundle import read_bundle

    facts = read_bundle(bundle).facts["training"]
    assert (facts["hardware"], facts["cost"]) == (record["hardware"], record["cost"])
    assert facts["evaluations"] == [f"eval/{Path(evaluated['file']).name}"]
    report = run_mayavi("report", *there, "--out", str(tmp_path / "page.html"))
    assert report.returncode == 0, report.stderr
    page = (tmp_path / "page.html").read_text()
    assert record["hardware"]["cpu"] in page
    assert "steps a second" in page
    assert (tmp_path / "m" / told["run_id"] / "final" / "checkpoint.json").is_file()
    assert (told["config"]["seed"], told["config"]["gamma"]) == (9, 0.8)
    assert told["config"]["env_config"] == {"start": "fixed", "horizon": 6}


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ((), "no environment given", "mayavi train --env aave"),
        (("--env", "aav"), "unknown environment 'aav'", "did you mean 'aave'"),
        (("--env", "mayavi/AaveBorower-v0"), "unknown environment", "did you mean 'mayavi/AaveBorrower-v0'"),
        (("--env", "aave", "--set", "runners=65"), "65 runners cannot share 64 rows", "more num_envs"),
        (("--env", "aave", "--framework", "rlib"), "unknown framework 'rlib'", "did you mean 'rllib'?"),
        (("--env", "aave", "--algorithm", "pppo"), "unknown algorithm 'pppo'", "did you mean 'ppo'?"),
        (("--env", "aave", "--timesteps", "0"), "setting 'timesteps' is 0", ""),
        (("--env", "aave", "--recurrent", "--algorithm", "dqn"), "DQN has no recurrent form here", "take ppo"),
        (("--env", "aave", "--algorithm", "sac"), "SAC needs continuous actions", "--set actions=continuous"),
        (("--env", "aave", "--set", "world=base"), "unknown setting 'world'", "`--source replica:base`"),
        (("--env", "aave", "--set", "horizn=3"), "unknown setting 'horizn'", "did you mean 'horizon'"),
        (("--env", "aave", "--set", "start=fixd"), "setting 'start' is 'fixd'", ""),
        (("--env", "market", "--framework", "sb3"), "the market has several agents", "take --framework rllib"),
        (("--env", "market", "--framework", "fast"), "the market has several agents", "take --framework rllib"),
        (("--env", "aave", "--framework", "fast", "--recurrent"), "has no recurrent policies", "sb3 or rllib"),
        (("--env", "aave", "--framework", "fast", "--algorithm", "sac"), "trains PPO, not SAC", "sb3 or rllib"),
        (("--env", "aave", "--framework", "fast", "--ray", "auto"), "--ray needs RLlib; framework `fast`", "leave"),
        (("--env", "aave", "--device", "gpu"), "unknown device 'gpu'", "did you mean 'cuda'?"),
        (("--env", "market", "--device", "emulated"), "'market' does not run on a device", "leave the device out"),
        (("--env", "rwa", "--framework", "fast", "--device", "cuda"), "'rwa' does not run on a", "--device auto"),
        (("--env", "aave", "--remote", "moda"), "unknown remote 'moda'", "did you mean 'modal'?"),
        (("--env", "aave", "--source", "replic"), "unknown source 'replic'", "did you mean 'replica'"),
        (("--env", "aave", "--source", "snapshot:none.bin"), "there is no snapshot at 'none.bin'", ""),
        (("--env", "aave", "--framework", "sb3", "--ray", "auto"), "--ray needs RLlib", "leave --ray out"),
        (("--env", "aave", "--config", "none.yaml"), "there is no configuration at 'none.yaml'", "--config FILE"),
        (("--resume",), "no interrupted training in", "--timesteps N"),
        (("--resume", "abc"), "unknown training run 'abc'", "`mayavi train` makes one"),
        (("abc",), "a new training takes no run, but 'abc' was given", "mayavi train --resume abc"),
    ],
)  # fmt: skip
def test_misuse_is_told_with_the_way_out(run_mayavi, tmp_path: Path, options, message: str, hint: str) -> None:
    finished = run_mayavi("train", *options, "--models", str(tmp_path / "models"))
    assert finished.returncode == 2, finished.stderr
    assert message in finished.stderr
    assert hint in finished.stderr
    assert not list(tmp_path.glob("models/*"))  # nothing is begun that a later --resume would find
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize("framework", ["sb3", "rllib", "fast"])
def test_a_gpu_that_is_not_there_is_refused_before_anything_begins(run_mayavi, tmp_path: Path, framework: str) -> None:
    options = (
        "train",
        "--env",
        "aave",
        "--framework",
        framework,
        "--set",
        "device=cuda",
        "--models",
        str(tmp_path / "m"),
    )
    finished = run_mayavi(*options, env={"CUDA_VISIBLE_DEVICES": ""})
    assert finished.returncode == 2, finished.stderr
    assert "torch sees no GPU here" in finished.stderr
    assert "--device auto" in finished.stderr
    assert not (tmp_path / "m").exists()


def test_a_file_is_no_folder_of_models(run_mayavi, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    finished = run_mayavi("train", "--env", "aave", *SMALL, "--models", str(tmp_path / "file"))
    assert finished.returncode == 2
    assert "is not a folder, so no run can be kept there" in finished.stderr
    assert "--models FOLDER" in finished.stderr
    assert (tmp_path / "file").read_text() == "mine"


def test_the_ceiling_stops_it_with_the_figures(run_mayavi, tmp_path: Path) -> None:
    options = ("train", "--env", "aave", *SMALL, "--models", str(tmp_path / "models"), "--json")
    finished = run_mayavi(*options, env={"MAYAVI_LOCAL_GPU_MEM_GB_CEILING": "0.0001"})
    assert finished.returncode == 2
    told = json.loads(finished.stdout)
    assert "and may take 0.0001 GB" in told["error"]
    assert "MAYAVI_LOCAL_GPU_MEM_GB_CEILING" in told["hint"]
    assert not (tmp_path / "models").exists()


@pytest.mark.slow(1)
def test_a_framework_that_is_not_installed_is_told_with_its_extra(start_mayavi, tmp_path: Path) -> None:
    for framework, package in (("sb3", "stable_baselines3"), ("rllib", "ray")):
        (tmp_path / "sitecustomize.py").write_text(
            "import importlib.util\n"
            "there = importlib.util.find_spec\n"
            f"importlib.util.find_spec = lambda name, *rest: None if name == {package!r} else there(name, *rest)\n"
        )
        finished = start_mayavi(
            "train", "--env", "aave", "--framework", framework, "--models", str(tmp_path / "models"),
            env={"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        )  # fmt: skip
        assert finished.returncode == 1
        assert f"training with {framework} needs {package}, which is not installed" in finished.stderr
        assert "pip install 'mayavi-sim[rl]'" in finished.stderr


def test_an_interrupted_run_is_not_cut_short(run_mayavi, tmp_path: Path) -> None:
    folder = stored_training(tmp_path, "cut", status="interrupted")
    before = (folder.path / "run.json").read_bytes()
    for named in (("cut",), (str(folder.path),), ()):
        refused = run_mayavi("train", "--resume", *named, "--timesteps", "1000", "--models", str(tmp_path))
        assert refused.returncode == 2, refused.stderr
        assert "run cut has trained 1,024 timesteps already, and 1,000 are asked for" in refused.stderr
        assert f"`mayavi train --resume cut --models {tmp_path}` continues it to 2,000" in refused.stderr
    assert (folder.path / "run.json").read_bytes() == before


@pytest.mark.parametrize("last", [True, False], ids=["in-the-last-rollout", "after-it"])
def test_ctrl_c_at_the_end_keeps_the_training_and_leaves_the_evaluation_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, last: bool
) -> None:
    def train_on(*_: object, progress, begun, **__: object) -> TrainedModel:
        begun("done")
        progress(TrainProgress(1_024, 2_000, 0, None, 1.0))
        folder = stored_training(tmp_path, "done")
        signal.raise_signal(signal.SIGINT)
        if last:
            progress(TrainProgress(2_048, 2_000, 0, None, 1.0))
        return trained_model(folder, folder.config())

    monkeypatch.setattr("mayavi.rl.training.backend.train_on", train_on)
    monkeypatch.setattr("mayavi.cli.rl.train._prepare", lambda _: None)
    asked = TrainConfig(env="aave", timesteps=2_000)
    with pytest.raises(typer.Exit) as stopped:
        _train("local", asked, tmp_path, None, ray=None, say=print, there=" --models there")
    assert stopped.value.exit_code == 130
    told = capsys.readouterr().err
    assert f"the training is finished and kept in {tmp_path / 'done'}, without an evaluation" in told
    assert "`mayavi eval done --models there` evaluates it" in told


@pytest.mark.slow
def test_an_interruption_keeps_the_rollout_under_way_and_resume_goes_on(run_mayavi, tmp_path: Path) -> None:
    command = [sys.executable, "-u", "-m", "mayavi", "train", "--env", "aave", *SMALL, "--timesteps", "1000000",
               "--set", "checkpoint_every_steps=128", "--models", str(tmp_path)]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as training:
        assert training.stdout is not None
        run_id = training.stdout.readline().split()[1]
        while not (tmp_path / run_id / "checkpoints" / "128").is_dir():  # the first rollout is done, and learned from
            assert training.poll() is None
            time.sleep(0.02)
        os.killpg(training.pid, signal.SIGINT)
        _, errors = training.communicate(timeout=120)
    assert training.returncode == 130, errors
    assert "stopping after this rollout" in errors
    assert f"steps are kept in run {run_id}" in errors
    assert f"`mayavi train --resume {run_id} --models {tmp_path}` continues it" in errors
    record = json.loads((tmp_path / run_id / "run.json").read_text())
    assert record["status"] == "interrupted"
    kept = record["steps"]
    more = str(kept + 128)

    (tmp_path / run_id / "run.json").write_text(json.dumps(record | {"status": "failed"}))
    refused = run_mayavi("train", "--resume", "--timesteps", more, "--models", str(tmp_path))
    assert refused.returncode == 2
    assert "no interrupted training in" in refused.stderr
    assert f"the newest failed one goes on with `mayavi train --resume {run_id} --models {tmp_path}`" in refused.stderr
    (tmp_path / run_id / "run.json").write_text(json.dumps(record))

    resumed = run_mayavi("train", "--resume", "--timesteps", more, "--models", str(tmp_path), "--json")
    told = json.loads(resumed.stdout.splitlines()[-1])
    assert (told["run_id"], told["resumed_from"], told["exact"]) == (run_id, kept, True)
    finished = run_mayavi("train", "--resume", run_id, "--timesteps", more, "--models", str(tmp_path))
    assert finished.returncode == 2
    assert f"run {run_id} is finished" in finished.stderr
    assert f"`mayavi train --resume {run_id} --models {tmp_path} --timesteps " in finished.stderr
    other = run_mayavi("train", "--resume", run_id, "--timesteps", "9999", "--seed", "8", "--models", str(tmp_path))
    assert other.returncode == 2
    assert "has seed 0, and 8 is asked for" in other.stderr

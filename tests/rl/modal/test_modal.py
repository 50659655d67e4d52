"""Training on Modal without the call: the function runs through `.local()`, and a folder replaces the volume."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import sys
import time
import zipfile
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import modal
import pytest
import torch
from modal.cli._download import _volume_download
from modal.types import FileEntryType

from mayavi.errors import MayaviError, MemoryCeiling, RemoteError, SetupError, UsageError
from mayavi.rl.config import TrainConfig
from mayavi.rl.modal import app as modal_app
from mayavi.rl.modal import training as modal_training
from mayavi.rl.modal.cost_guard import MOST_TIMEOUT_S, Machine
from mayavi.rl.modal.training import explain_modal_errors, fetch_run, train_on_modal
from mayavi.rl.modal.volume import download, upload_data_files, upload_world
from mayavi.rl.models import open_model
from mayavi.rl.training.cost import describe_cost
from mayavi.rl.training.train import train
from mayavi.rl.training_runs.catalogue import list_trainings, open_training
from mayavi.rl.training_runs.comparison import compare_trainings
from mayavi.rl.training_runs.file_copies import digest_of, list_files
from tests.portfolio.backtest.worlds import past_market
from tests.rl.modal.folder_volume import FolderVolume, locally

pytestmark = pytest.mark.slow(1.5)

SETTINGS = {"env": "vesting", "framework": "sb3", "timesteps": 64, "num_envs": 4, "rollout_steps": 8, "seed": 3}
SETTINGS |= {"minibatch_size": 16, "epochs": 1, "checkpoint_every_steps": 32}


@pytest.fixture
def volume(tmp_path: Path) -> FolderVolume:
    return FolderVolume(tmp_path / "volume")


def weights(checkpoint: Path) -> dict[str, list[Any]]:
    """All weights of a policy."""
    with zipfile.ZipFile(checkpoint / "model.zip") as kept:
        found = torch.load(io.BytesIO(kept.read("policy.pth")), weights_only=True)
    return {name: tensor.tolist() for name, tensor in found.items()}


def test_a_model_trained_there_is_the_one_trained_here(volume: FolderVolume, tmp_path: Path) -> None:
    config, said, begun, seen = TrainConfig.of(SETTINGS), [], [], []
    done = train_on_modal(
        config,
        models=tmp_path / "models",
        volume=volume,
        call=locally,
        say=said.append,
        begun=begun.append,
        progress=seen.append,
    )
    assert said[0].startswith("Modal, at most $5.68: A10G")
    assert begun == [done.run_id]
    assert (seen[-1].steps, done.steps) == (64, 64)
    here = train(config, models=tmp_path / "local")
    assert weights(done.path / "final") == weights(here.path / "final")
    assert set(list_files(done.path)) - set(list_files(here.path)) <= {
        name for name in list_files(done.path) if name.startswith("logs/")
    }
    model = open_model(done.run_id, tmp_path / "models")
    assert model.config == config  # with the world's path on this machine
    assert model.record["world_digest"] == open_model(here.run_id, tmp_path / "local").record["world_digest"]
    assert model.make_env(2).rows == 2
    assert [each.name for each in (tmp_path / "models").iterdir()] == [done.run_id]
    (listed,) = list_trainings(tmp_path / "models")
    assert (listed.run_id, listed.status, listed.problem) == (done.run_id, "finished", "")
    assert compare_trainings(listed, open_training(here.path)).equal
    assert len(list((volume.path / "worlds").iterdir())) == 1
    # What it cost: from the start of the machine to its end, of the maximum that was shown before.
    (session,) = model.record["sessions"]
    assert (session["where"], session["most_usd"]) == ("modal", float(Machine().worst_case_usd))
    assert session["cost_usd"] == pytest.approx(session["seconds"] * float(Machine().usd_per_hour) / 3600, abs=2e-6)
    assert session["seconds"] >= model.record["seconds"]
    assert model.record["cost"]["usd"] == session["cost_usd"]
    assert describe_cost(done.record).endswith("of at most $5.68")
    assert describe_cost(open_model(here.run_id, tmp_path / "local").record) == ""


class Downloads:
    """The part of Modal's volume that `modal volume get` uses, over a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    async def iterdir(self, path: str) -> Any:
        for each in sorted((self.path / path.lstrip("/")).rglob("*")):
            kind = FileEntryType.DIRECTORY if each.is_dir() else FileEntryType.FILE
            yield SimpleNamespace(path=str(each.relative_to(self.path)), type=kind, size=each.stat().st_size)

    async def read_file(self, path: str) -> Any:
        yield (self.path / path).read_bytes()


def test_a_run_copied_by_hand_from_the_volume_is_used_like_any_other(
    volume: FolderVolume, tmp_path: Path, run_mayavi
) -> None:
    config, models = TrainConfig.of(SETTINGS), tmp_path / "models"
    world = upload_world(config, volume, tmp_path)
    request = modal_app.Request(config.to_json(), "run-1", world, usd_per_hour="3600", most_usd="5", requested="once")
    modal_app.train_in(volume.path, request, lambda: None)
    shutil.rmtree(volume.path / "worlds")  # nothing of the machine on Modal is needed here
    models.mkdir()
    asyncio.run(
        _volume_download(Downloads(volume.path), "run-1", models, overwrite=False, progress_cb=lambda **_: None)
    )
    assert open_model("run-1", models).config == config
    assert open_model("run-1", models).record["cost"]["most_usd"] == 5
    there = ("run-1", "--models", str(models))
    shown = json.loads(run_mayavi("eval", *there, "--episodes", "20", "--json").stdout)
    assert shown["models"][0]["steps"] == 64
    bundle = str(tmp_path / "bundle.zip")
    assert run_mayavi("artifact", *there, "--output", bundle, "--no-report").returncode == 0
    assert "verified: " in run_mayavi("artifact", "verify", bundle).stdout
    report = run_mayavi("report", *there, "--out", str(tmp_path / "page.html"))
    assert report.returncode == 0, report.stderr
    further = train(TrainConfig.of(config.to_json(), {"timesteps": 96}), models=models, resume="run-1")
    assert (further.steps, further.resumed_from, further.exact) == (96, 64, True)


def test_the_memory_there_is_the_limit_and_not_the_one_here(
    volume: FolderVolume, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[modal_app.Request] = []

    def refuse(machine: Machine, store: Any, request: modal_app.Request, poll: Any) -> dict[str, Any]:
        asked.append(request)
        return {"error": "that is enough", "hint": None}

    options: dict[str, Any] = {"models": tmp_path / "models", "volume": volume, "call": refuse, "say": lambda _: None}
    large = TrainConfig.of(SETTINGS, {"network": [16384, 16384]})
    monkeypatch.setenv("MAYAVI_LOCAL_GPU_MEM_GB_CEILING", "0.5")
    with pytest.raises(MemoryCeiling, match=r"may take 0\.5 GB"):
        train(large, models=tmp_path / "models")
    with pytest.raises(RemoteError, match="that is enough"):
        train_on_modal(large, **options)
    assert asked[0].environment["MAYAVI_LOCAL_GPU_MEM_GB_CEILING"] == "23"
    larger = TrainConfig.of(SETTINGS, {"network": [32768, 32768]})
    with pytest.raises(MemoryCeiling, match="the A10G on Modal has 23 GB") as refused:
        train_on_modal(larger, **options)
    assert "MAYAVI_MODAL_GPU=L40S has 47 GB" in (refused.value.hint or "")
    monkeypatch.setenv("MAYAVI_MODAL_GPU", "none")
    with pytest.raises(MemoryCeiling, match=r"the machine on Modal has 17\.2 GB of main memory"):
        train_on_modal(larger, **options)
    assert len(asked) == 1


def test_every_checkpoint_is_committed_and_the_next_attempt_goes_on(
    volume: FolderVolume, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = TrainConfig.of(SETTINGS)
    world = upload_world(config, volume, tmp_path)
    request = modal_app.Request(config.to_json(), "run-1", world)
    commits = []

    def dies() -> None:
        commits.append(json.loads((volume.path / "run-1" / "run.json").read_text())["steps"])
        if commits[-1] >= 32:
            raise RuntimeError("the machine is gone")

    with pytest.raises(RuntimeError, match="the machine is gone"):
        modal_app.train_in(volume.path, request, dies)
    assert commits[:2] == [0, 32]
    kept = volume.path / "run-1"
    for name, each in json.loads((kept / "manifest.json").read_text())["files"].items():
        assert digest_of(kept / name) == each["sha256"]

    assert modal_app.train_in(volume.path, request, lambda: None) == {"run_id": "run-1", "steps": 64}
    record = json.loads((kept / "run.json").read_text())
    assert [each["steps"] for each in record["resumes"]] == [32]
    assert record["resumes"][0]["exact"] is True
    undisturbed = train(config, models=tmp_path / "local")
    assert weights(kept / "final") == weights(undisturbed.path / "final")
    # A third attempt, after a lost answer, finds the run finished.
    assert modal_app.train_in(volume.path, request, pytest.fail)["steps"] == 64


def test_a_run_begun_here_is_finished_there(volume: FolderVolume, tmp_path: Path) -> None:
    config = TrainConfig.of(SETTINGS)
    models = tmp_path / "models"

    def stop(report: Any) -> None:
        if report.steps >= 32:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, models=models, progress=stop, run_id="begun-here")
    (models / "begun-here" / "eval").mkdir()
    (models / "begun-here" / "eval" / "mine.json").write_text("{}")
    done = train_on_modal(config, models=models, resume="begun-here", volume=volume, call=locally, say=lambda _: None)
    assert (done.run_id, done.steps, done.resumed_from, done.exact) == ("begun-here", 64, 32, True)
    assert (done.path / "eval" / "mine.json").read_text() == "{}"
    # A finished run is neither paid for nor trained again.
    again = train_on_modal(config, models=models, resume="begun-here", volume=volume, call=None, say=pytest.fail)
    assert again.steps == 64


def test_an_interrupted_download_leaves_nothing_half_and_goes_on(volume: FolderVolume, tmp_path: Path) -> None:
    config, models = TrainConfig.of(SETTINGS), tmp_path / "models"
    world = upload_world(config, volume, tmp_path)
    modal_app.train_in(volume.path, modal_app.Request(config.to_json(), "run-2", world), lambda: None)
    volume.breaks_at = "run-2/run.json"
    with pytest.raises(RemoteError, match="the download of run run-2 was interrupted: the line is dead") as error:
        download(volume, "run-2", models)
    assert "mayavi train --resume run-2 --remote modal" in str(error.value.hint)
    assert not (models / "run-2").exists()
    with pytest.raises(MayaviError):
        open_model("run-2", models)

    volume.breaks_at, volume.read = "", []
    found = fetch_run("run-2", models, volume=volume)
    assert found is not None
    assert found.read()["status"] == "finished"
    assert not any("final/model.zip" in path for path in volume.read)  # downloaded before the interruption
    assert fetch_run("run-2", models, volume=volume) is not None
    assert fetch_run("run-3", models, volume=volume) is None

    (volume.path / "run-2" / "final" / "model.zip").write_bytes(b"something else")
    shutil.rmtree(models)
    with pytest.raises(RemoteError, match="another hash than its manifest has"):
        download(volume, "run-2", models)
    assert not (models / "run-2").exists()


@pytest.mark.parametrize(
    "listed",
    [b"", b"[]", b'{"format": 1}', b'{"format": 1, "files": {"../../x": {"sha256": "", "bytes": 1}}}', b"\xff"],
)
def test_a_list_that_is_none_is_refused(volume: FolderVolume, tmp_path: Path, listed: bytes) -> None:
    (volume.path / "run").mkdir()
    (volume.path / "run" / "manifest.json").write_bytes(listed)
    with pytest.raises(RemoteError, match="manifest of 'run'"):
        download(volume, "run", tmp_path / "models")


def test_what_was_kept_before_a_failure_comes_home(volume: FolderVolume, tmp_path: Path) -> None:
    def dies(machine: Machine, store: Any, request: modal_app.Request, poll: Any) -> dict[str, Any]:
        def lost() -> None:
            if json.loads((volume.path / request.run_id / "run.json").read_text())["steps"] >= 32:
                raise RuntimeError("preempted")

        try:
            modal_app.train_in(volume.path, request, lost)
        except RuntimeError:
            raise modal.exception.FunctionTimeoutError("too long") from None
        raise AssertionError

    said, models = [], tmp_path / "models"
    with pytest.raises(RemoteError, match="time on Modal was used up") as error:
        train_on_modal(TrainConfig.of(SETTINGS), models=models, volume=volume, call=dies, say=said.append)
    assert "--resume RUN --remote modal" in str(error.value.hint)
    assert "what the volume holds of it is in" in said[-1]
    assert [each.steps for each in open_model("latest", models).checkpoints()] == [32]


def test_what_is_refused_there_comes_back_as_it_is_and_is_not_tried_again(volume: FolderVolume, tmp_path: Path) -> None:
    asked = modal_app.Request(
        TrainConfig.of(SETTINGS).to_json(), "run", "worlds/none.snapshot", volume=str(volume.path)
    )
    answer = modal_app.train_on_volume(modal_app.as_arguments(asked))
    assert answer["kind"] == "UsageError"
    assert "there is no snapshot at" in answer["error"]
    with pytest.raises(RemoteError, match="on Modal: there is no snapshot"):
        train_on_modal(
            TrainConfig.of(SETTINGS), models=tmp_path, volume=volume, call=lambda *_: answer, say=lambda _: None
        )


@pytest.mark.parametrize("listed", [False, True])
def test_the_files_of_a_market_travel_along_and_its_record_names_them_as_here(
    volume: FolderVolume, tmp_path: Path, listed: bool
) -> None:
    whole = str(past_market(tmp_path))
    data = f"eth_price={whole}:eth_price, btc_price={whole}:btc_price@1, fed_rate={whole}:fed_rate" if listed else whole
    settings = SETTINGS | {"env": "rwa", "env_config": {"data": data, "horizon": 24}}
    config, deleted = TrainConfig.of(settings), tmp_path / "elsewhere.csv"

    def on_another_machine(*given: Any) -> dict[str, Any]:
        Path(whole).rename(deleted)  # only the uploaded files exist there
        try:
            return locally(*given)
        finally:
            deleted.rename(whole)

    half = TrainConfig.of(settings | {"timesteps": 32})
    options = {"models": tmp_path / "models", "volume": volume, "call": on_another_machine, "say": lambda _: None}
    begun = train_on_modal(half, **options)
    done = train_on_modal(config, resume=begun.run_id, **options)
    assert not (volume.path / modal_app.WORLDS).exists()  # a portfolio needs no chain
    assert len(list((volume.path / modal_app.FILES).iterdir())) == 1
    assert done.steps == 64
    assert open_model(done.run_id, tmp_path / "models").config.env_config["data"] == data
    here = train(config, models=tmp_path / "local")
    assert weights(done.path / "final") == weights(here.path / "final")


def test_recorded_rollouts_travel_along(volume: FolderVolume, tmp_path: Path) -> None:
    from mayavi.rl.rollouts.recording import RolloutSettings, record_baseline

    file = tmp_path / "random.parquet"
    record_baseline("rwa", "equal_weight", file, RolloutSettings(2), config={"actions": "continuous", "horizon": 4})
    config = TrainConfig.of(
        {"env": "rwa", "algorithm": "cql", "rollouts": str(file), "env_config": {"actions": "continuous", "horizon": 4}}
    )
    places = upload_data_files(config, volume)
    request = modal_app.Request(config.to_json(), "run", None, places)
    there = TrainConfig.of(request.config, modal_app._paths_in_volume(volume.path, request))
    assert there.rollouts is not None
    assert Path(there.rollouts).is_relative_to(volume.path)
    assert Path(there.rollouts).read_bytes() == file.read_bytes()
    assert there.env_config == config.env_config


def test_a_node_is_not_asked_from_there(volume: FolderVolume, tmp_path: Path) -> None:
    config = TrainConfig.of(SETTINGS, {"source": "rpc"})
    with pytest.raises(UsageError, match="asks no node") as error:
        train_on_modal(config, models=tmp_path, volume=volume, call=lambda *_: {}, say=lambda _: None)
    assert "mayavi snapshot warm --env vesting" in str(error.value.hint)


def test_the_function_has_the_limits_that_are_counted() -> None:
    machine = Machine.from_environment({"MAYAVI_MODAL_GPU": "L4", "MAYAVI_MODAL_ATTEMPTS": "3"})
    options: dict[str, Any] = {}
    app = SimpleNamespace(function=lambda **given: options.update(given) or (lambda function: function))
    assert modal_app.modal_function(app, machine, "the volume", "the image") is modal_app.train_on_volume
    assert (options["gpu"], options["timeout"], options["startup_timeout"]) == ("L4", 4500, 300)
    assert (options["cpu"], options["memory"]) == ((4.0, 4.0), (16_384, 16_384))
    assert (options["retries"].max_retries, options["single_use_containers"]) == (2, True)
    assert options["volumes"] == {"/models": "the volume"}


def test_the_image_holds_this_project_as_it_is_installed_here() -> None:
    found = modal_app.requirements()
    names = {each.partition("==")[0] for each in found}
    assert {"numpy", "torch", "gymnasium", "stable-baselines3", "ray[rllib]"} <= names
    assert all("==" in each and "+" not in each for each in found)
    # Builds only the description of the app; Modal builds the rest on the first call.
    app, function = modal_app.build_app(Machine(), modal_app.open_volume())
    assert app.name == "mayavi"
    assert isinstance(function, modal.Function)
    modal_app.check_platform("Linux", "x86_64")
    with pytest.raises(SetupError, match="built for Darwin on arm64"):
        modal_app.check_platform("Darwin", "arm64")


def test_the_call_is_waited_for_and_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Any] = [TimeoutError(), TimeoutError(), {"run_id": "run", "steps": 1}]
    asked, polled = [], []

    def get(timeout: float) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    app = SimpleNamespace(run=nullcontext)
    function = SimpleNamespace(spawn=lambda request: asked.append(request) or SimpleNamespace(get=get))
    monkeypatch.setattr(modal_training, "build_app", lambda machine, volume: (app, function))
    request = modal_app.Request({}, "run", "worlds/a.snapshot")
    found = modal_training.call_modal(Machine(), None, request, lambda: polled.append(1))
    assert (found["steps"], len(polled)) == (1, 2)
    assert asked == [modal_app.as_arguments(request)]


def test_a_machine_counts_from_the_start_of_its_container(monkeypatch: pytest.MonkeyPatch) -> None:
    import psutil

    monkeypatch.setattr(modal, "is_local", lambda: False)
    began, now = psutil.Process(1).create_time(), time.time()
    found = modal_app._machine_start()
    if now - began < MOST_TIMEOUT_S - 60:
        assert found == pytest.approx(began, abs=5)
    elif now - began > MOST_TIMEOUT_S + 60:  # no machine on Modal is that old
        assert found == pytest.approx(now, abs=5)


def test_without_modal_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "modal", None)
    with pytest.raises(SetupError, match="needs modal") as error:
        modal_app.import_modal()
    assert "mayavi-sim[rl]" in str(error.value.hint)


def test_without_an_account_it_says_how_to_get_one() -> None:
    with pytest.raises(SetupError, match="Token missing") as error, explain_modal_errors():
        raise modal.exception.AuthError("Token missing. Could not authenticate client.")
    assert "modal token new" in str(error.value.hint)
    with pytest.raises(RemoteError, match="ConnectionError: no route"), explain_modal_errors():
        raise modal.exception.ConnectionError("no route")


def test_the_command_without_an_account_spends_nothing_and_leaves_nothing(run_mayavi, tmp_path: Path) -> None:
    nobody = {"MODAL_CONFIG_PATH": str(tmp_path / "none.toml"), "MODAL_TOKEN_ID": "", "MODAL_TOKEN_SECRET": ""}
    options = ("--env", "vesting", "--framework", "sb3", "--timesteps", "64", "--models", str(tmp_path / "models"))
    done = run_mayavi("train", *options, env=nobody | {"MAYAVI_RL_BACKEND": "modal"})
    assert done.returncode == 1, done.stdout
    assert "Modal, at most $5.68" in done.stdout
    assert "modal token new" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "models").exists()
    here = run_mayavi("train", *options, "--remote", "local", "--json", env=nobody | {"MAYAVI_RL_BACKEND": "modal"})
    assert here.returncode == 0, here.stderr
    assert json.loads(here.stdout)["steps"] >= 64

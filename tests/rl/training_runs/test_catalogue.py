"""Trainings of a folder: listed newest first, damaged ones with the reason; removed one by one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mayavi.errors import AmbiguousName, UnknownRun, UsageError
from mayavi.rl.training_runs.catalogue import (
    continuation,
    find_training,
    list_trainings,
    open_training,
    remove_trainings,
    score_note,
)
from mayavi.rl.training_runs.comparison import compare_trainings
from mayavi.rl.training_runs.folder import RunFolder
from tests.rl.training_runs.stored import stored_evaluation, stored_training

OLD, NEW, NEWEST = "20260101-000000000-aaaaaaaa", "20260201-000000000-bbbbbbbb", "20260301-000000000-cccccccc"


def test_trainings_are_listed_newest_first_with_their_status(tmp_path: Path) -> None:
    stored_training(tmp_path, OLD, started_at="2026-01-01T00:00:00Z", config={"seed": 4})
    running = stored_training(tmp_path, "mine", status="training", started_at="2026-02-01T00:00:00Z")
    stored_training(tmp_path, NEWEST, status="training", started_at="2026-03-01T00:00:00Z")
    (tmp_path / ".downloads" / "other").mkdir(parents=True)
    (tmp_path / "notes").mkdir()
    (tmp_path / "file.txt").write_text("mine")
    with running.held():
        found = list_trainings(tmp_path)
        assert [(each.run_id, each.status) for each in found] == [
            (NEWEST, "interrupted"), ("mine", "training"), (OLD, "finished"),
        ]  # fmt: skip
    summary = found[-1].summary()
    assert {name: summary[name] for name in ("env", "framework", "algorithm", "seed", "steps", "timesteps")} == {
        "env": "aave", "framework": "sb3", "algorithm": "ppo", "seed": 4, "steps": 2_048, "timesteps": 2_000,
    }  # fmt: skip
    assert summary["started_at"] == "2026-01-01T00:00:00Z"
    assert json.loads(json.dumps(summary)) == summary
    assert list_trainings(tmp_path / "nowhere") == []


def _record(change: Callable[[dict], object]) -> Callable[[RunFolder], None]:
    def damage(folder: RunFolder) -> None:
        record = json.loads((folder.path / "run.json").read_text())
        change(record)
        (folder.path / "run.json").write_text(json.dumps(record))

    return damage


DAMAGES: list[tuple[str, Callable[[RunFolder], object], str]] = [
    ("half a record", lambda folder: os.truncate(folder.path / "run.json", 100), "cannot be read"),
    ("no record", lambda folder: (folder.path / "run.json").unlink(), "holds no training run"),
    ("a list", lambda folder: (folder.path / "run.json").write_text("[1, 2]"), "cannot be read"),
    ("text in another encoding", lambda folder: (folder.path / "run.json").write_bytes(b"\xff\xfe"), "cannot be read"),
    ("a folder", lambda folder: ((folder.path / "run.json").unlink(), (folder.path / "run.json").mkdir()), "cannot"),
    ("no status", _record(lambda record: record.pop("status")), "lacks 'status'"),
    ("no settings", _record(lambda record: record.pop("config")), "lacks 'config'"),
    ("settings of another kind", _record(lambda record: record.update(config=[])), "lacks env"),
    ("no seed", _record(lambda record: record["config"].pop("seed")), "lacks seed"),
    ("no steps", _record(lambda record: record.pop("steps")), "lacks steps"),
    ("a newer format", _record(lambda record: record.update(format=99)), "format 99"),
    ("no final checkpoint", lambda folder: folder.final_path.rename(folder.path / "gone"), "checkpoint is missing"),
    ("half a manifest", lambda folder: os.truncate(folder.final_path / "checkpoint.json", 9), "cannot be read"),
    ("no weights", lambda folder: (folder.final_path / "model.zip").unlink(), "the final checkpoint lacks model.zip"),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "problem"), [each[1:] for each in DAMAGES], ids=[each[0] for each in DAMAGES])
def test_a_damaged_training_is_listed_with_the_reason_beside_the_others(
    tmp_path: Path, damage: Callable[[RunFolder], object], problem: str
) -> None:
    stored_training(tmp_path, OLD)
    damage(stored_training(tmp_path, NEW))
    found = {each.run_id: each for each in list_trainings(tmp_path)}
    assert found[OLD].status == "finished"
    assert found[NEW].status == "damaged"
    assert problem in found[NEW].problem
    assert found[NEW].summary()["problem"] == found[NEW].problem
    assert continuation(found[NEW]).startswith("nothing: ")
    remove_trainings([found[NEW]])
    assert [each.run_id for each in list_trainings(tmp_path)] == [OLD]


def test_evaluations_under_noise_or_on_another_world_are_no_score_and_say_so(tmp_path: Path) -> None:
    folder = stored_training(tmp_path, OLD)
    own = str(folder.read()["world_digest"])
    for name, world, noise in (("a", own, 0.0), ("b", own, 0.5), ("c", "f" * 64, 0.0), ("d", "f" * 64, 0.5)):
        stored_evaluation(folder, name, "test", 0.125 + noise, world=world, noise=noise)
    training = open_training(folder.path)
    assert training.summary()["score"] == {"of": "test", "mean_reward": 0.125, "episodes": 200}
    assert {name: each.how for name, each in training.evaluations().items()} == {
        "a": "",
        "b": "under noise",
        "c": "on another world",
        "d": "under noise, on another world",
    }
    assert training.evaluations()["b"].to_json()["how"] == "under noise"


def test_the_score_is_the_newest_evaluation_else_the_validation_else_that_of_training(tmp_path: Path) -> None:
    folder = stored_training(tmp_path, OLD)
    assert open_training(folder.path).summary()["score"] == {"of": "training", "mean_reward": 0.25, "episodes": None}
    folder.write(folder.read() | {"best": {"steps": 512, "mean_reward": 0.5, "episodes": 64}})
    assert open_training(folder.path).summary()["score"] == {"of": "validation", "mean_reward": 0.5, "episodes": 64}
    older = stored_evaluation(folder, "b", "train", 0.75)
    os.utime(older, (1, 1))
    stored_evaluation(folder, "a", "test", 0.125)
    assert open_training(folder.path).summary()["score"] == {"of": "test", "mean_reward": 0.125, "episodes": 200}
    (folder.eval_path / "a.json").write_text("{")  # a damaged one counts for nothing
    assert open_training(folder.path).summary()["score"] == {"of": "train", "mean_reward": 0.75, "episodes": 200}
    folder.write(folder.read() | {"best": None, "mean_reward": None})
    older.unlink()
    assert open_training(folder.path).summary()["score"] is None


def test_an_evaluation_of_other_steps_than_are_trained_says_so(tmp_path: Path) -> None:
    folder = stored_training(tmp_path, OLD)
    assert score_note(open_training(folder.path)) == ""
    stored_evaluation(folder, "a", "test", 0.125, steps=2_048)
    assert score_note(open_training(folder.path)) == ""
    folder.write(folder.read() | {"steps": 30_720})  # trained further
    assert open_training(folder.path).summary()["score"] == {
        "of": "test", "mean_reward": 0.125, "episodes": 200, "steps": 2_048,
    }  # fmt: skip
    assert score_note(open_training(folder.path)) == (
        f"{OLD}: its newest evaluation is of 2,048 steps, and 30,720 are trained; "
        f"`mayavi eval {OLD} --models {tmp_path}` makes a new one"
    )


def test_a_training_is_found_by_a_part_of_its_id_or_its_folder(tmp_path: Path) -> None:
    for each, moment in ((OLD, "01"), (NEW, "02"), ("zz-first", "00")):
        stored_training(tmp_path, each, started_at=f"2026-{moment}-01T00:00:00Z")
    assert find_training("20260101", tmp_path).run_id == OLD
    assert find_training("bbbb", tmp_path).run_id == NEW
    assert find_training("latest", tmp_path).run_id == NEW  # by its time, not by its name
    assert find_training(str(tmp_path / OLD), tmp_path / "other").run_id == OLD
    with pytest.raises(AmbiguousName, match="'2026' fits 2 trainings"):
        find_training("2026", tmp_path)
    with pytest.raises(UnknownRun, match="unknown training 'zz-frist'") as unknown:
        find_training("zz-frist", tmp_path)
    assert "did you mean 'zz-first'?" in str(unknown.value.hint)
    assert "`mayavi trainings list`" in str(unknown.value.hint)
    with pytest.raises(UnknownRun, match="there is no training at"):
        find_training(str(tmp_path), tmp_path)
    with pytest.raises(UnknownRun, match="unknown training 'x'") as empty:
        find_training("x", tmp_path / "other")
    assert "`mayavi train` makes one" in str(empty.value.hint)


def test_exactly_the_named_ones_are_removed_and_none_while_one_is_running(tmp_path: Path) -> None:
    models = tmp_path / "models"
    for each in (OLD, NEW, NEWEST, f"{OLD}-longer"):
        stored_training(models, each)
    running = RunFolder(models / NEW)
    with running.held(), pytest.raises(UsageError, match=f"training {NEW} is running") as refused:
        remove_trainings([find_training(OLD, models), find_training(NEW, models)])
    assert "nothing was removed" in str(refused.value.hint)
    assert len(list_trainings(models)) == 4
    remove_trainings([find_training(OLD, models), find_training(NEW, models)])
    assert {each.name for each in models.iterdir()} == {NEWEST, f"{OLD}-longer"}

    elsewhere = stored_training(tmp_path / "shelf", "kept")
    (models / "link").symlink_to(elsewhere.path)
    remove_trainings([find_training("link", models)])
    assert not (models / "link").exists()
    assert (elsewhere.final_path / "model.zip").is_file()


def test_what_continues_a_training_is_told(tmp_path: Path) -> None:
    finished = open_training(stored_training(tmp_path, OLD).path)
    stopped = stored_training(tmp_path, NEW, status="interrupted")
    assert continuation(finished) == f"`mayavi train --resume {OLD} --timesteps 4000` trains it further"
    assert continuation(open_training(stopped.path), tmp_path) == (
        f"`mayavi train --resume {NEW} --models {tmp_path}` continues it"
    )
    short = stored_training(tmp_path, NEWEST, config={"timesteps": 100})  # one rollout is 2,048 steps
    assert continuation(open_training(short.path)).endswith("--timesteps 4096` trains it further")
    stopped.write(stopped.read() | {"status": "training"})
    with stopped.held():
        assert continuation(open_training(stopped.path)) == "it is being trained now"


def test_two_trainings_are_compared_without_what_always_differs(tmp_path: Path) -> None:
    one = stored_training(tmp_path, OLD, config={"env_config": {"reward": "carry"}})
    two = stored_training(tmp_path, NEW, config={"env_config": {"reward": "carry"}}, seconds=99.0)
    found = compare_trainings(open_training(one.path), open_training(two.path))
    assert found.equal
    changed = {"learning_rate": 0.01, "env_config": {"horizon": 6}}
    other = stored_training(
        tmp_path, NEWEST, config=changed, mean_reward=0.5, versions={"mayavi": "0.1.0", "torch": "2.9.0"}
    )
    stored_evaluation(one, "a", "test", 1.0)
    stored_evaluation(other, "b", "test", 2.0)
    found = compare_trainings(open_training(one.path), open_training(other.path))
    assert found.to_json() == {
        "before": OLD,
        "after": NEWEST,
        "equal": False,
        "settings": {
            "learning_rate": [0.0003, 0.01],
            "env.reward": ["carry", "default"],
            "env.horizon": ["default", 6],
        },
        "versions": {"torch": ["2.9.1", "2.9.0"]},
        "results": {"mean_reward": [0.25, 0.5], "test.mean_reward": [1.0, 2.0]},
    }

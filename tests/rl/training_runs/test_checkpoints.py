"""Checkpoints are written atomically, verified, and belong to one run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

pytest.importorskip("gymnasium", reason="gymnasium is not installed; `pip install 'mayavi-sim[rl]'` installs it")

from mayavi.errors import CheckpointError, UnknownRun, UsageError
from mayavi.rl.training_runs.checkpoints import (
    Checkpoint,
    drop_resume_files,
    list_checkpoints,
    read_checkpoint,
    write_checkpoint,
)
from mayavi.rl.training_runs.folder import RunFolder, find_run, models_path

FACTS = {"steps": 4096, "episodes": 7, "only_to_resume": ["rows.json"]}


def filled(path: Path) -> None:
    (path / "weights").write_bytes(b"12345")
    (path / "rows.json").write_text("{}")
    (path / "deep").mkdir()
    (path / "deep" / "more").write_bytes(b"6")


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "4096", FACTS, filled)
    found = read_checkpoint(tmp_path / "4096")
    assert (found.steps, found.name, found.resumable) == (4096, "4096", True)
    assert set(found.facts["files"]) == {"weights", "rows.json", "deep/more"}
    assert [each.name for each in list_checkpoints(tmp_path)] == ["4096"]


def test_one_that_was_being_written_when_the_process_died_is_none(tmp_path: Path) -> None:
    def dies(path: Path) -> None:
        filled(path)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_checkpoint(tmp_path / "4096", FACTS, dies)
    assert list_checkpoints(tmp_path) == []
    write_checkpoint(tmp_path / "4096", FACTS, filled)
    assert [each.name for each in list_checkpoints(tmp_path)] == ["4096"]


def test_one_that_did_not_arrive_whole_is_refused_with_what_is_wrong(tmp_path: Path) -> None:
    place = write_checkpoint(tmp_path / "4096", FACTS, filled).path
    (place / "deep" / "more").write_bytes(b"7")
    with pytest.raises(CheckpointError, match=r"deep/more of '.*' is not what was written"):
        read_checkpoint(place)
    (place / "deep" / "more").unlink()
    with pytest.raises(CheckpointError, match="lacks deep/more") as refused:
        read_checkpoint(place)
    assert "copy it again" in (refused.value.hint or "")
    (place / "checkpoint.json").write_text('{"format": 1, "fi')
    with pytest.raises(CheckpointError, match="cannot be read"):
        read_checkpoint(place)
    (place / "checkpoint.json").unlink()
    with pytest.raises(CheckpointError, match="there is no checkpoint at"):
        read_checkpoint(place)


def test_one_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    place = write_checkpoint(tmp_path / "4096", FACTS, filled).path
    newer = json.loads((place / "checkpoint.json").read_text()) | {"format": 99}
    (place / "checkpoint.json").write_text(json.dumps(newer))
    with pytest.raises(CheckpointError, match="has format 99, and this mayavi reads formats up to 1"):
        read_checkpoint(place)


def test_an_older_one_keeps_what_plays_and_loses_what_only_resumes(tmp_path: Path) -> None:
    found = write_checkpoint(tmp_path / "4096", FACTS, filled)
    drop_resume_files(found)
    left: Checkpoint = read_checkpoint(found.path)
    assert not left.resumable
    assert set(left.facts["files"]) == {"weights", "deep/more"}
    assert not (found.path / "rows.json").exists()


def test_a_run_that_says_it_trains_and_does_not_is_interrupted(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "one")
    with folder.held():
        folder.write({"status": "training", "config": {}})
        assert folder.read()["status"] == "training"
        child = os.fork()
        if child == 0:  # another process cannot take it
            try:
                with RunFolder(tmp_path / "one").held():
                    os._exit(0)
            except UsageError:
                os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert folder.read()["status"] == "interrupted"


def test_a_run_is_found_by_its_id_its_beginning_its_end_its_folder_or_latest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("20250101-000000000-aaaaaaaa", "20250102-000000000-bbbbbbbb"):
        (tmp_path / name).mkdir()
        RunFolder(tmp_path / name).write({"status": "finished"})
    for named in ("20250102", "bbbbbbbb", "latest", str(tmp_path / "20250102-000000000-bbbbbbbb")):
        assert find_run(named, tmp_path).run_id == "20250102-000000000-bbbbbbbb"
    with pytest.raises(UnknownRun, match="unknown training run '20259'"):
        find_run("20259", tmp_path)
    with pytest.raises(UnknownRun, match="unknown training run 'x'") as refused:
        find_run("x", tmp_path / "nowhere")
    assert "`mayavi train` makes one" in (refused.value.hint or "")
    monkeypatch.setenv("MAYAVI_MODELS", str(tmp_path / "elsewhere"))
    assert models_path() == tmp_path / "elsewhere"
    assert models_path("here") == Path("here")
    monkeypatch.delenv("MAYAVI_MODELS")
    assert models_path() == Path("data/models")

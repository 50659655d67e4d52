"""`mayavi artifact`: a run as one file, and the proof that it can be had again."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def kept(run_mayavi, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A store with one short run, and its id."""
    store = tmp_path_factory.mktemp("store") / "runs.duckdb"
    done = run_mayavi("run", "aave_borrower", "--steps", "3", "--seed", "5", "--store", str(store), "--json")
    assert done.returncode == 0, done.stderr
    return store, json.loads(done.stdout.splitlines()[-1])["run_id"]


@pytest.mark.slow
def test_a_bundle_is_written_and_verified(run_mayavi, kept: tuple[Path, str], tmp_path: Path) -> None:
    store, run_id = kept
    written = run_mayavi("artifact", run_id, "--store", str(store), "--json", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    document = json.loads(written.stdout)
    assert document["bundle"] == f"aave_borrower-{run_id}.zip"
    again = run_mayavi("artifact", "write", run_id, "--output", str(tmp_path / "b.zip"), "--store", str(store))
    assert document["sha256"] in again.stdout
    verified = run_mayavi("artifact", "verify", document["bundle"], cwd=tmp_path)
    assert verified.returncode == 0, verified.stderr
    assert "verified: the run gave the same rows again" in verified.stdout
    assert list(tmp_path.glob("data")) == []  # running it again stores nothing


@pytest.mark.slow(1)
def test_a_bundle_of_another_outcome_is_not_verified(run_mayavi, kept: tuple[Path, str], tmp_path: Path) -> None:
    store, run_id = kept
    run_mayavi("artifact", run_id, "--output", str(tmp_path / "b.zip"), "--store", str(store))
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(files["manifest.json"])
    manifest["run"]["seed"] = 6  # a claim that these rows came from another seed
    files["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(tmp_path / "forged.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    refused = run_mayavi("artifact", "verify", str(tmp_path / "forged.zip"), "--json")
    document = json.loads(refused.stdout)
    assert (refused.returncode, document["verified"]) == (1, False)
    assert {check["name"]: check["equal"] for check in document["checks"]}["world before"] is True


def test_what_is_no_bundle_and_no_run_is_refused(run_mayavi, kept: tuple[Path, str], tmp_path: Path) -> None:
    store, _ = kept
    (tmp_path / "b.zip").write_bytes(b"PK garbage")
    damaged = run_mayavi("artifact", "verify", str(tmp_path / "b.zip"))
    assert damaged.returncode == 1
    assert "is not a bundle, or is damaged" in damaged.stderr
    absent = run_mayavi("artifact", "verify", str(tmp_path / "none.zip"))
    assert absent.returncode == 2
    unknown = run_mayavi("artifact", "nothing", "--store", str(store))
    assert unknown.returncode == 2
    assert "unknown run 'nothing'" in unknown.stderr
    assert "of trainings: " in unknown.stderr
    nowhere = run_mayavi("artifact", "latest", "--output", str(tmp_path / "a" / "b.zip"), "--store", str(store))
    assert nowhere.returncode == 2
    assert "there is no folder" in nowhere.stderr


@pytest.mark.slow(0.5)
def test_a_run_on_another_block_is_verified_there(run_mayavi, tmp_path: Path) -> None:
    store, bundle = str(tmp_path / "runs.duckdb"), str(tmp_path / "dated.zip")
    assert run_mayavi("run", "aave_borrower", "--block", "17666333", "--store", store).returncode == 0
    assert run_mayavi("artifact", "latest", "--store", store, "--no-report", "--output", bundle).returncode == 0
    finished = run_mayavi("artifact", "verify", bundle)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "verified: the run gave the same rows again" in finished.stdout

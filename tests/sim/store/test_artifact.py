"""A run as one file: the same bytes for the same run, and nothing in it can be changed unseen."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from mayavi.errors import BundleError, UsageError
from mayavi.sim.store import Store
from mayavi.sim.store.artifact import Outcome, read_artifact, verify_artifact, write_artifact
from tests.sim.store.sample_runs import actions_of, store_run


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    info = store_run(tmp_path / "runs.duckdb")
    write_artifact(Store(tmp_path / "runs.duckdb"), info.run_id, tmp_path / "bundle.zip")
    return tmp_path / "bundle.zip"


def rewritten(bundle: Path, changes: dict[str, bytes | None]) -> Path:
    """The same bundle with other files."""
    with zipfile.ZipFile(bundle) as archive:
        files = {name: archive.read(name) for name in archive.namelist()} | changes
    target = bundle.with_name("rewritten.zip")
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            if content is not None:
                archive.writestr(name, content)
    return target


@pytest.mark.slow(0.3)
def test_two_runs_to_the_same_rows_give_the_same_bytes(tmp_path: Path, bundle: Path) -> None:
    again = store_run(tmp_path / "elsewhere.duckdb")
    digest = write_artifact(Store(tmp_path / "elsewhere.duckdb"), again.run_id, tmp_path / "again.zip")
    assert bundle.read_bytes() == (tmp_path / "again.zip").read_bytes()
    assert len(digest) == 64
    other = store_run(tmp_path / "elsewhere.duckdb", seed=8)
    assert write_artifact(Store(tmp_path / "elsewhere.duckdb"), other.run_id, tmp_path / "other.zip") != digest


def test_a_bundle_holds_rows_scenario_provenance_and_hashes(tmp_path: Path, bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        archive.extractall(tmp_path / "out")
        entries = archive.infolist()
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}  # nothing of when it was written
    assert manifest["run"]["seed"] == 7
    assert manifest["run"]["versions"] == {"mayavi": "0.1.0", "kernel": "0.1.0"}
    assert manifest["rows"] == {"actions": 12, "market_snapshots": 8, "kpis": 2, "accounts": 0}
    assert set(manifest["files"]) == {
        "scenario.yaml",
        *(f"rows/{table}.parquet" for table in ("actions", "market_snapshots", "kpis", "accounts")),
    }
    with duckdb.connect() as reader:
        query = f"SELECT fee_wei FROM '{tmp_path}/out/rows/actions.parquet' ORDER BY seq"
        assert reader.execute(query).fetchall() == [(row.fee_wei,) for step in range(4) for row in actions_of(step)]


def test_a_bundle_is_verified_by_running_it_again(bundle: Path) -> None:
    def same(run) -> Outcome:
        return Outcome(run.digest, run.world_digest, run.final_world_digest, {"mayavi": "0.2.0"})

    good = verify_artifact(bundle, same)
    assert good.verified
    assert [(each.name, each.expected, each.got) for each in good.versions if not each.equal] == [
        ("kernel", "0.1.0", "none"),
        ("mayavi", "0.1.0", "0.2.0"),
    ]
    for other, name in (("digest", "rows"), ("world_digest", "world before"), ("final_world_digest", "world after")):
        bad = verify_artifact(bundle, lambda run, other=other: replace(same(run), **{other: "00"}))
        assert not bad.verified
        assert [check.name for check in bad.checks if not check.equal] == [name]


def test_a_bundle_that_was_tampered_with_is_refused(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    cases: list[tuple[dict[str, bytes | None], str]] = [
        ({"scenario.yaml": b"name: other\n"}, "'scenario.yaml' in .* was changed"),
        ({"rows/kpis.parquet": None}, "does not hold what its manifest lists: rows/kpis.parquet"),
        ({"extra.txt": b""}, "does not hold what its manifest lists: extra.txt"),
        ({"manifest.json": None}, "has no manifest"),
        ({"manifest.json": b"[]"}, "has no manifest"),
        ({"manifest.json": json.dumps({**manifest, "version": 99}).encode()}, "has version 99"),
        ({"manifest.json": json.dumps({**manifest, "kind": "training"}).encode()}, "of kind 'training'"),
        (
            {"manifest.json": json.dumps({**manifest, "run": {**manifest["run"], "digest": "00"}}).encode()},
            "are not those of its digest",
        ),
        ({"manifest.json": json.dumps({**manifest, "run": {}}).encode()}, "lacks what a run needs"),
    ]
    for changes, words in cases:
        with pytest.raises(BundleError, match=words):
            read_artifact(rewritten(bundle, changes))


def test_every_changed_or_missing_byte_of_a_bundle_is_noticed(bundle: Path, tmp_path: Path) -> None:
    content = bundle.read_bytes()
    target = tmp_path / "damaged.zip"
    for place in range(200, len(content) - 2000, 97):
        target.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            _, run = read_artifact(target)
        except BundleError:
            continue
        assert run == read_artifact(bundle)[1]  # a byte of the container that says nothing of a file
    for length in (0, 10, len(content) // 2, len(content) - 1):
        target.write_bytes(content[:length])
        with pytest.raises(BundleError):
            read_artifact(target)


def test_only_whole_runs_are_bundled(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    broken = store_run(path, finish=False)
    with pytest.raises(UsageError, match="is interrupted"):
        write_artifact(Store(path), broken.run_id, tmp_path / "bundle.zip")
    changed = store_run(path)
    with duckdb.connect(path) as shell:
        shell.execute("DELETE FROM kpis")
    with pytest.raises(BundleError, match="are not those it ended with"):
        write_artifact(Store(path), changed.run_id, tmp_path / "bundle.zip")
    assert not (tmp_path / "bundle.zip").exists()
    with pytest.raises(UsageError, match="there is no bundle at"):
        read_artifact(tmp_path / "bundle.zip")

"""`mayavi report`: a page of a run, and errors that say what was wrong."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import mayavi
from mayavi.errors import UnknownName, UnknownRun
from mayavi.report.registry import Places, find
from mayavi.sim.store import Store
from mayavi.sim.store.store import SweepRecord
from tests.sim.store.database.earlier_versions import RUN, make_database
from tests.sim.store.sample_runs import store_run


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "runs.duckdb"
    mayavi.run("aave_borrower", seed=1, store=path)
    return path


@pytest.mark.slow(1)
def test_a_report_is_written_beside_its_name(run_mayavi, store: Path, tmp_path: Path) -> None:
    finished = run_mayavi("report", "latest", "--store", str(store), cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    (page,) = tmp_path.glob("aave_borrower-*.html")
    assert finished.stdout.startswith("SOLVENT: WETH ")
    assert f"{page.name}, {page.stat().st_size:,} bytes" in finished.stdout
    again = run_mayavi("report", "latest", "--store", str(store), "--out", str(tmp_path / "b.html"), "--json")
    assert (tmp_path / "b.html").read_bytes() == page.read_bytes()
    document = json.loads(again.stdout)
    assert (document["kind"], document["pdf"], document["badge"]) == ("run", None, "SOLVENT")


@pytest.mark.slow(0.3)
def test_an_unknown_id_is_a_misuse(run_mayavi, store: Path) -> None:
    finished = run_mayavi("report", "nothing", "--store", str(store))
    assert finished.returncode == 2
    assert "'nothing'" in finished.stderr
    assert "`mayavi runs list`" in finished.stderr


@pytest.mark.slow(0.5)
@pytest.mark.parametrize("version", [1, 2])
def test_a_run_of_an_older_schema_has_a_page(run_mayavi, tmp_path: Path, version: int) -> None:
    make_database(tmp_path / "runs.duckdb", version)
    finished = run_mayavi("report", RUN, "--store", str(tmp_path / "runs.duckdb"), cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert "18446744073709551615" in (tmp_path / f"depeg_cascade-{RUN}.html").read_text(encoding="utf-8")


def test_a_newer_schema_is_refused(run_mayavi, tmp_path: Path) -> None:
    import duckdb

    make_database(tmp_path / "runs.duckdb", 2)
    with duckdb.connect(tmp_path / "runs.duckdb") as connection:
        connection.execute("UPDATE mayavi_schema SET version = 99")
    finished = run_mayavi("report", RUN, "--store", str(tmp_path / "runs.duckdb"))
    assert finished.returncode == 1
    assert "schema version 99" in finished.stderr


@pytest.mark.slow(0.5)
def test_a_place_that_cannot_be_written_is_an_error(run_mayavi, store: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    finished = run_mayavi("report", "latest", "--store", str(store), "--out", str(tmp_path / "file" / "a.html"))
    assert finished.returncode == 2
    assert "cannot write to" in finished.stderr
    assert "`--out`" in finished.stderr
    wrong = run_mayavi("report", "latest", "--store", str(store), "--out", "report.doc")
    assert wrong.returncode == 2
    assert "does not end in .html" in wrong.stderr


@pytest.mark.slow(0.5)
def test_a_pdf_is_an_option_and_a_folder_gets_the_file(run_mayavi, store: Path, tmp_path: Path) -> None:
    wrong = run_mayavi("report", "latest", "--store", str(store), "--out", "x.pdf")
    assert wrong.returncode == 2
    assert "'x.html'; `--pdf` prints a PDF beside it" in wrong.stderr
    bare = {"BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    finished = run_mayavi("report", "latest", "--store", str(store), "--out", str(tmp_path), "--open", env=bare)
    assert finished.returncode == 0, finished.stderr
    (page,) = tmp_path.glob("aave_borrower-*.html")
    if sys.platform == "linux":
        assert f"no browser could be opened; the page is at {page.as_uri()}" in finished.stderr


@pytest.mark.slow(0.3)
def test_hints_name_what_makes_a_result(store: Path, tmp_path: Path) -> None:
    empty = Places(tmp_path / "none.duckdb", tmp_path / "models")
    with pytest.raises(UnknownRun) as unknown:
        find("nothing", empty)
    assert "sweeps: no sweep is stored here; `mayavi sweep SCENARIO` makes one" in str(unknown.value.hint)
    with pytest.raises(UnknownRun) as unknown:
        find("a/b", empty)
    assert "the folder of a training holds a run.json" in str(unknown.value.hint)
    with pytest.raises(UnknownName) as wrong:
        find("nothing", empty, "nonsense")
    assert wrong.value.hint == "kinds are file, run, sweep and training"


@pytest.mark.slow(0.4)
def test_latest_is_the_sweep_if_the_newest_run_is_part_of_one(tmp_path: Path) -> None:
    place = tmp_path / "runs.duckdb"
    places, store = Places(place), Store(place)
    first, swept = store_run(place), store_run(place, sweep_id="sweep-1")
    assert find("latest", places).id == swept.run_id  # no results of the sweep yet
    sweep = SweepRecord("sweep-1", "depeg_cascade", "", {"seeds": [7]}, "finished", datetime.now(UTC), {"runs": 1})
    store.save_sweep(sweep)
    assert (find("latest", places).kind, find("latest", places).id) == ("sweep", "sweep-1")
    assert find("latest", places, "run").id == swept.run_id
    assert find(first.run_id, places).kind == "run"
    later = store_run(place)
    assert find("latest", places).id == later.run_id


def test_a_scenario_is_not_a_result(store: Path, tmp_path: Path) -> None:
    models = tmp_path / "models"
    with pytest.raises(UnknownRun) as unknown:
        find("aave_borr", Places(store, models))
    assert str(unknown.value.hint).startswith("'aave_borrower' is a scenario; its newest run is 2")
    with pytest.raises(UnknownRun) as unknown:
        find("depeg", Places(store, models))
    assert "'depeg_cascade' is a scenario: `mayavi run depeg_cascade` runs it" in str(unknown.value.hint)


def test_the_help_shows_how_to_write_a_report(run_mayavi) -> None:
    assert "mayavi report latest --open" in run_mayavi("report", "--help").stdout


def test_a_missing_chromium_is_said_before_the_work(run_mayavi, store: Path, tmp_path: Path) -> None:
    here = {"PATH": str(tmp_path), "MAYAVI_CHROMIUM": ""}
    finished = run_mayavi("report", "latest", "--store", str(store), "--pdf", env=here, cwd=tmp_path)
    assert finished.returncode == 1
    assert "needs Chromium" in finished.stderr
    assert not list(tmp_path.glob("*.html"))


def test_a_run_shows_its_report_in_a_notebook(store: Path, tmp_path: Path) -> None:
    run = mayavi.run("aave_borrower", seed=2, steps=1, store=store)
    report = run.report()
    assert report.page.provenance.facts[0] == ("seed", "2")
    assert report.save(tmp_path / "r.html").read_text(encoding="utf-8") == report.html


@pytest.mark.slow(0.5)
def test_the_demo_ends_with_its_report(run_mayavi, tmp_path: Path) -> None:
    finished = run_mayavi("demo", "--seed", "7", cwd=tmp_path)
    assert "report data/reports/demo-seed-7.html" in finished.stdout
    assert "health factor" in (tmp_path / "data/reports/demo-seed-7.html").read_text(encoding="utf-8")
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "data").write_text("")
    again = run_mayavi("demo", "--seed", "7", cwd=blocked)
    assert again.returncode == 0
    assert "no report: cannot write to" in again.stdout

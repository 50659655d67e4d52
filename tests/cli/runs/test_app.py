"""`mayavi runs`: what was run, what came of it, and why."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from mayavi.sim.store import Store
from tests.sim.store.processes import open_shell
from tests.sim.store.sample_runs import store_run


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "runs.duckdb"


def test_an_empty_store_says_how_to_make_a_run(run_mayavi, store: Path) -> None:
    finished = run_mayavi("runs", "list", "--store", str(store))
    assert finished.returncode == 0
    assert f"mayavi run depeg_cascade --store {store}" in finished.stdout
    assert json.loads(run_mayavi("runs", "list", "--store", str(store), "--json").stdout)["runs"] == []
    assert not store.exists()


@pytest.mark.slow(0.4)
def test_runs_are_listed_newest_first_and_can_be_chosen(run_mayavi, store: Path) -> None:
    first, second = store_run(store), store_run(store, finish=False, scenario="vesting_cliff")
    here = {"MAYAVI_STORE": str(store)}
    lines = run_mayavi("runs", "list", env=here).stdout.splitlines()
    assert lines[0].split() == ["run", "scenario", "world", "seed", "steps", "actions", "failed", "seconds", "status"]
    assert lines[1].split()[0] == second.run_id
    assert lines[1].endswith("interrupted")
    assert lines[2].split() == [first.run_id, "depeg_cascade", "base", "7", "4", "12", "4", "1.5", "finished"]
    listed = json.loads(run_mayavi("runs", "list", "--status", "finished", "--json", env=here).stdout)
    assert [run["run_id"] for run in listed["runs"]] == [first.run_id]
    listed = json.loads(run_mayavi("runs", "list", "--scenario", "vesting_cliff", "--json", env=here).stdout)
    assert [run["run_id"] for run in listed["runs"]] == [second.run_id]
    wrong = run_mayavi("runs", "list", "--status", "finnished", env=here)
    assert wrong.returncode == 2
    assert "did you mean 'finished'?" in wrong.stderr


@pytest.mark.slow(0.5)
def test_a_run_on_a_market_is_listed_by_the_name_of_the_market(run_mayavi, store: Path) -> None:
    plain, market = store_run(store), store_run(store, scenario_text="name: own\nworld: base@2025-12\n")
    here = {"MAYAVI_STORE": str(store)}
    lines = run_mayavi("runs", "list", env=here).stdout.splitlines()
    assert [line.split()[2] for line in lines[1:]] == ["base@2025-12", "base"]
    listed = json.loads(run_mayavi("runs", "list", "--json", env=here).stdout)["runs"]
    assert [(run["run_id"], run["chain"], run["world"]) for run in listed] == [
        (market.run_id, "base", "base@2025-12"),
        (plain.run_id, "base", "base"),
    ]
    shown = json.loads(run_mayavi("runs", "show", "latest", "--json", env=here).stdout)
    assert shown["world"] == "base@2025-12"


@pytest.mark.slow(1)
def test_a_run_is_shown_by_any_part_of_its_id_that_fits_no_other(run_mayavi, store: Path) -> None:
    info = store_run(store)
    for named in (info.run_id, info.run_id[:12], info.run_id[-6:], "latest"):
        shown = run_mayavi("runs", "show", named, "--store", str(store))
        assert shown.returncode == 0, shown.stderr
        assert info.run_id in shown.stdout
    assert "12 actions (4 failed, 0 raised), 8 figures of the market" in shown.stdout
    assert "bad debt" in shown.stdout
    document = json.loads(run_mayavi("runs", "show", "latest", "--store", str(store), "--json").stdout)
    assert document["scenario_text"] == info.scenario_text
    assert document["kpis"]["bad_debt"]["value"] == str(2**256 - 1)
    unknown = run_mayavi("runs", "show", info.run_id[:-1] + "!", "--store", str(store), "--json")
    assert unknown.returncode == 2
    assert info.run_id in json.loads(unknown.stdout)["hint"]


@pytest.mark.slow(1)
def test_two_runs_are_compared(run_mayavi, store: Path) -> None:
    a, b, c = store_run(store), store_run(store), store_run(store, steps=3, seed=8)
    same = run_mayavi("runs", "diff", a.run_id, b.run_id, "--store", str(store))
    assert (same.returncode, same.stdout.partition(":")[0]) == (0, "equal")
    other = run_mayavi("runs", "diff", a.run_id, c.run_id, "--store", str(store))
    assert other.returncode == 1
    assert "seed: 7 → 8" in other.stdout
    assert f"only {a.run_id} has it" in other.stdout
    document = json.loads(run_mayavi("runs", "diff", a.run_id, c.run_id, "--store", str(store), "--json").stdout)
    assert (document["equal"], document["first_difference"]["step"]) == (False, 3)


@pytest.mark.slow(0.6)
def test_an_agent_is_explained_step_by_step(run_mayavi, store: Path) -> None:
    info = store_run(store)
    told = run_mayavi("runs", "explain", info.run_id, "--agent", "borrower-1", "--store", str(store))
    assert told.returncode == 0, told.stderr
    assert "was liquidated by borrower-2 in step 0 at a health factor of 0.9800" in told.stdout
    assert "liquidate by borrower-2: health factor 0.9800 → 1.0500" in told.stdout
    document = json.loads(
        run_mayavi("runs", "explain", info.run_id, "--agent", "borrower-1", "--store", str(store), "--json").stdout
    )
    assert document["liquidated"] is True
    assert document["steps"][3]["health_factor_wad"] == str(10**18 + 3)
    wrong = run_mayavi("runs", "explain", info.run_id, "--agent", "borrower-x", "--store", str(store))
    assert wrong.returncode == 2
    assert "did you mean 'borrower-" in wrong.stderr


@pytest.mark.slow(0.4)
def test_runs_are_exported(run_mayavi, store: Path, tmp_path: Path) -> None:
    info = store_run(store)
    words = ["runs", "export", info.run_id, "--to", str(tmp_path / "out"), "--format", "csv", "--store", str(store)]
    assert run_mayavi(*words).returncode == 0
    assert len((tmp_path / "out" / "kpis.csv").read_text().splitlines()) == 3
    again = run_mayavi(*words)
    assert again.returncode == 2
    assert "--overwrite" in again.stderr
    assert json.loads(run_mayavi(*words, "--overwrite", "--json").stdout)["files"]


@pytest.mark.slow(0.4)
def test_runs_are_removed(run_mayavi, store: Path) -> None:
    kept, gone, broken = store_run(store), store_run(store), store_run(store, finish=False)
    nothing = run_mayavi("runs", "rm", "--store", str(store))
    assert nothing.returncode == 2
    removed = run_mayavi("runs", "rm", gone.run_id, "--status", "interrupted", "--store", str(store), "--json")
    assert json.loads(removed.stdout)["removed"] == [gone.run_id, broken.run_id]
    assert [run.run_id for run in Store(store).runs()] == [kept.run_id]


@pytest.mark.slow(0.3)
def test_a_database_that_cannot_be_used_is_refused_in_one_line(run_mayavi, store: Path) -> None:
    store.write_bytes(b"garbage" * 999)
    for words in (["runs", "list"], ["run", "aave_borrower"]):
        refused = run_mayavi(*words, "--store", str(store))
        assert refused.returncode == 1
        assert f"error: '{store}' is not a DuckDB database" in refused.stderr
    store.unlink()
    store_run(store)
    with duckdb.connect(store) as connection:
        connection.execute("UPDATE mayavi_schema SET version = 99")
    for words in (["runs", "list"], ["run", "aave_borrower"]):
        refused = run_mayavi(*words, "--store", str(store))
        assert refused.returncode == 1
        assert "has schema version 99" in refused.stderr
        assert "use the newer mayavi" in refused.stderr


@pytest.mark.slow
def test_eight_commands_at_once_beside_a_reader_and_an_open_shell(run_mayavi, store: Path) -> None:
    first = run_mayavi("run", "aave_borrower", "--steps", "3", "--store", str(store), "--json")
    assert first.returncode == 0, first.stderr
    whole = Store(store).run("latest")
    with open_shell(store):
        started = [
            subprocess.Popen(
                [sys.executable, "-m", "mayavi", "run", "aave_borrower", "--steps", "3", "--seed", str(seed), "--json"],
                env={**os.environ, "MAYAVI_STORE": str(store)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for seed in range(8)
        ]
        while any(process.poll() is None for process in started):
            for run in Store(store).runs():
                assert run.status in {"running", "finished"}
                assert run.status == "running" or run.snapshot_count == whole.snapshot_count
        answers = [process.communicate() for process in started]
        assert [process.returncode for process in started] == [0] * 8, answers
        documents = {document["run_id"]: document for document in (json.loads(out) for out, _ in answers)}
        assert len(documents) == 8
        rows = {run.run_id: run for run in Store(store).runs()}
        assert set(documents) | {whole.run_id} == set(rows)
    Store(store).merge(patience_s=5)
    with duckdb.connect(store, read_only=True) as alone:
        assert alone.execute("SELECT count(*) FROM runs").fetchone() == (9,)
        counts = dict(alone.execute("SELECT run_id, count(*) FROM actions GROUP BY run_id").fetchall())
    for run_id, document in documents.items():
        assert Store(store).digest(run_id) == document["digest"]
        assert counts.get(run_id, 0) == rows[run_id].action_count


@pytest.mark.slow
def test_a_killed_command_leaves_an_interrupted_run(store: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "mayavi", "run", "depeg_cascade", "--steps", "100000", "--store", str(store)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    run_id = process.stdout.readline().split()[-1]
    while not list(Store(store).runs()):
        assert process.poll() is None
    assert Store(store).run(run_id).status == "running"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert Store(store).run(run_id).status == "interrupted"
    Store(store).merge(patience_s=5)
    assert Store(store).run(run_id).status == "interrupted"
    assert Store(store).remove(run_id) == [run_id]


@pytest.mark.slow(0.4)
def test_of_an_account_in_a_large_population_nothing_is_claimed_that_was_not_recorded(
    run_mayavi, tmp_path: Path
) -> None:
    path = str(tmp_path / "large.duckdb")
    quiet = ("agents.borrowers.count=201", "agents.borrowers.health_factor=2", "agents.borrowers.behaviour=hold")
    sets = [word for each in quiet for word in ("--set", each)]
    assert run_mayavi("run", "depeg_cascade", "--steps", "3", *sets, "--store", path).returncode == 0
    told = run_mayavi("runs", "explain", "latest", "--agent", "borrowers-200", "--store", path)
    assert told.returncode == 0, told.stderr
    assert "was not liquidated; its health factor was recorded before the first step only" in told.stdout
    assert "it began (before the first step) with a health factor of 2.0000" in told.stdout

"""Commands on pages: what they repeat, what they need for that, and which store they read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mayavi.report.builder import run_page
from mayavi.report.page import ActionLog, Table
from mayavi.report.run.rows import opened
from mayavi.report.run.words import one_seed
from mayavi.report.shapes.compare import compare_page
from mayavi.report.shapes.sweeps.sweep import sweep_page
from mayavi.report.store_commands import name_store
from mayavi.sim.store import Store
from tests.report.shapes.stored_runs import lending, store_run, store_sweep

SET = "agents.borrowers.count=50"


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        ("replica", "", "on every machine"),
        ("rpc", " --source rpc --block BLOCK", "kept no snapshot"),
        ("snapshot", " --snapshot FILE", "that has the snapshot"),
    ],
)
def test_a_page_promises_only_what_its_world_allows(tmp_path: Path, source: str, options: str, words: str) -> None:
    path = tmp_path / "runs.duckdb"
    store_run(path, 1, lending(1.0, 5.0), "run-one", overrides=[SET], source=source)
    found = run_page(Store(path), "run-one").provenance
    assert found.command == f"mayavi run depeg_cascade --chain ethereum --seed 1 --set {SET}{options}"
    assert words in found.note
    assert ("on every machine." in found.note) == (source == "replica")


def test_a_run_that_was_built_in_python_has_no_command(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    store_run(path, 1, lending(1.0, 5.0), "run-one", scenario_text="")
    page = run_page(Store(path), "run-one")
    assert page.provenance.command == ""
    assert "built in Python" in page.provenance.note
    with opened(Store(path), "run-one") as rows:
        assert one_seed(rows) == "One run, seed 1: it has no interval."


def test_the_sweep_that_gives_an_interval_keeps_the_overrides(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    store_run(path, 1, lending(1.0, 5.0), "run-one", overrides=[SET])
    with opened(Store(path), "run-one") as rows:
        assert one_seed(rows).endswith(
            f"`mayavi sweep depeg_cascade --chain ethereum --set {SET} --seeds 0:100` gives one."
        )
    store_run(path, 1, lending(1.0, 5.0), "run-swept", sweep_id="sweep-x")
    with opened(Store(path), "run-swept") as rows:
        assert one_seed(rows).endswith("Its sweep `sweep-x` has one.")


@pytest.mark.slow(0.5)
def test_commands_that_read_runs_name_their_store(tmp_path: Path) -> None:
    path = tmp_path / "the runs.duckdb"
    store_run(path, 1, lending(1.0, 5.0), "run-one")
    store_run(path, 1, lending(9.0, 5.0), "run-two", overrides=[SET])
    store = store_sweep(path, {(): {seed: lending(1.0 + seed, 5.0) for seed in range(3)}})
    option = f" --store '{path}'"
    compared = name_store(compare_page(store, ["run-one", "run-two"]), path)
    assert compared.provenance.command == f"mayavi report compare run-one run-two{option}"
    swept = name_store(sweep_page(store, "latest"), path)
    assert option not in swept.provenance.command  # it executes runs, and reads none
    for page in (swept, name_store(run_page(store, "run-one"), path)):
        blocks = [block for section in page.sections for block in section.blocks]
        commands = [block.command for block in blocks if isinstance(block, Table | ActionLog) and block.command]
        assert commands
        assert all(command.endswith(option) for command in commands)


def test_commands_that_read_trainings_name_their_folder(tmp_path: Path) -> None:
    store_run(tmp_path / "runs.duckdb", 1, lending(1.0, 5.0), "run-one")
    page = run_page(Store(tmp_path / "runs.duckdb"), "run-one")
    for command, wanted in (
        ("mayavi eval chase-0 --episodes 9", "mayavi eval chase-0 --episodes 9 --models /srv/models"),
        ("mayavi eval - --env chase", "mayavi eval - --env chase"),
    ):
        changed = replace(page, provenance=replace(page.provenance, command=command))
        assert name_store(changed, Path("runs.duckdb"), Path("/srv/models")).provenance.command == wanted

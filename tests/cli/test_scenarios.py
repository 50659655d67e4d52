"""`mayavi scenarios`: list, show, schema, new."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import RunMayavi


def test_list_names_every_scenario_with_its_chains(run_mayavi: RunMayavi) -> None:
    finished = run_mayavi("scenarios", "list")
    assert finished.returncode == 0
    assert finished.stderr == ""
    for name in ("depeg_cascade", "vesting_cliff", "launch_replay", "svm_launch_replay"):
        assert name in finished.stdout
    listed = json.loads(run_mayavi("scenarios", "list", "--json").stdout)["scenarios"]
    assert {each["name"]: len(each["chains"]) for each in listed}["aave_borrower"] == 6
    assert [each["name"] for each in listed if each["parked"]] == ["svm_launch_replay"]


def test_show_says_what_a_scenario_means_with_overrides_applied(run_mayavi: RunMayavi) -> None:
    finished = run_mayavi("scenarios", "show", "depeg_cascade", "--chain", "base", "--set", "agents.borrowers.count=7")
    assert finished.returncode == 0
    assert "base (runs on ethereum" in finished.stdout
    assert "borrowers: borrower × 7" in finished.stdout
    assert "count: 7" in finished.stdout
    document = json.loads(run_mayavi("scenarios", "show", "aave_borrower", "--json").stdout)
    assert document["scenario"]["steps"] == 4
    assert document["scenario"]["agents"]["borrower"]["debt"] == "1700 USDC"
    source = run_mayavi("scenarios", "show", "aave_borrower", "--source").stdout
    assert source.startswith("# One borrower on Aave V3")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["depeg_casade"], "did you mean 'depeg_cascade'?"),
        (["svm_launch_replay"], "is parked"),
        (["nowhere.yaml"], "there is no scenario at 'nowhere.yaml'"),
        (["depeg_cascade", "--set", "agents.borrowers.cuont=5"], "did you mean 'count'?"),
        (["depeg_cascade", "--chain", "solana"], "unknown chain 'solana'"),
        (["spark_borrower", "--chain", "base"], "cannot be run on 'base'"),
        (["depeg_cascade", "--steps", "0"], "--steps 0: steps is '0', and must be at least 1"),
    ],
)
def test_a_misuse_exits_with_2_and_says_what_to_do(run_mayavi: RunMayavi, arguments: list[str], message: str) -> None:
    finished = run_mayavi("scenarios", "show", *arguments)
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert message in finished.stderr
    failed = run_mayavi("scenarios", "show", *arguments, "--json")
    assert json.loads(failed.stdout.splitlines()[-1])["exit_code"] == 2


@pytest.mark.slow(0.4)
def test_new_writes_a_scenario_that_is_valid_and_its_schema(run_mayavi: RunMayavi, tmp_path: Path) -> None:
    finished = run_mayavi("scenarios", "new", "crash.yaml", cwd=tmp_path)
    assert finished.returncode == 0
    assert "crash.yaml" in finished.stdout
    text = (tmp_path / "crash.yaml").read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=scenario.schema.json")
    assert json.loads((tmp_path / "scenario.schema.json").read_text(encoding="utf-8"))["title"] == "Mayavi scenario"
    shown = run_mayavi("scenarios", "show", "crash.yaml", cwd=tmp_path)
    assert shown.returncode == 0
    again = run_mayavi("scenarios", "new", "crash.yaml", cwd=tmp_path)
    assert again.returncode == 2
    assert "exists already" in again.stderr
    assert (tmp_path / "crash.yaml").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", ["crash", "no/such/folder/crash.yaml"])
def test_new_refuses_a_place_that_cannot_be(run_mayavi: RunMayavi, tmp_path: Path, name: str) -> None:
    assert run_mayavi("scenarios", "new", name, cwd=tmp_path).returncode == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.slow(0.3)
def test_schema_is_printed_or_written(run_mayavi: RunMayavi, tmp_path: Path) -> None:
    printed = run_mayavi("scenarios", "schema")
    assert json.loads(printed.stdout)["title"] == "Mayavi scenario"
    written = run_mayavi("scenarios", "schema", "--output", "s.json", cwd=tmp_path)
    assert written.returncode == 0
    assert (tmp_path / "s.json").read_text(encoding="utf-8") == printed.stdout


def test_a_mistake_in_a_file_is_told_with_line_and_column(run_mayavi: RunMayavi, tmp_path: Path) -> None:
    run_mayavi("scenarios", "new", "crash.yaml", cwd=tmp_path)
    path = tmp_path / "crash.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("count: 50", "count: fifty"), encoding="utf-8")
    finished = run_mayavi("scenarios", "show", "crash.yaml", cwd=tmp_path)
    assert finished.returncode == 2
    assert "error: crash.yaml:17:12: agents.borrowers.count is 'fifty', not a whole number" in finished.stderr

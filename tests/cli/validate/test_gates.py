"""`mayavi validate`: all gates in one table, single gates as commands, and misuse."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mayavi.gym_env.registry import ENVS, MULTI_AGENT
from mayavi.scenarios.registry import names
from mayavi.validation.registry import GATES
from mayavi.worlds import open_world, world_names

QUICK = ("--only", "quotes", "--only", "witness")


def last_object(output: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


@pytest.mark.slow(0.5)
def test_chosen_gates_give_one_table_with_verdicts_and_the_exit_code(run_mayavi, cases: Path) -> None:
    finished = run_mayavi("validate", *QUICK, "--cases", str(cases))
    assert finished.returncode == 0, finished.stdout + finished.stderr
    header, quotes, witness, empty, *rest = finished.stdout.splitlines()
    assert header.split() == ["gate", "compared", "cases", "seconds", "verdict"]
    assert quotes.startswith("quotes ")
    assert quotes.endswith("passed")
    assert " 98 " in quotes
    assert witness.startswith("witness ")
    assert empty == ""
    assert rest[-1] == "2 gates: 2 passed, 0 failed, 0 skipped; exit code 0"


@pytest.mark.slow(0.4)
def test_a_gate_named_twice_runs_once(run_mayavi, cases: Path) -> None:
    finished = run_mayavi("validate", "--only", "quotes", "--only", "quotes", "--cases", str(cases), "--json")
    assert [each["gate"] for each in last_object(finished.stdout)["gates"]] == ["quotes"]


def test_a_named_gate_without_its_data_is_not_checked_and_ends_with_1(run_mayavi, tmp_path: Path) -> None:
    empty = {"MAYAVI_CASES": str(tmp_path), "MAYAVI_REQUIRE_CASES": ""}
    finished = run_mayavi("validate", "--only", "witness", env=empty)
    assert finished.returncode == 1
    folder = tmp_path / "mainnet" / "witness"
    assert f"witness not checked: there is no folder '{folder}'" in finished.stdout
    assert finished.stdout.splitlines()[-1] == "1 gate: 0 passed, 1 failed, 0 skipped; exit code 1"

    finished = run_mayavi("validate", "--only", "blocks", "--only", "contracts", "--json", env=empty)
    assert finished.returncode == 1
    report = last_object(finished.stdout)
    assert (report["exit_code"], report["failed"]) == (1, 2)
    assert {each["first_difference"] for each in report["gates"]} == {None}
    assert all("there is no folder" in each["reason"] for each in report["gates"])

    finished = run_mayavi("validate", "contracts", env=empty)
    assert (finished.returncode, "contracts not checked: there is no folder" in finished.stdout) == (1, True)


def test_a_folder_of_cases_that_the_environment_names_must_exist(run_mayavi, tmp_path: Path) -> None:
    finished = run_mayavi("validate", "--only", "witness", env={"MAYAVI_CASES": str(tmp_path / "nowhere")})
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "there is no such folder" in finished.stderr


@pytest.mark.slow(0.5)
def test_a_failed_gate_gives_exit_code_1_and_its_first_difference(run_mayavi, cases: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mainnet" / "quotes"
    folder.mkdir(parents=True)
    for path in (cases / "mainnet" / "quotes").glob("*.json"):
        (folder / path.name).write_bytes(path.read_bytes())
    (tmp_path / "mainnet" / "witness").symlink_to(cases / "mainnet" / "witness")
    answers = folder / "curve_tripool_get_dy.json"
    content = json.loads(answers.read_text())
    next(iter(content["entries"].values()))["value"] += 1
    answers.write_text(json.dumps(content))
    finished = run_mayavi("validate", *QUICK, "--cases", str(tmp_path))
    assert finished.returncode == 1
    assert "quotes, first difference: " in finished.stdout
    assert finished.stdout.splitlines()[-1] == "2 gates: 1 passed, 1 failed, 0 skipped; exit code 1"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--only", "quots"], "unknown gate 'quots'"),
        (["--cases", "/nowhere/at/all"], "'/nowhere/at/all' is not a folder"),
        (["--only", "quotes", "quoter"], "options of `mayavi validate` stand before a gate"),
        (["quoter", "--chain", "etherium"], "unknown chain 'etherium'"),
        (["quoter", "--chain", "base", "--pool", "UniswapV3.X/Y.1"], "unknown pool 'UniswapV3.X/Y.1'"),
        (["quoter", "--snapshot", "/nowhere.snapshot"], "there is no snapshot at '/nowhere.snapshot'"),
        (["cache", "--snapshot", "/nowhere.snapshot"], "there is no snapshot at '/nowhere.snapshot'"),
        (["cache", "--cache-dir", "/nowhere/at/all"], "'/nowhere/at/all' is not a folder"),
        (["contracts", "--cases", "/nowhere/at/all"], "'/nowhere/at/all' is not a folder"),
        (["envs", "--env", "aaave"], "unknown environment 'aaave'"),
        (["official", "--cases", "/nowhere/at/all"], "'/nowhere/at/all' is not a folder"),
        (["official", "--jobs", "0"], "0 is not a number of processes"),
    ],
)
def test_misuse_is_refused_with_exit_code_2(run_mayavi, words: list[str], message: str) -> None:
    finished = run_mayavi("validate", *words)
    assert finished.returncode == 2, finished.stdout + finished.stderr
    assert message in finished.stderr


@pytest.mark.slow(0.3)
def test_the_quoter_of_one_pool(run_mayavi) -> None:
    finished = run_mayavi("validate", "quoter", "--chain", "base", "--pool", "UniswapV3.WETH/USDC.500")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert re.search(r"^base +\d+$", finished.stdout, re.MULTILINE)
    assert finished.stdout.splitlines()[-1].endswith(" cases: passed")


@pytest.mark.slow(1)
def test_the_contracts_beside_mainnets(run_mayavi, cases: Path) -> None:
    finished = run_mayavi("validate", "contracts", "--cases", str(cases), "--operations", "20", "--json")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    report = last_object(finished.stdout)
    assert (report["gate"], report["verdict"]) == ("contracts", "passed")
    assert report["parts"]["StableSwap3 as 3pool"] == 20


@pytest.mark.slow(3)
def test_some_of_the_official_tests(run_mayavi, cases: Path) -> None:
    words = ("validate", "official", "--cases", str(cases / "ethereum-tests"), "--test", "stSelfBalance/", "--json")
    finished = run_mayavi(*words, "--jobs", "2")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    report = last_object(finished.stdout)
    assert (report["gate"], report["verdict"], report["first_difference"]) == ("official", "passed", None)
    assert report["cases"] == report["parts"]["blockchain tests"] + report["parts"]["state cases to their root"]
    assert any(note.startswith("cancun: ") and "were replayed" in note for note in report["notes"])
    assert last_object(run_mayavi(*words, "--jobs", "1").stdout) == report


def test_official_tests_that_are_not_there(run_mayavi, tmp_path: Path) -> None:
    finished = run_mayavi("validate", "official", "--cases", str(tmp_path))
    assert finished.returncode == 1
    assert f"official not checked: there are no official tests in '{tmp_path}'" in finished.stdout


def test_a_poisoned_snapshot_is_named(run_mayavi, tmp_path: Path) -> None:
    fork = open_world("base").copy()
    fork.set_storage("UniswapV3.WETH/USDC.500", 0, 5)
    fork.dump_snapshot(tmp_path / "base.snapshot")
    finished = run_mayavi(
        "validate", "cache", "--cache-dir", str(tmp_path), "--snapshot", str(tmp_path / "base.snapshot")
    )
    assert finished.returncode == 1
    assert "cache, first difference: " in finished.stdout
    assert "slot 0x0 of 0x" in finished.stdout
    assert "UniswapV3.WETH/USDC.500: price, tick and lock" in finished.stdout


def test_one_environment(run_mayavi) -> None:
    assert "3 cases: passed" in run_mayavi("validate", "envs", "--env", "rwa").stdout


def test_every_gate_is_a_command_of_its_own(run_mayavi) -> None:
    listed = run_mayavi("validate", "--help").stdout
    for name in GATES:
        assert re.search(rf"^  {name} ", listed, re.MULTILINE), name


@pytest.fixture(scope="module")
def whole(run_mayavi) -> dict[str, dict[str, Any]]:
    """Reports of all gates as they run without options, by name; those that lack their data are skipped."""
    finished = run_mayavi("validate", "--json")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return {each["gate"]: each for each in last_object(finished.stdout)["gates"]}


@pytest.mark.slow(50)
def test_gates_that_need_no_data_pass_on_everything_there_is(whole: dict[str, dict[str, Any]]) -> None:
    parts = {
        "quoter": {*world_names(), "odd pools"},
        "determinism": set(names()),
        "envs": {name for name, each in (ENVS | MULTI_AGENT).items() if each.home.startswith("mayavi.")},
    }
    for gate, expected in parts.items():
        assert (whole[gate]["verdict"], whole[gate]["first_difference"]) == ("passed", None)
        assert set(whole[gate]["parts"]) == expected
    assert whole["quoter"]["cases"] > 4_000


@pytest.mark.slow
def test_bundles_of_each_kind(cases: Path, whole: dict[str, dict[str, Any]]) -> None:
    found = whole["artifacts"]
    assert (found["verdict"], found["first_difference"]) == ("passed", None)
    assert {"digests of the repeated run", "digests of the repeated scan"} <= set(found["parts"])


@pytest.mark.slow
def test_the_readme_shows_what_all_gates_print(repository: Path, cases: Path, whole: dict[str, dict[str, Any]]) -> None:
    readme = (repository / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"tests/cli/validate/test_gates.py -->\n```\n(.*?)```", readme, re.DOTALL)
    heading, *rows = shown.partition("\n\n")[0].splitlines()
    assert heading.split() == ["gate", "compared", "cases", "seconds", "verdict"]
    printed = [f"{gate} {each['compared']} {each['cases']:,} 0.0 {each['verdict']}" for gate, each in whole.items()]
    assert [fixed(row) for row in rows] == [fixed(row) for row in printed]


GROWING = ("cache", "determinism", "envs", "quoter")
"""Gates whose number of cases follows from the machine's caches, or from what is registered."""


def fixed(line: str) -> str:
    """Return a row without its seconds, and without the cases of a gate in `GROWING`."""
    words = re.sub(r" +\d+\.\d +", " … ", line)
    return re.sub(r" +", " ", re.sub(r" +[\d,]+ …", " … …", words) if line.startswith(GROWING) else words)

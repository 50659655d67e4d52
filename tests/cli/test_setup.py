"""`mayavi setup`: what is missing is made, what is there is left alone, and mistakes are seen first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def test_a_replica_is_built_once(run_mayavi, tmp_path: Path) -> None:
    here = {"MAYAVI_CACHE_DIR": str(tmp_path)}
    first = run_mayavi("setup", "--chain", "base", "--json", env=here)
    assert first.returncode == 0, first.stderr
    document = json.loads(first.stdout)
    assert {step["name"]: step["changed"] for step in document["steps"]} == {
        "contract packages": False,
        "Morpho packages": False,
        "Vyper contracts": False,
        "report packages": False,
        "replica base": True,
    }
    assert "building the replica of base" in first.stderr
    (kept,) = (tmp_path / "replicas").iterdir()
    assert document["steps"][-1]["detail"] == str(kept)
    assert document["cache"] == str(tmp_path)

    second = run_mayavi("setup", "--chain", "base", env=here)
    assert (second.returncode, second.stderr) == (0, "")
    assert second.stdout.count("already there") == 5


def test_replicas_can_be_left_for_later(run_mayavi, tmp_path: Path) -> None:
    finished = run_mayavi("setup", "--no-replicas", env={"MAYAVI_CACHE_DIR": str(tmp_path)})
    assert (finished.returncode, finished.stderr) == (0, "")
    assert not (tmp_path / "replicas").exists()


@pytest.mark.slow(30)
def test_all_packages_can_be_installed_ahead(run_mayavi) -> None:
    finished = run_mayavi("setup", "--all", "--no-replicas", "--json")
    assert finished.returncode == 0, finished.stderr
    later = ["Solidity compiler", "Aave V3.6", "Uniswap V4", "Pendle V2"]
    steps = [step["name"] for step in json.loads(finished.stdout)["steps"]]
    assert steps == ["contract packages", "Morpho packages", "Vyper contracts", "report packages", *later]
    again = run_mayavi("setup", "--all", "--no-replicas", env={"MAYAVI_OFFLINE": "1"})
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.count("already there") == len(steps)
    found = json.loads(run_mayavi("doctor", "--json").stdout)["findings"]
    assert {each["name"]: each["status"] for each in found if each["name"] in later} == dict.fromkeys(later, "ok")


def test_an_unknown_chain_is_an_error_before_anything_is_installed(run_mayavi, tmp_path: Path) -> None:
    finished = run_mayavi("setup", "--chain", "etherium", env={"MAYAVI_CONTRACTS": str(tmp_path / "nowhere")})
    assert finished.returncode == 2
    assert "unknown world 'etherium'" in finished.stderr
    assert not (tmp_path / "nowhere").exists()


def test_options_that_contradict_each_other_are_a_misuse(run_mayavi) -> None:
    finished = run_mayavi("setup", "--chain", "base", "--no-replicas")
    assert finished.returncode == 2
    assert "--no-replicas" in finished.stderr


def test_offline_the_error_names_the_variable(run_mayavi, tmp_path: Path) -> None:
    here = {"MAYAVI_CONTRACTS": str(tmp_path / "nowhere"), "MAYAVI_CACHE_DIR": str(tmp_path), "MAYAVI_OFFLINE": "1"}
    for command in ("setup", "demo"):
        finished = run_mayavi(command, env=here)
        assert finished.returncode == 1
        error, hint = finished.stderr.splitlines()[-2:]
        assert error.startswith("error: the contract packages are not installed (@aave/core-v3@")
        assert "`mayavi setup`" in hint
    assert not (tmp_path / "nowhere").exists()

"""`mayavi validate determinism`: the same whatever must not matter, another with another seed."""

from __future__ import annotations

import json

import pytest

SMALL = ("depeg_cascade", "--steps", "4", "--set", "agents.borrowers.count=6", "--set", "prices.WETH.at=1")


@pytest.mark.slow(1)
def test_a_scenario_repeats_itself_and_another_seed_does_not(run_mayavi) -> None:
    finished = run_mayavi("validate", "determinism", *SMALL, "--seed", "7", "--json")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    found = json.loads(finished.stdout)
    assert found["passed"] is True
    trials = {each["name"]: each for each in found["comparisons"]}
    assert list(trials) == ["again", "2 threads", "agents in reverse", "another process", "seed 8"]
    other = trials.pop("seed 8")
    assert {each["digest"] for each in trials.values()} == {found["digest"]}
    assert other["digest"] != found["digest"]


@pytest.mark.slow(1)
def test_people_get_a_table_and_a_verdict(run_mayavi) -> None:
    finished = run_mayavi("validate", "determinism", *SMALL)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    lines = finished.stdout.splitlines()
    assert lines[0].startswith("depeg_cascade · ethereum · seed 0 · digest ")
    assert lines[-1] == "deterministic"


@pytest.mark.slow(1)
def test_a_scenario_without_chance_repeats_itself_with_every_seed_and_that_is_told(run_mayavi) -> None:
    quiet = ("--set", "prices.WETH={process: constant}")
    finished = run_mayavi("validate", "determinism", "aave_borrower", *quiet)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout.splitlines()[-2:] == [
        "all seeds give the same result: this scenario has no randomness",
        "deterministic",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["depeg_casade"], "unknown scenario"), (["aave_borrower", "--seed", "-1"], "seed -1 is out of range")],
)
def test_a_misuse_is_one(run_mayavi, arguments: list[str], message: str) -> None:
    finished = run_mayavi("validate", "determinism", *arguments)
    assert finished.returncode == 2
    assert message in finished.stderr

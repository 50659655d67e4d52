"""The page about incidents shows what the command prints, and lists every incident."""

from __future__ import annotations

import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from mayavi.scenarios.incidents.registry import NAMES, load_incident
from mayavi.scenarios.incidents.replay import _accepting
from tests.pages import page

PAGE = page("how-to/replay-an-incident.md")


def test_every_incident_stands_in_both_tables() -> None:
    for name in NAMES:
        assert f"| `{name}` |" in PAGE.text
        assert PAGE.text.count(f"`{name}`") >= 1


def test_every_counterfactual_of_the_page_can_be_run() -> None:
    tried = 0
    for command in PAGE.commands("mayavi replay incident "):
        words = shlex.split(command)
        incident = load_incident(words[3])
        for flag, change in pairwise(words):
            if flag == "--counterfactual":
                assert _accepting(incident, list(incident.config.runs), change)
                tried += 1
    assert tried == 4


@pytest.mark.slow(45)
def test_the_table_is_what_the_command_prints(run_mayavi, cases: Path, tmp_path: Path) -> None:
    store = str(tmp_path / "runs.duckdb")
    change = ("--counterfactual", "aave_v2.USDC.liquidation_bonus=2%")
    done = run_mayavi("replay", "incident", "crv_2022_11", *change, "--cases", str(cases), "--store", store)
    assert done.returncode == 0, done.stderr
    printed = done.stdout.splitlines()
    for start in ("recorded: ", "counterfactual: "):
        shown = PAGE.block_starting(start).splitlines()
        assert len(shown) > 9
        assert [line for line in shown if line and line not in printed] == []

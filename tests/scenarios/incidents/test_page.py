"""The page about incidents lists every incident, and its commands can be run; `test_crv.py` checks its tables."""

from __future__ import annotations

import shlex
from itertools import pairwise

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

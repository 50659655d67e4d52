"""Scenarios of installed packages: found by name, after those of the library."""

from __future__ import annotations

import pytest

from mayavi.errors import SetupError, UnknownName
from mayavi.scenarios.installed import described_scenarios, find_entry, installed_scenarios
from mayavi.scenarios.loading import load_scenario, scenario_source
from tests.own_code import SAVER, SCENARIO, OwnCode

GROUP = "mayavi.scenarios"
FILES = {
    "savings/__init__.py": "from pathlib import Path\n\nLATER = Path(__file__).with_name('other.yaml')\nNUMBER = 3\n",
    "savings/saver.py": SAVER,
    "savings/saving.yaml": "title: people save\n" + SCENARIO.replace("saver:Saver", "savings.saver:Saver"),
    "savings/other.yaml": SCENARIO.replace("saver:Saver", "savings.saver:Saver").replace("steps: 2", "steps: 9"),
    "savings/broken.yaml": "steps: [\n",
}
LINES = """saving = savings
later = savings:LATER
number = savings:NUMBER
broken = savings
nowhere = savings
depeg_cascade = savings"""


@pytest.fixture(autouse=True)
def installed(own_code: OwnCode) -> None:
    own_code.install("savings", {GROUP: LINES}, FILES)


def test_a_scenario_of_a_package_is_loaded_by_name_with_its_own_agents() -> None:
    found = load_scenario("saving")
    assert (found.name, found.config.title, found.config.steps) == ("saving", "people save", 2)
    assert load_scenario("later").config.steps == 9
    assert scenario_source("saving").startswith("title: people save\n")


def test_the_library_comes_first() -> None:
    assert load_scenario("depeg_cascade").config.title != "people save"
    errors = {each.name: each.error for each in installed_scenarios()}
    assert errors["depeg_cascade"] == "'depeg_cascade' is the name of a built-in scenario; rename the entry point"


def test_those_that_cannot_be_used_say_why_and_the_others_are_listed() -> None:
    errors = {each.name: each.error for each in installed_scenarios()}
    assert errors["saving"] == errors["later"] == ""
    assert "'number' of 'savings:NUMBER' is a int, neither a module nor the path" in errors["number"]
    assert "nowhere.yaml', which does not exist" in errors["nowhere"]
    assert "broken.yaml:2:1: not YAML" in errors["broken"]
    listed = {each.name: (each.title, each.chains, each.package) for each in described_scenarios()}
    assert listed["saving"] == ("people save", ("ethereum",), "savings 1.0")
    assert set(listed) == {"saving", "later"}
    with pytest.raises(SetupError, match="which does not exist"):
        load_scenario("nowhere")


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="unknown scenario 'depeg_casade'"):
        find_entry("depeg_casade")

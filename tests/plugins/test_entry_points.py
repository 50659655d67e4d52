"""Entry points of packages: read without an import, and a broken one says why."""

from __future__ import annotations

import sys
from importlib import metadata

import pytest

from mayavi.errors import SetupError
from mayavi.plugins.entry_points import AGENTS, PROTOCOLS, SCENARIOS, find_plugin, plugins, tried
from tests.own_code import OwnCode


def test_reading_entry_points_imports_nothing(own_code: OwnCode) -> None:
    own_code.install("tools", {AGENTS: "hammer = my_tools:Hammer"}, {"my_tools.py": "class Hammer: ...\n"})
    (found,) = [each for each in plugins(AGENTS) if each.name == "hammer"]
    assert (found.distribution, found.version, found.value) == ("tools", "1.0", "my_tools:Hammer")
    assert find_plugin(AGENTS, "hammer") == found
    assert find_plugin(PROTOCOLS, "hammer") is None
    assert "my_tools" not in sys.modules
    assert found.load().__name__ == "Hammer"
    assert str(found.provenance()).startswith("my_tools of tools 1.0, sha256 ")


def test_a_broken_plugin_is_listed_with_the_last_line_of_its_traceback_and_harms_no_other(own_code: OwnCode) -> None:
    lines = "bad = my_bad:X\ngone = my_gone:X\ngood = my_tools:Hammer\nno = my_tools:Nail\ntaken = my_tools:Hammer"
    files = {"my_tools.py": "class Hammer: ...\n", "my_bad.py": "import os\n\n1 / 0\n"}
    own_code.install("tools", {AGENTS: lines}, files)
    found = {each.name: each for each in tried(AGENTS, ["taken"], lambda each: each.load())}
    assert found["good"].error == ""
    assert found["good"].to_json()["status"] == "ok"
    assert found["bad"].error == (
        "the agent kind 'bad' of 'my_bad:X' cannot be loaded: ZeroDivisionError: division by zero (my_bad.py:3)"
    )
    assert found["bad"].to_json()["status"] == "broken"
    assert found["gone"].error.endswith("ModuleNotFoundError: No module named 'my_gone'")  # no line of importlib
    assert "AttributeError: module 'my_tools' has no attribute 'Nail'" in found["no"].error
    assert found["taken"].error == "'taken' is the name of a built-in agent kind; rename the entry point"


def test_two_packages_with_the_same_name_are_refused_together(own_code: OwnCode) -> None:
    for package in ("tools", "more-tools"):
        own_code.install(package, {AGENTS: "hammer = my_tools:Hammer"}, {"my_tools.py": "class Hammer: ...\n"})
    with pytest.raises(SetupError, match=r"two packages offer the agent kind 'hammer': .*tools 1.0 and .*tools 1.0"):
        find_plugin(AGENTS, "hammer")
    errors = [each.error for each in tried(AGENTS, [], lambda each: each.load()) if each.name == "hammer"]
    assert errors == ["tools 1.0 offers the agent kind 'hammer' too; remove one of them",
                      "more-tools 1.0 offers the agent kind 'hammer' too; remove one of them"]  # fmt: skip


def test_packages_are_looked_through_once_until_one_comes_or_goes(
    own_code: OwnCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []
    really = metadata.entry_points
    monkeypatch.setattr(metadata, "entry_points", lambda **chosen: looked.append(chosen) or really(**chosen))
    own_code.install("tools", {AGENTS: "hammer = my_tools:Hammer"}, {"my_tools.py": "class Hammer: ...\n"})
    for group in (AGENTS, PROTOCOLS, SCENARIOS):
        plugins(group)
        find_plugin(group, "hammer")
    assert len(looked) == 1
    own_code.install("more-tools", {AGENTS: "nail = my_nails:Nail"}, {"my_nails.py": "class Nail: ...\n"})
    assert {"hammer", "nail"} <= {each.name for each in plugins(AGENTS)}
    own_code.forget()
    assert find_plugin(AGENTS, "nail") is None
    assert len(looked) == 3

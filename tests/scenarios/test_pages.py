"""The pages on scenarios: one for each, and whatever they tell to type is valid."""

from __future__ import annotations

import re
import shlex

import pytest

from mayavi.scenarios import registry
from mayavi.scenarios.loading import load_scenario, load_text
from mayavi.scenarios.models.agents.kinds import AgentModel
from tests.pages import REPOSITORY, page, pages

PAGE = page("how-to/write-a-scenario.md")


def test_every_scenario_has_a_page_and_a_line_in_the_table() -> None:
    names = {entry.name for entry in registry.entries()}
    assert {each.path.stem for each in pages("reference/scenarios")} == names
    for name in names:
        assert f"[{name}](../reference/scenarios/{name}.md)" in PAGE.text


def test_the_examples_of_the_page_are_valid() -> None:
    first, *parts = PAGE.blocks("yaml")
    assert load_text(f"name: page\n{first}").config.steps == 48
    assert len(parts) == 2
    PAGE.execute(PAGE.only_block("python"))


def test_every_kind_of_agent_and_every_process_stands_on_the_page() -> None:
    from typing import get_args

    for model in get_args(get_args(AgentModel)[0]):
        for kind in get_args(model.model_fields["kind"].annotation):
            assert f"`{kind}`" in PAGE.text
    from mayavi.scenarios.models.prices import Price

    for model in get_args(get_args(Price)[0]):
        for process in get_args(model.model_fields["process"].annotation):
            assert f"`{process}`" in PAGE.text


def test_the_page_of_keys_is_what_the_schema_says_and_no_key_is_left_unexplained() -> None:
    import runpy

    keys = page("reference/scenario-keys.md").text
    written: str = runpy.run_path(str(REPOSITORY / "tools/generate_scenario_keys.py"))["page"]()
    assert keys == written, "run tools/generate_scenario_keys.py"
    for section in keys.split("\n## ")[1:]:
        for line in section.splitlines():
            assert not re.fullmatch(r"\| [^|]* \|\s*\|", line) or line == "| key | |", line


@pytest.mark.parametrize("name", registry.names())
def test_every_override_that_a_page_offers_is_valid(name: str) -> None:
    text = re.sub(r"\s*\n\s*", " ", page(f"reference/scenarios/{name}.md").text)
    offered = re.findall(r"((?:--set (?:'[^']*'|[^\s'`]+)\s?)+)", text)
    for command in offered:
        words = shlex.split(command)
        overrides = [word for word in words if word != "--set"]
        if "cWETHv3" in command or "..." in command:
            continue
        load_scenario(name, overrides=overrides)
    assert offered

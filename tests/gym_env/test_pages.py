"""The page on environments names every setting with its default; tests/test_pages.py runs its examples."""

from __future__ import annotations

import re

import pytest

from mayavi.gym_env import entry
from mayavi.gym_env.registry import MULTI_AGENT
from tests.gym_env.variants import OURS
from tests.pages import page

PAGE = page("reference/environments.md")


REST_OF = {"aave-shock": "aave", "compound": "aave", "market": "liquidator"}
"""Whose section has the settings that another does not repeat."""


@pytest.mark.parametrize("name", [*OURS, *MULTI_AGENT])
def test_every_setting_is_on_the_page_with_its_default(name: str) -> None:
    told = {**(settings_of(REST_OF[name]) if name in REST_OF else {}), **settings_of(name)}
    fields = entry(name).load().config_type.model_fields
    common = {"chain", "split", "start", "actions"}
    assert set(told) == set(fields) - common
    for key, default in told.items():
        value = fields[key].default
        assert default == ("none" if value is None else str(value)), key


def settings_of(name: str) -> dict[str, str]:
    """What the section of an environment says of its settings."""
    section = re.split(r"^## ", PAGE.text, flags=re.MULTILINE)
    (text,) = [each for each in section if each.startswith(f"{name}\n")]
    (table,) = re.findall(r"^\| setting \|.*?\n\n", text, re.MULTILINE | re.DOTALL)
    told: dict[str, str] = {}
    for settings, defaults in re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (.*?) \|", table, re.MULTILINE):
        keys = re.findall(r"`(\w+)`", settings)
        values = re.findall(r"\(.*?\)|[^,\s][^,]*", defaults)
        assert len(keys) == len(values), settings
        told |= dict(zip(keys, values, strict=True))
    return told


def test_every_environment_is_in_the_table() -> None:
    text = PAGE.text
    for each in OURS.values():
        assert f"`{each.id}` | {each.about} |" in text

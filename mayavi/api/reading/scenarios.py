"""Scenarios of the library: list, text and schema. Nothing here changes while the service runs."""

from __future__ import annotations

from functools import cache
from typing import Any

import yaml

from mayavi.api.models.base import Listing
from mayavi.api.models.scenarios import ScenarioDetails, ScenarioSummary
from mayavi.api.reading.ids import unknown
from mayavi.api.reading.scenario_schema import schema_with_defaults


@cache
def scenario_list() -> Listing[ScenarioSummary]:
    """List the scenarios that can be run."""
    from mayavi.scenarios.registry import names

    items = [summary(name) for name in names()]
    return Listing[ScenarioSummary](items=items, total=len(items))


@cache
def summary(name: str) -> ScenarioSummary:
    """Describe a scenario."""
    from mayavi.scenarios.registry import entry

    found = entry(name)
    written = yaml.safe_load(found.path.read_text(encoding="utf-8"))
    return ScenarioSummary(
        name=name,
        description=found.title,
        chains=list(found.chains),
        chain=str(written["chain"]),
        steps=int(written["steps"]),
    )


def details(name: str) -> ScenarioDetails:
    """Describe a scenario, with its file as written; 404 for an unknown one."""
    from mayavi.scenarios.loading import scenario_source

    name = _known(name)
    return ScenarioDetails(**summary(name).model_dump(), yaml=scenario_source(name))


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of scenarios with the values of this one as defaults; 404 for an unknown one."""
    return _schema(_known(name))


@cache
def _schema(name: str) -> dict[str, Any]:
    from mayavi.scenarios.loading import load_scenario

    return schema_with_defaults(_schema_of_all(), yaml.safe_load(load_scenario(name).text))


@cache
def _schema_of_all() -> dict[str, Any]:
    """Return the schema that all scenarios share; making it takes most of a second."""
    from mayavi.scenarios.schema import json_schema

    return json_schema(own_code=False)


def _known(name: str) -> str:
    from mayavi.scenarios.registry import names

    known = names()
    if name not in known:
        raise unknown("scenario", name, known)
    return name

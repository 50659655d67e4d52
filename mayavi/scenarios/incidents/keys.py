"""Keys of an incident's scenarios that a counterfactual can change, with their values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mayavi.scenarios.document_kind import SCENARIO
from mayavi.scenarios.incidents.registry import Incident
from mayavi.scenarios.loading import load_scenario
from mayavi.scenarios.models.assumptions.found import find_assumptions
from mayavi.settings.document import Document

_NO_CHANGE = frozenset({"name", "title", "chain", "chains", "seed"})
_LONGEST = 40


def counterfactual_keys(incident: Incident, runs: Sequence[str] = ()) -> dict[str, dict[str, str]]:
    """Return the value of each key by run: what the scenario files write, and the assumptions that they leave out."""
    found: dict[str, dict[str, str]] = {}
    for run in runs or incident.config.runs:
        scenario = load_scenario(incident.scenario(run))
        data = Document.parse(scenario.text, scenario.origin, kind=SCENARIO).data
        values = {each.path: each.base for each in find_assumptions(scenario.config, data)}
        values |= dict(_leaves(data))
        for path, value in values.items():
            if path not in _NO_CHANGE:
                found.setdefault(path, {})[run] = value
    return dict(sorted(found.items()))


def _leaves(data: Mapping[str, Any], place: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    for key, value in data.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*place, str(key)))
        else:
            text = json.dumps(value, default=str) if isinstance(value, dict | list) else str(value)
            yield ".".join((*place, str(key))), text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

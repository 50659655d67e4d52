"""The JSON Schema of scenario files, for editors: completion, hover texts, red lines under mistakes."""

from __future__ import annotations

from typing import Any

from mayavi.scenarios.config import CHAINS, ScenarioConfig

HINT = "# yaml-language-server: $schema=scenario.schema.json"
"""The first line of a scenario tells an editor where its schema is: beside it, as `scenario.schema.json`."""


def json_schema() -> dict[str, Any]:
    """The schema of a scenario file. `chains` may be a mapping there: what differs on each chain."""
    schema = ScenarioConfig.model_json_schema(mode="validation")
    properties = schema["properties"]
    names = properties["chains"] | {"description": "the chains it can be run on"}
    differing = {"type": ["object", "null"], "properties": {key: properties[key] for key in properties}}
    by_chain = {
        "type": "object",
        "description": "what differs on each chain it can be run on",
        "properties": dict.fromkeys(CHAINS, differing),
        "additionalProperties": False,
    }
    names.pop("title", None)
    properties["chains"] = {"anyOf": [names, by_chain]}
    schema["required"] = [name for name in schema["required"] if name not in {"name", "chains"}]
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Mayavi scenario"
    return schema

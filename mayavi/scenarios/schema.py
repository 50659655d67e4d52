"""The JSON Schema of scenario files, for editors: completion, hover texts, red lines under mistakes."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType
from typing import Any

from mayavi.scenarios.models import agents as agent_models
from mayavi.scenarios.models import config
from mayavi.scenarios.models import distributions as distribution_models
from mayavi.scenarios.models import prices as price_models
from mayavi.scenarios.models.config import CHAINS, ScenarioConfig

HINT = "# yaml-language-server: $schema=scenario.schema.json"
"""The first line of a scenario tells an editor where its schema is: beside it, as `scenario.schema.json`."""


def json_schema() -> dict[str, Any]:
    """The schema of a scenario file. `chains` may be a mapping there: what differs on each chain."""
    schema = ScenarioConfig.model_json_schema(mode="validation")
    texts = [_field_texts(module) for module in (agent_models, config, distribution_models, price_models)]
    _describe(schema, {name: fields for each in texts for name, fields in each.items()})
    properties = schema["properties"]
    names = {key: value for key, value in properties["chains"].items() if key != "title"}
    # Parts of anything may stand there, so only the first keys are checked.
    differing = {"type": ["object", "null"], "propertyNames": {"enum": sorted(set(properties) - {"chains", "name"})}}
    by_chain = {
        "type": "object",
        "description": "what differs on each chain it can be run on",
        "properties": dict.fromkeys(CHAINS, differing),
        "additionalProperties": False,
    }
    properties["chains"] = {"anyOf": [names, by_chain], "description": "where it can be run"}
    schema["required"] = [name for name in schema["required"] if name not in {"name", "chains"}]
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Mayavi scenario"
    return schema


def _describe(schema: dict[str, Any], texts: dict[str, dict[str, str]]) -> None:
    """What stands below a field in the source becomes its description: an editor shows it."""
    bases = {model: [base.__name__ for base in _class(model).__mro__] for model in schema["$defs"] if _class(model)}
    for name, model in [(ScenarioConfig.__name__, schema), *schema["$defs"].items()]:
        for each in bases.get(name, [name]):
            for field, text in texts.get(each, {}).items():
                if field in model.get("properties", {}):
                    model["properties"][field].setdefault("description", text)


def _class(name: str) -> Any:
    modules = (agent_models, config, distribution_models, price_models)
    return next((getattr(module, name) for module in modules if hasattr(module, name)), None)


def _field_texts(module: ModuleType) -> dict[str, dict[str, str]]:
    """By class and field: the text that follows the field."""
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if not isinstance(node, ast.ClassDef):
            continue
        texts = found[node.name] = {}
        for field, below in zip(node.body, node.body[1:], strict=False):
            written = below.value if isinstance(below, ast.Expr) else None
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(written, ast.Constant)
                and isinstance(written.value, str)
            ):
                target = field.target
                texts[target.id if isinstance(target, ast.Name) else ""] = " ".join(written.value.split())
    return found

"""JSON Schema of scenario files, with which editors complete, describe and check keys."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType
from typing import Any

from mayavi.scenarios.models import config, learner, prices
from mayavi.scenarios.models.agents import lending, oracle, positions, recorded, shared, trading
from mayavi.scenarios.models.agents.kinds import KINDS
from mayavi.scenarios.models.chain import morpho, new_exchanges, new_markets, own_contracts, own_protocols, parameters
from mayavi.scenarios.models.config import ALL_CHAINS, ScenarioConfig
from mayavi.scenarios.models.values import distributions

_MODULES = (
    *(config, learner, prices, distributions),
    *(shared, lending, oracle, positions, recorded, trading),
    *(morpho, new_exchanges, new_markets, own_contracts, own_protocols, parameters),
)

HINT = "# yaml-language-server: $schema=scenario.schema.json"
"""First line of a scenario: editors find the schema beside it, as `scenario.schema.json`."""


def json_schema(*, own_code: bool = True) -> dict[str, Any]:
    """Return the schema of scenario files, in which `chains` may also be a mapping of what differs on each.

    With `own_code`, agents and protocols may be those of other packages, named by an import path or an entry point.
    """
    schema = ScenarioConfig.model_json_schema(mode="validation")
    texts = [_field_texts(module) for module in _MODULES]
    _describe(schema, {name: fields for each in texts for name, fields in each.items()})
    properties = schema["properties"]
    if own_code:
        _add_own_code(schema)
    else:
        del properties["protocols"], schema["$defs"]["OwnProtocolSettings"]
    names = {key: value for key, value in properties["chains"].items() if key != "title"}
    # It may hold parts of any setting, so only its first keys are checked.
    differing = {"type": ["object", "null"], "propertyNames": {"enum": sorted(set(properties) - {"chains", "name"})}}
    by_chain = {
        "type": "object",
        "description": "what differs on each chain",
        "properties": dict.fromkeys(ALL_CHAINS, differing),
        "additionalProperties": False,
    }
    properties["chains"] = {"anyOf": [names, by_chain], "description": "chains it can run on"}
    schema["required"] = [name for name in schema["required"] if name not in {"name", "chains"}]
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Mayavi scenario"
    return schema


def _add_own_code(schema: dict[str, Any]) -> None:
    """Allow agents and protocols that only their own models know."""
    from mayavi.plugins.entry_points import AGENTS, plugins

    installed = sorted({each.name for each in plugins(AGENTS)} - KINDS)
    named = [{"pattern": ":"}, *([{"enum": installed}] if installed else [])]
    kind = {"type": "string", "anyOf": named, "description": "an import path, my_agents:Saver, or an installed kind"}
    own = {"type": "object", "title": "Own agent", "properties": {"kind": kind}, "required": ["kind"]}
    schema["properties"]["agents"]["additionalProperties"]["oneOf"].append(own)
    schema["$defs"]["OwnProtocolSettings"]["additionalProperties"] = True


def _describe(schema: dict[str, Any], texts: dict[str, dict[str, str]]) -> None:
    """Add the docstrings below fields as descriptions.

    pydantic's `use_attribute_docstrings` would do it when models are imported, and double their import time.
    """
    bases = {model: [base.__name__ for base in _class(model).__mro__] for model in schema["$defs"] if _class(model)}
    for name, model in [(ScenarioConfig.__name__, schema), *schema["$defs"].items()]:
        for each in bases.get(name, [name]):
            for field, text in texts.get(each, {}).items():
                if field in model.get("properties", {}):
                    model["properties"][field].setdefault("description", text)


def _class(name: str) -> Any:
    return next((getattr(module, name) for module in _MODULES if hasattr(module, name)), None)


def _field_texts(module: ModuleType) -> dict[str, dict[str, str]]:
    """Return the docstring below each field, by class and field."""
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

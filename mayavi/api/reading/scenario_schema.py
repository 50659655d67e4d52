"""JSON Schema of one scenario: the schema of scenarios with its values as defaults, for forms."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

Schema = dict[str, Any]
_OPTION = re.compile(r"; `--[a-z-]+`\s+overrides it")


def schema_with_defaults(schema: Schema, values: dict[str, Any]) -> Schema:
    """Return `schema` with `values` as defaults, at every depth.

    Each named part, an agent or a price, gets a property of its own with the schema of its kind.
    """
    filled: Schema = _without_options(deepcopy(schema))
    definitions = filled.get("$defs", {})
    for name, part in filled["properties"].items():
        if name in values:
            filled["properties"][name] = _filled(part, values[name], definitions)
    return filled


def _without_options(part: Any) -> Any:
    """Remove what descriptions say about options of the command line, which a form does not have."""
    if isinstance(part, list):
        return [_without_options(each) for each in part]
    if not isinstance(part, dict):
        return part
    found = {key: _without_options(each) for key, each in part.items()}
    if isinstance(text := found.get("description"), str):
        found["description"] = _OPTION.sub("", text)
    return found


def _filled(part: Schema, value: Any, definitions: Schema) -> Schema:
    """Return the part of a schema with the default `value`, and with those of its properties."""
    filled = {**part, "default": value}
    if not isinstance(value, dict):
        return filled
    own = _resolved(part, value, definitions)
    if own is not part and own.get("type") == "object":
        kept = {key: each for key, each in part.items() if key in {"title", "description"}}
        filled = {**own, **kept, "default": value}
    properties = dict(own.get("properties", {}))
    for name, each in value.items():
        inner = properties.get(name) or _of_any_name(own)
        if inner is not None:
            properties[name] = _filled(inner, each, definitions)
    return {**filled, "properties": properties} if properties else filled


def _resolved(part: Schema, value: dict[str, Any], definitions: Schema) -> Schema:
    """Return the schema of the kind that `value` is of."""
    if isinstance(reference := part.get("$ref"), str):
        return _resolved(_definition(reference, definitions), value, definitions)
    discriminator = part.get("discriminator")
    if isinstance(discriminator, dict):
        tag = value.get(discriminator.get("propertyName", ""))
        reference = discriminator.get("mapping", {}).get(tag)
        return part if reference is None else _resolved({"$ref": reference}, value, definitions)
    for choices in (part.get("anyOf"), part.get("oneOf"), part.get("allOf")):
        for choice in choices or ():
            found = _resolved(choice, value, definitions)
            if found.get("type") == "object" and _accepts(found, value):
                return found
    return part


def _accepts(schema: Schema, value: dict[str, Any]) -> bool:
    """Whether an object schema has all keys of `value`, and requires no other."""
    if not set(schema.get("required", ())) <= set(value):
        return False
    return _of_any_name(schema) is not None or set(value) <= set(schema.get("properties", ()))


def _of_any_name(schema: Schema) -> Schema | None:
    """Return the schema of values under names that the file chooses."""
    patterns = schema.get("patternProperties")
    found = next(iter(patterns.values())) if patterns else schema.get("additionalProperties")
    return found if isinstance(found, dict) else None


def _definition(reference: str, definitions: Schema) -> Schema:
    found: Schema = definitions.get(reference.removeprefix("#/$defs/"), {})
    return found

"""From data to a checked model; what does not fit becomes an error with its place, the value and what would fit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mayavi.errors import BadScenario, did_you_mean
from mayavi.settings.document import Document, Place, dotted
from mayavi.settings.model import Model

M = TypeVar("M", bound=Model)

_SHOWN = 5
_PLACE = re.compile(r"^.*?:\d+:\d+: ")
_EXPECTED = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
}
_LIKE = {
    "int_type": "digits alone, such as 100 or 5_000",
    "int_parsing": "digits alone, such as 100 or 5_000",
    "int_from_float": "digits alone, such as 100 or 5_000",
    "list_type": "write it in brackets: [1.05, 2.5]",
    "tuple_type": "write it in brackets: [1.05, 2.5]",
    "dict_type": "write it in braces: {USDC: 5_000}",
    "model_type": "write it in braces, or indented below: {key: value}",
    "model_attributes_type": "write it in braces, or indented below: {key: value}",
}


def checked(model: type[M], document: Document) -> M:
    """`document` as a `model`; `BadScenario` with everything that is wrong, the first in its message."""
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        found = [_told(document, each) for each in _fitting(document, error.errors(include_url=False))]
    first, *others = _by_place(found)
    hints = [first.hint] if first.hint else []
    hints += [f"also {each.message}" for each in others[:_SHOWN]]
    if len(others) > _SHOWN:
        hints.append(f"and {len(others) - _SHOWN} more")
    raise BadScenario(first.message, "\n".join(hints) or None)


def _fitting(document: Document, errors: Iterable[ErrorDetails]) -> list[ErrorDetails]:
    """Where a value may have several forms, what is wrong with it in the form it has, not that it has no other.

    A word is measured by the words that may stand there, a mapping by its keys.
    """
    placed = [(each, _place(document.data, each["loc"])[0]) for each in errors]
    deeper = {place[:length] for _, place in placed for length in range(len(place))}
    better = {place for each, place in placed if each["type"] not in _EXPECTED}
    kept = []
    for each, place in placed:
        other_form = each["type"] in _EXPECTED and place in better
        no_word = each["type"] == "literal_error" and isinstance(each["input"], dict) and place in deeper
        if not other_form and not no_word:
            kept.append(each)
    return kept


def _by_place(errors: Iterable[BadScenario]) -> list[BadScenario]:
    """Each message once, in the order of the file as pydantic found them."""
    once: dict[str, BadScenario] = {}
    for error in errors:
        once.setdefault(_PLACE.sub("", error.message), error)
    return list(once.values())


def _told(document: Document, error: ErrorDetails) -> BadScenario:
    place, missing = _place(document.data, error["loc"])
    kind, facts = error["type"], error.get("ctx", {})
    if kind == "missing":
        where = dotted(place)
        return document.fault(place, f"'{missing}' is missing" + (f" from {where}" if place else ""))
    if kind == "unknown_keys":
        key, known = facts["keys"][0], facts["known"]
        inside = f" in {dotted(place)}" if place else ""
        hint = did_you_mean(key, known) or f"known here: {', '.join(known)}"
        return document.fault((*place, key), f"unknown key '{key}'{inside}", hint, key=True)
    name = dotted(place)
    if kind in {"union_tag_invalid", "union_tag_not_found"}:
        return _wrong_tag(document, place, error)
    if kind == "literal_error":
        allowed = [each.strip(" '") for each in facts["expected"].replace(" or ", ",").split(",")]
        message = f"{name} is {_value(error['input'])}, and may be {_listed(allowed)}"
        return document.fault(place, message, did_you_mean(str(error["input"]), allowed))
    if kind in _EXPECTED:
        return document.fault(place, f"{name} is {_value(error['input'])}, not {_EXPECTED[kind]}", _LIKE.get(kind))
    if kind in {"greater_than", "greater_than_equal", "less_than", "less_than_equal"}:
        bound = next(iter(facts.values()))
        words = {"greater_than": "above", "greater_than_equal": "at least", "less_than": "below"}
        limit = f"{words.get(kind, 'at most')} {bound:,}"
        return document.fault(place, f"{name} is {_value(error['input'])}, and must be {limit}")
    if kind in {"too_short", "too_long"}:
        few = kind == "too_short"
        bound = facts["min_length" if few else "max_length"]
        needs = f"{'at least' if few else 'at most'} {bound}"
        advice = "`mayavi scenarios new FILE` writes a scenario that has some" if place == ("agents",) else None
        return document.fault(place, f"{name} has {facts['actual_length']} entries, and needs {needs}", advice)
    if kind in {"quantity", "rule"}:
        subject = f"{name} " if kind == "quantity" else ""
        extra = tuple(facts.get("at", ()))
        involved = [(*place, *extra), *((*place, *each) for each in facts.get("involved", ()))]
        typed = list(dict.fromkeys(option for each in involved if each for option in document.options(each)))
        if typed:  # what was typed made the conflict, not the file
            return BadScenario(f"{' with '.join(typed)}: {subject}{facts['message']}", facts.get("hint"))
        return document.fault((*place, *extra), f"{subject}{facts['message']}", facts.get("hint"))
    return document.fault(place, f"{name}: {error['msg'][:1].lower()}{error['msg'][1:]}")


def _wrong_tag(document: Document, place: Place, error: ErrorDetails) -> BadScenario:
    facts, value = error["ctx"], error["input"]
    key = str(facts["discriminator"]).strip("'").removesuffix("()")
    own = f"'{key}'" if key in {"kind", "process"} else "form"
    expected = [each.strip(" '") for each in str(facts.get("expected_tags", "")).split(",") if each.strip()]
    name = dotted(place)
    if error["type"] == "union_tag_not_found":
        if not isinstance(value, dict):
            return document.fault(place, f"{name} is {_value(value)}, not a mapping of keys to values")
        return document.fault(place, f"{name} does not say its {own}", f"such as `{key}: …`" if own != "form" else None)
    tag = str(facts["tag"])
    at = (*place, key) if isinstance(value, dict) and key in value else place
    message = f"unknown {own.strip(chr(39))} '{tag}' of {name}"
    return document.fault(at, message, did_you_mean(tag, expected) or f"there are: {', '.join(expected)}")


def _place(data: Any, loc: tuple[int | str, ...]) -> tuple[Place, str]:
    """The way in the data: pydantic's own, less the names of the models it chose. And what it could not find."""
    place: list[int | str] = []
    missing = ""
    for step in loc:
        if isinstance(data, dict) and str(step) in data:
            data, missing = data[str(step)], ""
            place.append(str(step))
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data, missing = data[step], ""
            place.append(step)
        else:
            missing = str(step)
    return tuple(place), missing


def _value(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return f"'{str(value).lower()}'"
    return f"'{value}'"


def _listed(names: list[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"

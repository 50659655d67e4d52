"""Validate data with a pydantic model and turn its `ValidationError` into an error for users.

The message names the problem, the position (file, line and column if known), the value and the allowed values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mayavi.errors import UsageError, did_you_mean
from mayavi.settings.document_kind import DocumentKind, Place, dotted
from mayavi.settings.model import Model

if TYPE_CHECKING:
    from mayavi.settings.document import Document

M = TypeVar("M", bound=Model)

_MAX_OTHERS = 5
_POSITION = re.compile(r"^.*?:\d+:\d+: ")
EXPECTED = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "decimal_type": "a number",
    "decimal_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text",
    "none_required": "empty",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
}
"""What a value must be, by pydantic's type of error."""
_EXAMPLES = {
    "int_type": "digits alone, such as 100 or 5_000",
    "int_parsing": "digits alone, such as 100 or 5_000",
    "int_from_float": "digits alone, such as 100 or 5_000",
    "list_type": "write it in brackets: [1.05, 2.5]",
    "tuple_type": "write it in brackets: [1.05, 2.5]",
    "dict_type": "write it in braces: {USDC: 5_000}",
    "model_type": "write it in braces, or indented below: {key: value}",
    "model_attributes_type": "write it in braces, or indented below: {key: value}",
}
LIMITS = {
    "greater_than": "above",
    "greater_than_equal": "at least",
    "less_than": "below",
    "less_than_equal": "at most",
}
"""Words before a limit, by pydantic's type of error."""


def checked(model: type[M], document: Document) -> M:
    """Validate `document`; raise its kind's error with the first problem as message and the others as hints."""
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        raise user_error(error, document) from None


def checked_values(model: type[M], values: Mapping[str, Any], kind: DocumentKind) -> M:
    """Validate values that do not come from a file; raise the same errors as `checked`, without a position."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        from mayavi.settings.document import Document

        raise user_error(error, Document(dict(values), "", kind=kind)) from None


def user_error(error: ValidationError, document: Document) -> UsageError:
    """Convert pydantic's error about `document` to the error of its kind."""
    return joined(_describe(document, each) for each in _relevant(document, error.errors(include_url=False)))


def joined(errors: Iterable[UsageError]) -> UsageError:
    """Return the first of `errors` with the others as hints."""
    first, *others = _unique(errors)
    hints = [first.hint] if first.hint else []
    hints += [f"also {each.message}" for each in others[:_MAX_OTHERS]]
    if len(others) > _MAX_OTHERS:
        hints.append(f"and {len(others) - _MAX_OTHERS} more")
    return type(first)(first.message, "\n".join(hints) or None)


def _relevant(document: Document, errors: Iterable[ErrorDetails]) -> list[ErrorDetails]:
    """Drop errors from those members of a union that do not match the value's type.

    Text is checked only against literals, a mapping only against models. A list with a wrong entry is not too short.
    """
    placed = [(each, _place(document.data, each["loc"])[0]) for each in errors]
    deeper = {place[:length] for _, place in placed for length in range(len(place))}
    better = {place for each, place in placed if each["type"] not in EXPECTED}
    kept = []
    for each, place in placed:
        other_type = each["type"] in EXPECTED and place in better
        literal_for_mapping = each["type"] == "literal_error" and isinstance(each["input"], dict) and place in deeper
        wrong_entry = each["type"] == "too_short" and place in deeper
        if not other_type and not literal_for_mapping and not wrong_entry:
            kept.append(each)
    return kept


def _unique(errors: Iterable[UsageError]) -> list[UsageError]:
    """Drop errors that repeat a message at another position; keep pydantic's order."""
    by_message: dict[str, UsageError] = {}
    for error in errors:
        by_message.setdefault(_POSITION.sub("", error.message), error)
    return list(by_message.values())


def _describe(document: Document, error: ErrorDetails) -> UsageError:
    """Convert one of pydantic's errors to an error for users."""
    kind = error["type"]
    place, missing = _place(document.data, error["loc"])
    if kind == "missing":
        return _missing(document, place, missing)
    if kind == "unknown_keys":
        return _unknown_key(document, place, error["ctx"])
    if kind in {"union_tag_invalid", "union_tag_not_found"}:
        return _wrong_tag(document, place, error)
    if kind in {"quantity", "rule"}:
        return _broken_rule(document, place, error)
    name, value, facts = document.kind.subject(place), _format_value(document, error["input"]), error.get("ctx", {})
    if kind == "literal_error":
        allowed = [each.strip(" '") for each in facts["expected"].replace(" or ", ",").split(",")]
        hint = did_you_mean(str(error["input"]), allowed)
        return document.fault(place, f"{name} is {value}, and may be {_quoted_list(allowed)}", hint)
    if kind in EXPECTED:
        return document.fault(place, f"{name} is {value}, not {EXPECTED[kind]}", _EXAMPLES.get(kind))
    if kind in LIMITS:
        return document.fault(place, f"{name} is {value}, and must be {LIMITS[kind]} {next(iter(facts.values())):,}")
    if kind in {"too_short", "too_long"}:
        short = kind == "too_short"
        needs = f"{'at least' if short else 'at most'} {facts['min_length' if short else 'max_length']}"
        message = f"{name} has {facts['actual_length']} entries, and needs {needs}"
        return document.fault(place, message, document.kind.place_hints.get(place))
    if kind in {"string_too_short", "string_too_long"}:
        short = kind == "string_too_short"
        needs = f"{'at least' if short else 'at most'} {facts['min_length' if short else 'max_length']:,}"
        return document.fault(place, f"{name} is {value}, and must have {needs} characters")
    if kind == "string_pattern_mismatch":
        return document.fault(place, f"{name} is {value}, and must match {facts['pattern']}")
    if kind == "multiple_of":
        return document.fault(place, f"{name} is {value}, and must be a multiple of {facts['multiple_of']}")
    return _other(document, place, error)


def _missing(document: Document, place: Place, missing: str) -> UsageError:
    kind = document.kind
    if missing.isdigit():  # a tuple that is too short
        value = _format_value(document, _value_at(document.data, place))
        return document.fault(place, f"{kind.subject(place)} is {value}: number {int(missing) + 1} of it is missing")
    hint, tag_option = kind.place_hints.get((*place, missing)), document.tag_option(place)
    if kind.owner is not None:
        return document.fault(place, f"{kind.owner} needs '{'.'.join(map(str, (*place, missing)))}'", hint)
    message = f"'{missing}' is missing" + (f" from {kind.subject(place)}" if place else "")
    return document.fault(place, message, hint or (tag_option and _replace_hint(tag_option)), cause=tag_option)


def _unknown_key(document: Document, place: Place, facts: Mapping[str, Any]) -> UsageError:
    kind, key, known = document.kind, str(facts["keys"][0]), [str(each) for each in facts["known"]]
    nearest = did_you_mean(key, [*known, *kind.other_keys]) or kind.keys_hint
    if kind.owner is not None and not place:
        message, hint = f"{kind.owner} has no setting '{key}'", nearest or f"it has {', '.join(known)}"
    else:
        message = f"unknown key '{key}'" + (f" in {kind.subject(place)}" if place else "")
        hint = nearest or f"known here: {', '.join(known)}"
    within, tag_option = document.options((*place, key)), document.tag_option(place)
    if not within and tag_option is not None:  # the file's key fitted what the option replaced
        return document.fault((*place, key), message, f"{_replace_hint(tag_option)}; {hint}", cause=tag_option)
    return document.fault((*place, key), message, hint, key=True, cause=" with ".join(within) or None)


def _replace_hint(option: str) -> str:
    """Hint for keys of a file that do not fit a `kind` or `process` that an option selected."""
    flag, _, setting = option.partition(" ")
    path, _, tag = setting.partition("=")
    mapping, _, key = path.rpartition(".")
    return f"replace all of it: {flag} '{mapping}={{{key}: {tag}, …}}'"


def _broken_rule(document: Document, place: Place, error: ErrorDetails) -> UsageError:
    """Convert an error of Mayavi's own validators, which contains message, hint and the places involved."""
    facts = error["ctx"]
    subject = f"{document.kind.subject(place)} " if error["type"] == "quantity" else ""
    extra = tuple(facts.get("at", ()))
    involved = [(*place, *extra), *((*place, *each) for each in facts.get("involved", ()))]
    options = list(dict.fromkeys(option for each in involved if each for option in document.options(each)))
    if options:  # the command line caused the conflict, not the file
        return document.kind.error(f"{' with '.join(options)}: {subject}{facts['message']}", facts.get("hint"))
    return document.fault((*place, *extra), f"{subject}{facts['message']}", facts.get("hint"))


def _other(document: Document, place: Place, error: ErrorDetails) -> UsageError:
    """Convert any other error. In a `ValueError` the text after "; " is the hint."""
    from pydantic_core.core_schema import ErrorType

    name = document.kind.subject(place)
    message, hint = error["msg"], ""
    if error["type"] in {"value_error", "assertion_error"}:
        message, _, hint = str(error["ctx"]["error"]).partition("; ")
    elif error["type"] in get_args(ErrorType):  # pydantic's words say nothing to a user
        value = _format_value(document, error["input"])
        return document.fault(place, f"{name} is {value}, and cannot be that", document.kind.place_hints.get(place))
    if not place and document.kind.owner is not None:  # a conflict of several settings
        return document.fault(place, message, hint or None)
    value = "" if document.kind.owner is None else f" is {_format_value(document, error['input'])}"
    return document.fault(place, f"{name}{value}: {message}", hint or None)


def _wrong_tag(document: Document, place: Place, error: ErrorDetails) -> UsageError:
    facts, value = error["ctx"], error["input"]
    key = str(facts["discriminator"]).strip("'").removesuffix("()")
    tagged = key in document.kind.tag_keys  # else the type of the value selects the model
    expected = [each.strip(" '") for each in str(facts.get("expected_tags", "")).split(",") if each.strip()]
    name = document.kind.subject(place)
    if error["type"] == "union_tag_not_found":
        if not isinstance(value, dict):
            return document.fault(place, f"{name} is {_format_value(document, value)}, not a mapping of keys to values")
        if not tagged and len(value) > 1:
            return _several_forms(document, place, value)
        own, hint = (f"'{key}'", f"such as `{key}: …`") if tagged else ("form", None)
        return document.fault(place, f"{name} does not say its {own}", hint)
    tag = str(facts["tag"])
    at = (*place, key) if isinstance(value, dict) and key in value else place
    message = f"unknown {key if tagged else 'form'} '{tag}' of {name}"
    return document.fault(at, message, did_you_mean(tag, expected) or f"there are: {', '.join(expected)}")


def _several_forms(document: Document, place: Place, value: Mapping[str, Any]) -> UsageError:
    """Describe a mapping that may have one key and has several, such as two distributions."""
    message = (
        f"{document.kind.subject(place)} has {len(value)} forms, {' and '.join(map(repr, value))}, and may have one"
    )
    options = document.options(place)
    if not options:
        return document.fault(place, message, "leave the others out")
    path = dotted(place)
    flag, _, setting = options[-1].partition(f" {path}.")
    hint = f"replace all of it: {flag} '{path}={{{setting.replace('=', ': ', 1)}}}'" if setting else None
    return document.fault(place, message, hint, cause=None if options[-1] in document.where(place) else options[-1])


def _place(data: Any, loc: tuple[int | str, ...]) -> tuple[Place, str]:
    """Convert pydantic's location to a place in the data; also return the last key that the data lacks, or ""."""
    place: list[int | str] = []
    missing = ""
    for step in loc:
        if isinstance(data, dict) and str(step) in data:
            data, missing = data[str(step)], ""
            place.append(str(step))
        elif isinstance(data, list | tuple) and isinstance(step, int) and step < len(data):
            data, missing = data[step], ""
            place.append(step)
        else:
            missing = str(step)
    return tuple(place), missing


def _value_at(data: Any, place: Place) -> Any:
    for step in place:
        data = data[step]
    return data


def _format_value(document: Document, value: Any) -> str:
    """Format a value for a message: as Python for flat settings, else as in the YAML file."""
    if document.kind.owner is not None:
        return repr(value)
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return f"'{str(value).lower()}'"
    return f"'{value}'"


def _quoted_list(names: list[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"

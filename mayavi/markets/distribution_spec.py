"""Distributions as a scenario writes them: numbers as text, percentages, `between`, weights by option."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from mayavi.errors import BadArgument

_EXAMPLES = "as in 1.5, '150%' or {uniform: [1.05, 2.5]}"
_OWN_WORDS = {"pareto": {"shape": "alpha", "maximum": "high"}}
"""By distribution: a scenario's name of a parameter, and the name it has in Python."""


def spec_of_text(text: str) -> Any:
    """Read a distribution written as YAML: `{uniform: [1.05, 2.5]}`, or a number or percentage for a constant."""
    if ":" not in text:
        return number_of(text)
    from mayavi.settings.document import Document

    return Document.parse(text, "distribution").data


def number_of(value: Any) -> Any:
    """Return a number written as text, `1_000` or `25%`, as a float; other values unchanged."""
    if isinstance(value, Decimal):
        return float(value)
    if not isinstance(value, str):
        return value
    text = value.strip().replace("_", "")
    try:
        number = Decimal(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except InvalidOperation:
        raise BadArgument(f"'{value}' is neither a number nor a distribution", _EXAMPLES) from None
    return float(number)


def parameters_of(name: str, written: Any) -> Any:
    """Return the parameters of the distribution `name` in Python's words: `low` and `high` instead of `between`."""
    if name == "choice":
        return _options_of(written)
    if isinstance(written, Mapping):
        names = _OWN_WORDS.get(name, {})
        found = {names.get(str(key), key): _numbers(value) for key, value in written.items()}
        if name in {"normal", "lognormal"} and "between" in found:
            if {"low", "high"} & set(found):
                raise BadArgument(f"{name} has 'between' and 'low' or 'high'", "give the bounds once")
            bounds = found.pop("between")
            if bounds is not None:  # empty in YAML: unbounded
                if not isinstance(bounds, list | tuple) or len(bounds) != 2:
                    raise BadArgument(f"between is '{bounds}', not two bounds", "as in between: [1, 5]")
                found["low"], found["high"] = bounds
        return found
    return _numbers(written)


def _options_of(written: Any) -> Any:
    """Return options and weights of a choice, which a scenario writes as a list or as `{option: weight}`."""
    if not isinstance(written, Mapping):
        return _options(written) if isinstance(written, list | tuple) else written
    if "options" in written:
        options = written["options"]
        return {**written, "options": _options(options) if isinstance(options, list | tuple) else options}
    return {"options": _options(list(written)), "weights": tuple(number_of(each) for each in written.values())}


def _options(written: Sequence[Any]) -> tuple[Any, ...]:
    """Return options as numbers if all are, else as they are: names."""
    try:
        return tuple(number_of(each) for each in written)
    except BadArgument:
        return tuple(written)


def _numbers(value: Any) -> Any:
    return [number_of(each) for each in value] if isinstance(value, list | tuple) else number_of(value)

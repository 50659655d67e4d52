"""Errors about a scenario as problems with line and column."""

from __future__ import annotations

import re

from mayavi.api.models.base import Problem
from mayavi.errors import UsageError

ORIGIN = "scenario"
"""Name of an inline scenario in messages: `scenario:12:5: …`."""

_OPTION = re.compile(r"^'?--(set|grid|chain|steps) ([^=\s':]+)")
_WRITTEN = re.compile(r"^(?:'--\w+ ([^']*)'|--\w+ (.*?)): ")
"""Command-line option at the start of a message. Over HTTP only its key and value are shown."""
_FIELDS = {"set": "overrides", "grid": "grid"}


def problems_of(error: UsageError, field: str, path: str = "", name: str = "") -> list[Problem]:
    """Return the problems that an error of loading a scenario names; the first one first.

    `path` is the scenario's file, which messages call by `name` instead.
    """
    own: list[str] = []
    others: list[str] = []
    for line in (error.hint or "").splitlines():
        if line.startswith("also "):
            others.append(line.removeprefix("also "))
        elif others and not line.startswith("and "):
            others[-1] += f"\n{line}"
        else:
            (others if others else own).append(line)
    found = [_problem(error.message, "\n".join(own) or None, field, path, name)]
    return found + [_problem(each, None, field, path, name) for each in others]


def _problem(message: str, hint: str | None, field: str, path: str, name: str) -> Problem:
    origin = name or ORIGIN
    message = message.replace(path, name) if path else message
    hint = hint.replace(path, name) if path and hint else hint
    place = re.match(rf"^{re.escape(origin)}(?::(\d+):(\d+))?: ", message)
    if place is not None:
        line, column = (int(each) if each else None for each in place.groups())
        return Problem(message=message[place.end() :], hint=hint, field=field, line=line, column=column)
    if option := _OPTION.match(message):
        kind, key = option.groups()
        field = f"{_FIELDS[kind]}.{key}" if kind in _FIELDS else kind
        message = _WRITTEN.sub(lambda found: f"{found[1] or found[2]}: ", message)
    return Problem(message=message, hint=hint, field=field)

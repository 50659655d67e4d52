"""Ids in paths: only full ids of known things, with the nearest one as a hint."""

from __future__ import annotations

import re
from collections.abc import Collection

from mayavi.api.errors import ApiError
from mayavi.errors import did_you_mean

_ID = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_MOST_COMPARED = 2_000
_LONGEST_SHOWN = 100
_DATED = {"run", "training"}
"""What has ids that begin with a date."""


def is_id(text: str) -> bool:
    """Whether `text` can be an id: letters, digits, `-`, `_` and `.`, and no path."""
    return bool(_ID.fullmatch(text)) and not text.startswith(".")


def unknown(kind: str, name: str, known: Collection[str], make: str = "") -> ApiError:
    """Return the 404 for a name that is not `known`; `make` says how to get one where there is none."""
    shown = name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}…"
    message = f"unknown {kind} '{shown}'"
    if not known:
        return ApiError(404, message, make or None)
    if not is_id(name):
        return ApiError(404, message, f"an id of a {kind} has letters, digits, '-' and '_' only")
    newest = sorted(known, reverse=True)[:_MOST_COMPARED]
    begun = [each for each in newest if each.startswith(name)]
    hint = f"did you mean '{begun[0]}'? Ids are given in full" if begun else did_you_mean(name, newest)
    listed = f"the newest is '{newest[0]}'" if kind in _DATED else f"`GET /{kind}s` lists them"
    return ApiError(404, message, hint or listed)

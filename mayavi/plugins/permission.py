"""Whether import paths such as `my_agents:Saver` may be used: they run the code they name."""

from __future__ import annotations

import os

from mayavi.errors import UsageError

VARIABLE = "MAYAVI_ALLOW_IMPORT_PATHS"
_OFF, _ON = {"0", "false", "no", "off"}, {"", "1", "true", "yes", "on"}


def import_paths_allowed(wanted: bool | None = None) -> bool:
    """Whether import paths may be used here: `wanted`, by default yes, unless `MAYAVI_ALLOW_IMPORT_PATHS=0`.

    The variable can only forbid: nothing in the program overrules it.
    """
    chosen = os.environ.get(VARIABLE, "").strip().lower()
    if chosen not in _OFF | _ON:
        raise UsageError(f"{VARIABLE} is '{chosen}'", "0 forbids import paths, 1 allows them")
    return chosen not in _OFF and wanted is not False


_hints: list[str] = []


def forbid_import_paths(hint: str) -> None:
    """Forbid import paths in this process and its children from now on; `hint` says how to allow them."""
    if import_paths_allowed():
        os.environ[VARIABLE] = "0"
        _hints.append(hint)


def forbidden_hint() -> str:
    """Hint for an import path where none is allowed."""
    if _hints:
        return _hints[-1]
    if not import_paths_allowed():
        return f"{VARIABLE} forbids them; an installed package can offer the same by an entry point"
    return "it would run the code it names; an installed package can offer the same by an entry point"

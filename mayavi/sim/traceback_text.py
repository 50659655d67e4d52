"""Where an agent's code broke, in text that is the same on every machine: it is part of a row, and so of the digest."""

from __future__ import annotations

import re
from pathlib import Path
from traceback import extract_tb

_PACKAGE = Path(__file__).resolve().parent.parent
_MEMORY = re.compile(r"\bat 0x[0-9a-f]{6,16}\b")


def traceback_text(error: BaseException, *, leave_out: str = "") -> str:
    """The frames from outside to inside and the error, without paths and memory addresses of this machine.

    Frames of the file named `leave_out` are left out.
    """
    lines = []
    for frame in extract_tb(error.__traceback__):
        if leave_out and frame.filename == leave_out:
            continue
        lines.append(f"{_place(frame.filename)}:{frame.lineno} in {frame.name}")
        if frame.line:
            lines.append(f"    {frame.line}")
    lines.append(error_text(error))
    lines += [str(note) for note in getattr(error, "__notes__", ())]
    return "\n".join(lines)


def error_text(error: BaseException) -> str:
    """`ValueError: what it says`."""
    text = _MEMORY.sub("at 0x…", str(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _place(filename: str) -> str:
    path = Path(filename)
    if path.is_relative_to(_PACKAGE):
        return path.relative_to(_PACKAGE.parent).as_posix()
    _, found, inside = path.as_posix().partition("/site-packages/")
    return inside if found else path.name

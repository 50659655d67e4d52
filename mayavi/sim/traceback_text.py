"""Tracebacks as text that is equal on every machine, because they are part of rows and so of the digest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb

_PACKAGE = Path(__file__).resolve().parent.parent
_FRAME = re.compile(r"\S.*:\d+ in \S+")
_MEMORY = re.compile(r"\bat 0x[0-9a-f]{6,16}\b")


def traceback_text(error: BaseException, *, leave_out: str = "") -> str:
    """Format frames, outermost first, and the error, without this machine's paths and memory addresses.

    Frames of the file `leave_out` are omitted.
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
    """Format an error as `ValueError: message`."""
    text = _MEMORY.sub("at 0x…", str(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


@dataclass(frozen=True, slots=True)
class RaisedText:
    """Parts of what `traceback_text` wrote: the error, its notes (a hint is one), and the innermost frame."""

    error: str
    """First line of `ValueError: message`."""
    notes: str
    """Further lines of the message, and notes, in one line."""
    place: str
    """Innermost frame, `agents.py:12 in step`; empty if there is none."""

    @classmethod
    def parse(cls, text: str) -> RaisedText:
        """Split the text of a traceback."""
        lines, place = text.strip().splitlines() or ["no reason"], ""
        while len(lines) > 1 and _FRAME.fullmatch(lines[0]):
            place = lines.pop(0)
            if len(lines) > 1 and lines[0].startswith("    "):
                lines.pop(0)
        return cls(lines[0], " ".join(line.strip() for line in lines[1:] if line.strip()), place)

    def __str__(self) -> str:
        at = f" ({self.place})" if self.place else ""
        return f"{self.error}{at}" + (f"; {self.notes}" if self.notes else "")


def _place(filename: str) -> str:
    path = Path(filename)
    if path.is_relative_to(_PACKAGE):
        return path.relative_to(_PACKAGE.parent).as_posix()
    _, found, inside = path.as_posix().partition("/site-packages/")
    return inside if found else path.name

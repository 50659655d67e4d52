"""The last line of a traceback, for code that is not ours."""

from __future__ import annotations

import importlib
from pathlib import Path
from traceback import extract_tb

_NOT_THEIRS = {Path(__file__).parent, Path(importlib.__file__).parent}
"""Folders whose frames say nothing about the code that failed."""


def last_line(error: BaseException) -> str:
    """Describe `error` as `NameError: name 'x' is not defined (saver.py:12)`."""
    words = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {words[-1].strip()}" if words else type(error).__name__
    if isinstance(error, SyntaxError) and error.filename:
        return f"{type(error).__name__}: {error.msg} ({Path(error.filename).name}:{error.lineno})"
    frames = [each for each in extract_tb(error.__traceback__) if not each.filename.startswith("<frozen")]
    own = [each for each in frames if not any(Path(each.filename).is_relative_to(folder) for folder in _NOT_THEIRS)]
    return f"{text} ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else text

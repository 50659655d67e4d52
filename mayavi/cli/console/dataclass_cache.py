"""Cache of the methods that `dataclasses` generates as text and compiles at every start.

A run imports more than a hundred dataclasses, and compiling their methods takes a tenth of a short command. Python
keeps the bytecode of modules only. The command line keeps that of the methods too, in one file for each command.
"""

from __future__ import annotations

import atexit
import dataclasses
from types import CodeType
from typing import Any

from mayavi.cli.console.code_files import code_folder, read_code, write_code

_MOST_METHODS = 5_000
"""Number from which on a file keeps only what its last writer used: methods of classes that changed are never used."""


def use_dataclass_cache(command: str) -> None:
    """Take methods of dataclasses from the file of `command`, and add to it at exit what it lacked."""
    if (folder := code_folder()) is None:
        return
    path = f"{folder}/dataclasses-{command}"
    found = read_code(path)
    kept: dict[str, CodeType] = found if isinstance(found, dict) else {}
    used: dict[str, CodeType] = {}

    def execute(text: str, names: dict[str, Any], result: dict[str, Any]) -> None:
        code = used[text] = kept.get(text) or compile(text, "<string>", "exec", dont_inherit=True)
        exec(code, names, result)

    def write_new() -> None:
        if not used.keys() <= kept.keys():
            write_code(path, used if len(kept) + len(used) > _MOST_METHODS else kept | used)

    dataclasses.exec = execute  # type: ignore[attr-defined]  # found there before the built-in `exec`
    atexit.register(write_new)

"""Cache of code that the standard library compiles from text at every start.

`dataclasses` generates methods as text, `collections` the constructors of named tuples, and `typing` compiles
annotations that are text. A run does that two thousand times, which takes a sixth of a short command. Python keeps the
bytecode of modules only. The command line keeps that of such texts too, in one file for each command.
"""

from __future__ import annotations

import atexit
import collections
import dataclasses
import typing
from types import CodeType
from typing import Any

from mayavi.cli.console.code_files import cache_in_use, code_folder, read_code, write_code

_MOST_TEXTS = 20_000
"""Number from which on a file keeps only what its last writer used: texts of classes that changed are never used."""

Text = tuple[str, str, str]
"""Source, file name and mode, as `compile` takes them."""


def use_compiled_texts(command: str) -> None:
    """Take the code of texts from the file of `command`, and add to it at exit what it lacked."""
    if (folder := code_folder()) is None:
        return
    path = f"{folder}/texts-{command}"
    found = read_code(path)
    kept: dict[Text, CodeType] = found if isinstance(found, dict) else {}
    used: dict[Text, CodeType] = {}

    def compiled(source: str, filename: str, mode: str) -> CodeType:
        text = (source, filename, mode)
        code = kept.get(text)
        if code is None:
            code = compile(source, filename, mode, dont_inherit=True)
        used[text] = code
        return code

    def execute(source: str, names: dict[str, Any], result: dict[str, Any]) -> None:
        exec(compiled(source, "<string>", "exec"), names, result)

    def evaluate(source: str, names: dict[str, Any]) -> Any:
        return eval(compiled(source, "<string>", "eval"), names)

    def write_new() -> None:
        if cache_in_use() and not used.keys() <= kept.keys():
            write_code(path, used if len(kept) + len(used) > _MOST_TEXTS else kept | used)

    # A module finds these names before the built-in functions.
    dataclasses.exec = execute  # type: ignore[attr-defined]
    collections.eval = evaluate  # type: ignore[attr-defined]
    typing.compile = compiled  # type: ignore[attr-defined]
    atexit.register(write_new)

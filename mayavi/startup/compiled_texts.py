"""Cache of code that the standard library compiles from text at every start.

`dataclasses` generates methods as text, `collections` the constructors of named tuples, and `typing` compiles
annotations that are text. A run does that two thousand times, which takes a sixth of a short command, and it compiles
eighty regular expressions. Python keeps the bytecode of modules only. Commands and workers keep that of such texts too,
in one file for each kind of process.
"""

from __future__ import annotations

import atexit
import collections
import dataclasses
import marshal
import re
import typing
from collections.abc import Callable
from types import CodeType
from typing import Any

from mayavi.startup.code_files import cache_in_use, code_folder, read_code, write_code

_MOST_TEXTS = 20_000
"""Most texts of a file; a larger one keeps only those its last writer used, without texts of changed classes."""

_FORM = "2"
"""Version of the file format."""

Text = tuple[str, str, str]
"""Source, file name and mode, as `compile` takes them."""

Expression = tuple[str | bytes, int]
"""Pattern and flags of a regular expression."""


def use_compiled_texts(kind: str) -> None:
    """Load compiled texts of this kind of process from its cache file, and add new ones at exit."""
    if (folder := code_folder()) is None:
        return
    path = f"{folder}/texts-{kind}"
    found = read_code(path, _FORM)
    kept: dict[Text | Expression, bytes] = found if isinstance(found, dict) else {}
    used: dict[Text | Expression, bytes] = {}

    def kept_or_made(text: Text | Expression, make: Callable[[], Any]) -> Any:
        """Return the cached code of `text`, decoded on demand; compile it if missing."""
        if (content := kept.get(text)) is not None:
            used[text] = content
            return marshal.loads(content)
        made = make()
        used[text] = marshal.dumps(made)
        return made

    def compiled(source: str, filename: str, mode: str) -> CodeType:
        code: CodeType = kept_or_made(
            (source, filename, mode), lambda: compile(source, filename, mode, dont_inherit=True)
        )
        return code

    def expression(pattern: Any, flags: int = 0) -> re.Pattern[Any]:
        if not isinstance(pattern, str | bytes) or flags & re.DEBUG:
            return original(pattern, flags)
        parts = kept_or_made((pattern, int(flags)), lambda: _expression_parts(pattern, flags))
        made: re.Pattern[Any] = compiler._sre.compile(pattern, *parts)
        return made

    def execute(source: str, names: dict[str, Any], result: dict[str, Any]) -> None:
        exec(compiled(source, "<string>", "exec"), names, result)

    def evaluate(source: str, names: dict[str, Any]) -> Any:
        return eval(compiled(source, "<string>", "eval"), names)

    def write_new() -> None:
        if cache_in_use() and not used.keys() <= kept.keys():
            write_code(path, used if len(kept) + len(used) > _MOST_TEXTS else kept | used, _FORM)

    compiler = re._compiler  # type: ignore[attr-defined]
    original: Callable[[Any, int], re.Pattern[Any]] = compiler.compile
    compiler.compile = expression
    # A module finds these names before the built-in functions.
    dataclasses.exec = execute  # type: ignore[attr-defined]
    collections.eval = evaluate  # type: ignore[attr-defined]
    typing.compile = compiled  # type: ignore[attr-defined]
    atexit.register(write_new)


def _expression_parts(pattern: str | bytes, flags: int) -> tuple[int, list[int], int, dict[str, int], tuple[Any, ...]]:
    """What `re` computes of a pattern: flags, code, number of groups, and their names in both directions."""
    compiler = re._compiler  # type: ignore[attr-defined]
    parsed = compiler._parser.parse(pattern, flags)
    names = dict(parsed.state.groupdict)
    by_number = {number: name for name, number in names.items()}
    groups = parsed.state.groups
    code = list(map(int, compiler._code(parsed, flags)))
    return int(flags | parsed.state.flags), code, groups - 1, names, tuple(map(by_number.get, range(groups)))

"""What pytest and Hypothesis compute of every source file once, shared by the workers of a test run.

Pytest rewrites the assertions of test files and keeps the result beside them; Hypothesis keeps the constants of our
modules. In a new checkout each worker would do all of it, since they begin together, for half a minute.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from _pytest.assertion import rewrite
from hypothesis.internal.constants_ast import constants_from_module


def prepare_share(config: pytest.Config, package: Path) -> None:
    """Do this worker's share of all files that its tests are in, before it collects them; nothing without workers."""
    given = getattr(config, "workerinput", None)
    if given is None or sys.dont_write_bytecode:
        return
    number, workers = int(given["workerid"].removeprefix("gw")), given["workercount"]
    for file in share(files_with_tests(config.args), number, workers):
        rewrite_assertions(file, config)
    for file in share(package.rglob("*.py"), number, workers):
        module = ModuleType(file.stem)
        module.__file__ = str(file)
        constants_from_module(module)


def share(files: Iterable[Path], number: int, workers: int) -> list[Path]:
    """Return every `workers`-th file, from file `number` on. Pytest collects files in this order too."""
    return sorted(files)[number::workers]


def files_with_tests(arguments: Iterable[str]) -> Iterator[Path]:
    """Files that pytest rewrites, in the folders and files of the command line."""
    for argument in arguments:
        root = Path(argument.partition("::")[0])
        for file in [root] if root.is_file() else root.rglob("*.py"):
            if file.name.startswith("test_") or file.name == "conftest.py":
                yield file.resolve()


def rewrite_assertions(file: Path, config: pytest.Config) -> None:
    """Rewrite one file and keep the result where pytest looks for it, unless it is there."""
    folder = rewrite.get_cache_dir(file)
    kept = folder / f"{file.stem}{rewrite.PYC_TAIL}"
    if rewrite.try_makedirs(folder) and rewrite._read_pyc(file, kept) is None:
        source_hash, code = rewrite._rewrite_test(file, config)
        rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, source_hash, kept)

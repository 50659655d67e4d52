"""What the command line may import before it knows what to do. Watched by module, not by the clock: clocks differ."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from mayavi import cli
from mayavi.cli.app import app, app_for

HEAVY = [
    "numpy",
    "mayavi._kernel",
    "mayavi.evm",
    "mayavi.worlds",
    "rich",
    "httpx",
    "pydantic",
    "sqlite3",
    "vyper",
    "eth_abi",
]

LIGHT = {
    *("__future__", "collections.abc", "dataclasses", "enum", "itertools", "os", "pathlib", "sys", "time", "typing"),
    *("typer", "mayavi", "mayavi.errors", "mayavi.setup_errors"),
}
"""What the file of a command may import at its top, beside `mayavi.cli`."""

NO_COMMANDS = {"__init__", "app", "bytecode_cache", "group", "process", "interruption", "outcome", "output", "progress"}

REPORT = "; import json, sys; print(); print(json.dumps(sorted(sys.modules)))"


def modules_after(statement: str) -> set[str]:
    finished = subprocess.run(
        [sys.executable, "-c", statement + REPORT], capture_output=True, text=True, timeout=60, check=True
    )
    return set(json.loads(finished.stdout.splitlines()[-1]))


def test_importing_the_package_imports_nothing_else() -> None:
    imported = modules_after("import mayavi")
    assert {name for name in imported if name.startswith("mayavi")} == {"mayavi"}
    assert not imported & {*HEAVY, "typer", "asyncio", "importlib.metadata"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["validate", "--help"], ["world", "build", "--help"]])
def test_help_and_version_import_nothing_heavy(arguments: list[str]) -> None:
    imported = modules_after(f"from mayavi.cli import main; assert main({arguments!r}) == 0")
    assert not imported & set(HEAVY)


def test_a_plain_demo_needs_no_drawing_library_and_no_numpy() -> None:
    imported = modules_after("from mayavi.cli import main; assert main(['demo']) == 0")
    assert not imported & {"rich", "numpy", "httpx", "pydantic", "vyper"}


def test_a_command_is_made_without_the_others() -> None:
    for words in (["run", "depeg_cascade"], ["runs", "list"], ["eval"]):
        assert list(get_command(app_for(words)).commands) == words[:1]
    everything = list(get_command(app).commands)
    for words in ([], ["--help"], ["--debug", "run"], ["rnu"], ["Run"]):
        assert list(get_command(app_for(words)).commands) == everything


COMMANDS = sorted({path.stem for path in Path(cli.__file__).parent.glob("*.py")} - NO_COMMANDS)


def test_the_commands_are_found() -> None:
    assert {"demo", "doctor", "snapshot", "validate", "world"} <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_imports_what_it_works_with_inside_its_functions(repository: Path, command: str) -> None:
    tree = ast.parse((repository / "mayavi/cli" / f"{command}.py").read_text(encoding="utf-8"))
    top = {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}
    top |= {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    assert {name for name in top if not name.startswith("mayavi.cli.")} <= LIGHT

"""What the command line may import before it knows what to do. Watched by module, not by the clock: clocks differ."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

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

"""The layer contract of docs/concepts/architecture.md holds."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


def imported_modules(source: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_calls_go_down_only(repository: Path) -> None:
    finished = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_the_kernel_is_imported_by_evm_and_by_what_must_have_the_same_bits_everywhere(repository: Path) -> None:
    """import-linter sees Python sources alone, so the compiled module is watched here."""
    users = {
        path.relative_to(repository / "mayavi").as_posix()
        for path in (repository / "mayavi").rglob("*.py")
        if any(name == "mayavi._kernel" or name.startswith("mayavi._kernel.") for name in imported_modules(path))
    }
    assert {each for each in users if not each.startswith("evm/")} == {"numerics/portable.py", "numerics/streams.py"}

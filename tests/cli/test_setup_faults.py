"""A kernel that is not built or does not load: the error names the command, and is never "unexpected"."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

NOT_BUILT = "error: the Rust kernel is not built\n  run `make setup`, which builds it\n"
COMMANDS = [
    ["demo"],
    ["world", "list"],
    ["world", "info"],
    ["world", "build"],
    ["snapshot", "info", "pyproject.toml"],
    ["snapshot", "diff", "pyproject.toml", "pyproject.toml"],
    ["validate", "blocks", "."],
]


@pytest.fixture
def without_kernel(repository: Path, tmp_path: Path) -> Path:
    """A checkout whose Python sources are ours and whose kernel was never built."""
    shutil.copytree(
        repository / "mayavi", tmp_path / "mayavi", ignore=shutil.ignore_patterns("_kernel*.so", "__pycache__")
    )
    (tmp_path / "contracts").symlink_to(repository / "contracts")
    (tmp_path / "kernel").mkdir()
    shutil.copy(repository / "kernel" / "Cargo.toml", tmp_path / "kernel")
    shutil.copy(repository / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_kernel_that_is_not_built_is_named_with_the_command(
    start_mayavi, without_kernel: Path, command: list[str]
) -> None:
    finished = start_mayavi(*command, cwd=without_kernel)
    assert (finished.returncode, finished.stdout, finished.stderr) == (1, "", NOT_BUILT)


@pytest.mark.parametrize("command", [["demo"], ["world", "list"]], ids=" ".join)
def test_a_kernel_that_does_not_load_is_named_with_the_command(
    start_mayavi, without_kernel: Path, command: list[str]
) -> None:
    (without_kernel / "mayavi/_kernel.abi3.so").write_bytes(b"\x7fELF and nothing more")
    finished = start_mayavi(*command, cwd=without_kernel)
    assert finished.returncode == 1
    first, second = finished.stderr.splitlines()
    assert first.startswith("error: the Rust kernel does not load: ")
    assert second == "  run `make clean setup`, which builds it anew"


@pytest.mark.slow(1)
def test_the_doctor_names_the_kernel_and_accuses_nothing_else(start_mayavi, without_kernel: Path) -> None:
    finished = start_mayavi("doctor", "--json", cwd=without_kernel)
    assert finished.returncode == 1
    found = {each["name"]: each for each in json.loads(finished.stdout)["findings"]}
    assert (found["kernel"]["status"], found["kernel"]["mend"]) == ("missing", "make setup")
    assert [name for name, each in found.items() if each["status"] in {"missing", "broken"}] == ["kernel"]
    assert found["contracts"]["status"] == "unknown"

    (without_kernel / "mayavi/_kernel.abi3.so").write_bytes(b"\x7fELF and nothing more")
    found = {
        each["name"]: each
        for each in json.loads(start_mayavi("doctor", "--json", cwd=without_kernel).stdout)["findings"]
    }
    assert (found["kernel"]["status"], found["kernel"]["mend"]) == ("broken", "make clean setup")

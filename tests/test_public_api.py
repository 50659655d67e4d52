"""What `import mayavi` offers. A change here is a change for every user: it belongs into the changelog."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mayavi

EXPORTED = [
    "CallFrame",
    "Contract",
    "Fleet",
    "Fork",
    "Function",
    "Program",
    "Receipt",
    "Snapshot",
    "SnapshotRegistry",
    "Store",
    "Template",
    "__version__",
    "checksum",
    "errors",
    "ether",
    "exposure",
    "format_units",
    "gwei",
    "run",
    "sensitivity",
    "sweep",
    "to_address",
    "to_units",
]


def test_exported_members_are_these() -> None:
    assert sorted(mayavi.__all__) == EXPORTED
    assert dir(mayavi) == EXPORTED


@pytest.mark.parametrize("name", EXPORTED)
def test_every_exported_name_is_there(name: str) -> None:
    assert getattr(mayavi, name) is not None


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'mayavi' has no attribute 'Forc'"):
        mayavi.Forc  # noqa: B018


def test_fork_alone_is_enough_to_open_a_replica() -> None:
    statement = "from mayavi import Fork; print(Fork.replica('ethereum').block_number)"
    finished = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, check=True)
    assert finished.stdout == "19000000\n"


@pytest.mark.parametrize("name", ["Fork", "Fleet", "Contract", "checksum"])
def test_without_the_kernel_a_name_is_a_setup_error_that_names_the_command(
    repository: Path, tmp_path: Path, name: str
) -> None:
    unbuilt = shutil.ignore_patterns("_kernel*.so", "__pycache__")
    shutil.copytree(repository / "mayavi", tmp_path / "mayavi", ignore=unbuilt)
    statement = f"""
from mayavi.errors import SetupError
try:
    from mayavi import {name}
except SetupError as error:
    print(error, '|', error.hint)
"""
    finished = subprocess.run(
        [sys.executable, "-c", statement], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert finished.stdout == "the Rust kernel is not built | run `make setup`, which builds it\n"

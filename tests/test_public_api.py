"""What `import mayavi` offers. A change here is a change for every user: it belongs into the changelog."""

from __future__ import annotations

import subprocess
import sys

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
    "Template",
    "__version__",
    "checksum",
    "errors",
    "ether",
    "format_units",
    "gwei",
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

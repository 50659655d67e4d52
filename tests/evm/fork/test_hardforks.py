"""Every way to open a fork takes the hard fork whose rules apply, and a halt for an old one says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mayavi import Fork
from mayavi.errors import CallHalted, UnknownName

PLACE = b"\xc0" * 20
COPIES_MEMORY = bytes.fromhex("602a5f5260205f60205e60206020f3")  # MCOPY, an opcode of Cancun; returns 42

Open = Callable[..., Fork]


@pytest.fixture(params=["replica", "snapshot", "empty"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    if request.param == "replica":
        return Fork.replica
    if request.param == "empty":
        return Fork.empty
    Fork.empty(hardfork="shanghai").dump_snapshot(tmp_path / "world.snapshot")
    return lambda **options: Fork.load_snapshot(tmp_path / "world.snapshot", **options)


def test_a_later_hard_fork_runs_the_code_of_newer_compilers(opened: Open) -> None:
    fork = opened(hardfork="cancun")
    fork.set_code(PLACE, COPIES_MEMORY)
    assert fork.hardfork == fork.copy().hardfork == fork.frozen().hardfork == "cancun"
    assert int.from_bytes(fork.copy().call(PLACE, b"\0")) == 42
    assert fork.send(PLACE, b"\0").success
    with pytest.raises(UnknownName, match="unknown hard fork 'cancum'") as caught:
        opened(hardfork="cancum")
    assert "did you mean 'cancun'?" in str(caught.value.hint)


def test_an_opcode_that_is_too_new_names_the_argument(opened: Open) -> None:
    fork = opened()
    assert fork.hardfork == "shanghai"
    fork.set_code(PLACE, COPIES_MEMORY)
    with pytest.raises(CallHalted, match="NotActivated") as caught:
        fork.call(PLACE, b"\0")
    assert '`Fork.replica(hardfork="cancun")`' in str(caught.value.hint)

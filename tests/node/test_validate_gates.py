"""`mayavi validate quoter` and `cache` through an independent node, and one poisoned word."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from mayavi.evm.address import checksum
from mayavi.evm.rpc.cache import FILE_NAME, seal
from tests.node.hardhat import Hardhat

pytestmark = [pytest.mark.node, pytest.mark.slow(2)]

POOL = "UniswapV3.WETH/USDC.500"


def test_quotes_are_trades_on_a_fork_of_a_node_and_its_cache_holds_what_the_node_says(
    run_mayavi, ethereum_node: Hardhat, tmp_path: Path
) -> None:
    cached = {"MAYAVI_CACHE_DIR": str(tmp_path)}
    block = str(ethereum_node.block_number)
    words = ("--rpc-url", ethereum_node.url, "--block", block, "--chain", "ethereum", "--pool", POOL)
    finished = run_mayavi("validate", "quoter", *words, "--json", env=cached)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    report = json.loads(finished.stdout.splitlines()[-1])
    assert report["verdict"] == "passed"
    assert report["cases"] > 50

    ask = ("validate", "cache", "--cache-dir", str(tmp_path), "--rpc-url", ethereum_node.url, "--json")
    clean = json.loads(run_mayavi(*ask).stdout.splitlines()[-1])
    assert clean["verdict"] == "passed"
    assert clean["parts"]["words of the node"] > 50

    address, slot = poison_a_slot(tmp_path / FILE_NAME)
    poisoned = run_mayavi(*ask)
    assert poisoned.returncode == 1
    found = json.loads(poisoned.stdout.splitlines()[-1])["first_difference"]
    assert f"slot {slot:#x} of {checksum(address)} holds 0xbad, the node says 0x" in found


def poison_a_slot(database: Path) -> tuple[bytes, int]:
    """Replace the last cached word by another one with a valid checksum; return its address and slot."""
    connection = sqlite3.connect(database)
    with connection:
        (block_hash,) = connection.execute("SELECT hash FROM blocks").fetchone()
        address, slot = connection.execute(
            "SELECT address, slot FROM slots ORDER BY address DESC, slot DESC"
        ).fetchone()
        sealed = seal(block_hash + address + slot, (0xBAD).to_bytes(32, "big"))
        connection.execute("UPDATE slots SET value = ? WHERE address = ? AND slot = ?", (sealed, address, slot))
    connection.close()
    return address, int.from_bytes(slot, "big")

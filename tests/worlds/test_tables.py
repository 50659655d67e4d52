"""The committed tables equal the generator's output and independently known facts."""

from __future__ import annotations

import hashlib

import pytest

from mayavi.worlds.tables.chain import chain_names, load_table, table_path
from mayavi.worlds.tables.paths import dated_blocks

# What is known of each chain from elsewhere: loan to value, threshold and bonus of WETH on Aave, in basis points.
SPOT = {
    "ethereum": (8_050, 8_300, 10_500),
    "arbitrum": (8_250, 8_500, 10_500),
    "optimism": (8_000, 8_250, 10_500),
    "polygon": (8_000, 8_250, 10_500),
    "base": (8_000, 8_300, 10_500),
    "avalanche": (8_000, 8_250, 10_500),
}


def test_no_table_was_edited_by_hand() -> None:
    sums = (table_path("ethereum").parent / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    committed = {name: digest for digest, name in (line.split("  ") for line in sums)}
    paths = [table_path(chain, block) for chain in chain_names() for block in (None, *dated_blocks(chain))]
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    assert found == committed, "run tools/generate_tables.py, which writes the tables and their checksums"


@pytest.mark.parametrize("chain", SPOT)
def test_spot_values(chain: str) -> None:
    weth = load_table(chain).aave.reserve("WETH")
    assert (weth.ltv_bps, weth.liquidation_threshold_bps, weth.liquidation_bonus_bps) == SPOT[chain]


def test_every_chain_has_spot_values() -> None:
    assert sorted(SPOT) == chain_names()

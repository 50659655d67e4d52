"""The worlds equal the parameter files themselves, read here without the tool that made the tables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mayavi.worlds.tables.market import load_market
from tests.missing import skip_or_fail
from tests.worlds.markets.reading import WORLDS, built_market, built_reserves, read_curve, read_emodes, read_pool

pytestmark = pytest.mark.slow(0.15)

UNREAD = {"priceOracleSentinel"}
"""No world has a sequencer, and so no sentinel."""


@pytest.fixture(scope="module")
def files(cases: Path) -> dict[tuple[int, str], dict[str, Any]]:
    """Parameter files by chain id and pool."""
    folder = cases / "aave" / "markets-2025-12"
    if not folder.is_dir():
        skip_or_fail(f"the markets' parameter files are not at '{folder}'")
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("AaveV3*.json")]
    return {(each["chainId"], each["poolConfig"]["pool"]): each for each in documents}


def test_every_file_is_a_world(files: dict[tuple[int, str], dict[str, Any]]) -> None:
    tables = [load_market(world) for world in WORLDS]
    assert len(files) == len(WORLDS) == 20
    assert files.keys() == {(table.chain_id, table.aave.addresses.pool) for table in tables}


@pytest.mark.parametrize("world", WORLDS)
def test_the_world_is_what_the_file_says(world: str, files: dict[tuple[int, str], dict[str, Any]]) -> None:
    table, fork = load_market(world), built_market(world)
    expected = files[fork.chain_id, table.aave.addresses.pool]
    assert read_pool(fork) == {key: value for key, value in expected["poolConfig"].items() if key not in UNREAD}
    modes = {key: mode | {"ltvzeroBitmap": "0"} for key, mode in expected["eModes"].items()}
    assert read_emodes(fork) == modes
    read = built_reserves(world)
    assert read.keys() == expected["reserves"].keys()
    for asset, reserve in expected["reserves"].items():
        found = read[asset] | {"oracleName": read[asset]["oracleDescription"]}
        assert {key: found[key] for key in reserve} == reserve
        assert read_curve(fork, asset) == expected["strategies"][asset]


def test_ratios_and_discounts_follow_from_a_base_where_the_description_names_one(
    files: dict[tuple[int, str], dict[str, Any]],
) -> None:
    for world in WORLDS:
        table = load_market(world)
        for reserve in files[table.chain_id, table.aave.addresses.pool]["reserves"].values():
            text = reserve.get("oracleDescription") or reserve.get("oracleName") or ""
            feed = next(each for each in table.feeds.values() if each.address == reserve["oracle"])
            assert bool(feed.maturity) == ("linear discount" in text)
            assert bool(feed.growth_bps) == bool(re.match(r"Capped [^/]+/[^/]+/", text)), (world, text)
            assert bool(feed.ratio_e18) == (text.count("/") > 1 and not feed.maturity), (world, text)

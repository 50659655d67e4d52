"""A table that Aave refuses, and names of worlds that there are not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mayavi.errors import UnknownName, UsageError
from mayavi.worlds import describe_world, open_world
from mayavi.worlds.builder import build_replica
from mayavi.worlds.tables.market import MarketTable, load_market
from tests.worlds.replicas import artifact_store

MARKET = "soneium@2025-12"


@pytest.mark.slow(0.1)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"ltv_bps": 9_000, "liquidation_threshold_bps": 8_000}, "InvalidReserveParams()"),
        ({"liquidation_bonus_bps": 9_900}, "InvalidReserveParams()"),
        ({"reserve_factor_bps": 10_001}, "InvalidReserveFactor()"),
        ({"liquidation_protocol_fee_bps": 10_001}, "InvalidLiquidationProtocolFee()"),
        ({"supply_cap": 2**36}, "InvalidSupplyCap()"),
        ({"borrow_cap": 2**36}, "InvalidBorrowCap()"),
        ({"optimal_usage_bps": 10_000}, "InvalidOptimalUsageRatio()"),
        ({"slope1_bps": 500, "slope2_bps": 400}, "Slope2MustBeGteSlope1()"),
        ({"active": False}, "ReserveLiquidityNotZero()"),
    ],
)
def test_a_parameter_that_aave_refuses_gives_its_reason(change: dict[str, Any], reason: str) -> None:
    table = with_reserve(load_market(MARKET), change)
    with pytest.raises(UsageError) as refused:
        build_replica(table, artifact_store())
    assert refused.value.message == f"Aave refuses the reserve WETH: {reason}"


@pytest.mark.slow(0.1)
def test_an_efficiency_mode_that_aave_refuses_is_named() -> None:
    table = load_market("sonic@2025-12")
    mode = replace(table.aave.emodes[0], liquidation_threshold_bps=table.aave.emodes[0].ltv_bps - 1)
    with pytest.raises(UsageError, match=rf"the efficiency mode 1 '{mode.label}': InvalidEmodeCategoryParams\(\)"):
        build_replica(replace(table, aave=replace(table.aave, emodes=(mode,))), artifact_store())


@pytest.mark.slow(0.1)
def test_an_efficiency_mode_of_an_asset_that_is_not_listed_names_the_near_one() -> None:
    table = load_market("sonic@2025-12")
    mode = replace(table.aave.emodes[0], collateral=("WET",))
    with pytest.raises(UnknownName) as refused:
        build_replica(replace(table, aave=replace(table.aave, emodes=(mode,))), artifact_store())
    assert "did you mean 'WETH'" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ethereum@2025-11", "'ethereum@2025-12'"),
        ("plasm", "'plasma'"),
        ("ethereum-lidl", "'ethereum-lido'"),
        ("Base@2025-12", "'base@2025-12'"),
    ],
)
def test_an_unknown_world_offers_the_near_one(name: str, meant: str) -> None:
    for ask in (open_world, describe_world):
        with pytest.raises(UnknownName) as unknown:
            ask(name)
        assert f"did you mean {meant}" in (unknown.value.hint or "")


def test_a_market_has_one_block() -> None:
    assert describe_world("plasma", describe_world("plasma").block.number).world == "plasma@2025-12"
    with pytest.raises(UsageError, match="there is no replica of plasma at block 5"):
        open_world("plasma", block=5)


def test_a_short_name_is_a_market_where_the_chain_has_no_older_world() -> None:
    assert describe_world("plasma").world == "plasma@2025-12"
    assert describe_world("mantle").world == "mantle@2026-02"
    assert describe_world("base").aave == "3.0"
    assert describe_world("base@2025-12").aave == "3.6"


def with_reserve(table: MarketTable, change: dict[str, Any]) -> MarketTable:
    first, *rest = table.aave.reserves
    return replace(table, aave=replace(table.aave, reserves=(replace(first, **change), *rest)))

"""`AaveV3` reads every reserve and efficiency mode of the markets as recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mayavi.evm.address import checksum
from mayavi.protocols.aave.market import AaveV3
from mayavi.protocols.aave.reserve import EMode, Reserve
from mayavi.worlds.tables.market import load_market
from tests.missing import skip_or_fail
from tests.worlds.markets.reading import WORLDS, built_market

pytestmark = pytest.mark.slow(0.05)


@pytest.mark.parametrize("world", WORLDS)
def test_the_adapter_reads_the_table(world: str) -> None:
    table, market = load_market(world), AaveV3(built_market(world))
    reserves = market.reserves()
    assert len(reserves) == len(table.aave.reserves)
    for found, reserve in zip(reserves, table.aave.reserves, strict=True):
        assert (found.symbol, found.price_usd_e8) == (reserve.symbol, reserve.price)
        assert found.available == found.supplied == reserve.virtual_balance
        assert found.borrowed == found.deficit == 0
    for mode, category in zip(market.emodes(), table.aave.emodes, strict=True):
        assert (mode.id, mode.label) == (category.id, category.label)
        assert (mode.assets, mode.borrowable, mode.ltvzero) == (
            category.collateral,
            category.borrowable,
            category.ltvzero,
        )


@pytest.mark.parametrize("world", WORLDS)
def test_the_adapter_reads_the_parameter_file(world: str, cases: Path) -> None:
    folder, fork = cases / "aave" / "markets-2025-12", built_market(world)
    if not folder.is_dir():
        skip_or_fail(f"the markets' parameter files are not at '{folder}'")
    market = AaveV3(fork)
    which = (fork.chain_id, checksum(market.pool.address))
    documents = (json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("AaveV3*.json"))
    expected = next(each for each in documents if (each["chainId"], each["poolConfig"]["pool"]) == which)
    found = {checksum(each.address): in_the_file(each) for each in market.reserves()}
    assert found.keys() == expected["reserves"].keys()
    for asset, reserve in expected["reserves"].items():
        assert found[asset] == {key: reserve[key] for key in found[asset]}
    bits = {each.symbol: 1 << each.id for each in market.reserves()}
    modes = {str(each.id): mode_in_the_file(each, bits) for each in market.emodes()}
    assert modes == expected["eModes"]


def in_the_file(reserve: Reserve) -> dict[str, Any]:
    """Write a reserve in the keys and units of the parameter files."""
    set_to, unit = reserve.configuration, 10**reserve.decimals
    return {
        "id": reserve.id,
        "decimals": reserve.decimals,
        "ltv": set_to.ltv_bps,
        "liquidationThreshold": set_to.liquidation_threshold_bps,
        "liquidationBonus": set_to.liquidation_bonus_bps,
        "liquidationProtocolFee": set_to.liquidation_protocol_fee_bps,
        "reserveFactor": set_to.reserve_factor_bps,
        "supplyCap": (set_to.supply_cap or 0) // unit,
        "borrowCap": (set_to.borrow_cap or 0) // unit,
        "debtCeiling": set_to.debt_ceiling_usd_e2 or 0,
        "isActive": set_to.active,
        "isFrozen": set_to.frozen,
        "isPaused": set_to.paused,
        "isSiloed": set_to.siloed,
        "isBorrowableInIsolation": set_to.borrowable_in_isolation,
        "isFlashloanable": set_to.flash_loans,
        "borrowingEnabled": set_to.borrowing,
        "aToken": checksum(reserve.a_token),
        "variableDebtToken": checksum(reserve.variable_debt_token),
        "interestRateStrategy": checksum(reserve.rate_strategy),
        "oracleLatestAnswer": str(reserve.price_usd_e8),
        "virtualBalance": str(reserve.available),
    }


def mode_in_the_file(mode: EMode, bits: dict[str, int]) -> dict[str, Any]:
    return {
        "eModeCategory": mode.id,
        "label": mode.label,
        "ltv": mode.ltv_bps,
        "liquidationThreshold": mode.liquidation_threshold_bps,
        "liquidationBonus": mode.liquidation_bonus_bps,
        "collateralBitmap": str(sum(bits[symbol] for symbol in mode.assets)),
        "borrowableBitmap": str(sum(bits[symbol] for symbol in mode.borrowable)),
    }

"""Every market of Aave V3.6 reads back as its table has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mayavi.errors import UnknownName
from mayavi.evm.address import checksum
from mayavi.evm.chains import chain as known_chain
from mayavi.evm.chains import hardfork_at
from mayavi.worlds import open_world
from mayavi.worlds.builder import build_replica
from mayavi.worlds.deploy.deployment import MARKET
from mayavi.worlds.tables.market import MarketEMode, MarketReserve, MarketTable, load_market
from tests.worlds.markets.reading import (
    RAY_PER_BPS,
    WORLDS,
    built_market,
    built_reserves,
    contract,
    read_curve,
    read_emodes,
    read_pool,
)
from tests.worlds.replicas import artifact_store

pytestmark = pytest.mark.slow(0.1)

SAME = {
    "ltv_bps": "ltv",
    "liquidation_threshold_bps": "liquidationThreshold",
    "liquidation_bonus_bps": "liquidationBonus",
    "liquidation_protocol_fee_bps": "liquidationProtocolFee",
    "reserve_factor_bps": "reserveFactor",
    "supply_cap": "supplyCap",
    "borrow_cap": "borrowCap",
    "debt_ceiling_cents": "debtCeiling",
    "borrowing": "borrowingEnabled",
    "borrowable_in_isolation": "isBorrowableInIsolation",
    "siloed": "isSiloed",
    "flash_loans": "isFlashloanable",
    "active": "isActive",
    "frozen": "isFrozen",
    "paused": "isPaused",
    "decimals": "decimals",
    "a_token": "aToken",
    "a_token_name": "aTokenName",
    "a_token_symbol": "aTokenSymbol",
    "variable_debt_token": "variableDebtToken",
    "variable_debt_token_name": "variableDebtTokenName",
    "variable_debt_token_symbol": "variableDebtTokenSymbol",
}


@pytest.mark.parametrize("world", WORLDS)
def test_the_contracts_stand_at_their_addresses(world: str) -> None:
    at, read = load_market(world).aave.addresses, read_pool(built_market(world))
    assert [at.oracle, at.pool, at.provider, at.pool_configurator, at.data_provider] == list(read.values())


@pytest.mark.parametrize("world", WORLDS)
def test_every_reserve_reads_back(world: str) -> None:
    table, read = load_market(world), built_reserves(world)
    assert list(read) == [checksum(table.tokens[reserve.symbol].address) for reserve in table.aave.reserves]
    for number, (reserve, found) in enumerate(zip(table.aave.reserves, read.values(), strict=True)):
        assert {key: found[SAME[key]] for key in SAME} == {key: getattr(reserve, key) for key in SAME}
        assert found["id"] == number
        assert found["symbol"] == (table.tokens[reserve.symbol].symbol or reserve.symbol)
        assert found["oracle"] == checksum(table.feeds[reserve.feed].address)
        assert found["interestRateStrategy"] == table.aave.addresses.rate_strategy


@pytest.mark.parametrize("world", WORLDS)
def test_prices_liquidity_and_rates_read_back(world: str) -> None:
    table, fork = load_market(world), built_market(world)
    for reserve, found in zip(table.aave.reserves, built_reserves(world).values(), strict=True):
        assert int(found["oracleLatestAnswer"]) == reserve.price
        assert int(found["virtualBalance"]) == reserve.virtual_balance
        assert int(found["aTokenUnderlyingBalance"]) == reserve.a_token_balance
        assert curve_of(reserve) == read_curve(fork, found["underlying"]) | {"address": "", "maxVariableBorrowRate": ""}


@pytest.mark.parametrize("world", WORLDS)
def test_every_efficiency_mode_reads_back(world: str) -> None:
    table = load_market(world)
    expected = {str(each.id): emode_of(table, each) for each in table.aave.emodes}
    assert read_emodes(built_market(world)) == expected


@pytest.mark.parametrize("world", WORLDS)
def test_nothing_is_borrowed_and_one_account_has_supplied(world: str) -> None:
    fork = built_market(world)
    for reserve in load_market(world).aave.reserves:
        debt = contract(fork, f"AaveV3.variableDebt{reserve.symbol}", "AaveV36.VariableDebtTokenInstance")
        supply = contract(fork, f"AaveV3.a{reserve.symbol}", "AaveV36.ATokenInstance")
        assert debt.totalSupply() == 0
        assert supply.totalSupply() == supply.balanceOf(MARKET) == reserve.virtual_balance


def curve_of(reserve: MarketReserve) -> dict[str, str]:
    keys = ("optimalUsageRatio", "baseVariableBorrowRate", "variableRateSlope1", "variableRateSlope2")
    rates = (reserve.optimal_usage_bps, reserve.base_rate_bps, reserve.slope1_bps, reserve.slope2_bps)
    curve = {key: str(rate * RAY_PER_BPS) for key, rate in zip(keys, rates, strict=True)}
    return {"address": "", "maxVariableBorrowRate": ""} | curve


def emode_of(table: MarketTable, category: MarketEMode) -> dict[str, Any]:
    symbols = [reserve.symbol for reserve in table.aave.reserves]

    def bitmap(members: tuple[str, ...]) -> str:
        return str(sum(2 ** symbols.index(each) for each in members))

    return {
        "eModeCategory": category.id,
        "label": category.label,
        "ltv": category.ltv_bps,
        "liquidationThreshold": category.liquidation_threshold_bps,
        "liquidationBonus": category.liquidation_bonus_bps,
        "collateralBitmap": bitmap(category.collateral),
        "borrowableBitmap": bitmap(category.borrowable),
        "ltvzeroBitmap": bitmap(category.ltvzero),
    }


@pytest.mark.parametrize("world", WORLDS)
def test_the_chain_is_known_by_the_same_facts(world: str) -> None:
    table = load_market(world)
    known = known_chain(table.chain)
    assert (known.chain_id, known.block_seconds) == (table.chain_id, table.block.seconds)
    if known.forks:
        assert hardfork_at(table.chain_id, table.block.number, table.block.timestamp) == table.hardfork
    else:
        with pytest.raises(UnknownName, match=f"the rules of {table.chain} are not listed"):
            hardfork_at(table.chain_id, table.block.number, table.block.timestamp)


@pytest.mark.parametrize("world", WORLDS)
def test_two_builds_are_one_world(world: str, tmp_path: Path) -> None:
    built = built_market(world)
    assert build_replica(load_market(world), artifact_store()).digest() == built.digest()
    opened = open_world(world, cache_dir=tmp_path)
    again = open_world(world, cache_dir=tmp_path)
    assert opened.digest() == again.digest() == built.digest()
    assert again.labels == built.labels
    assert again.source["world"] == world

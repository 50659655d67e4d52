"""Feeds answer like Chainlink's, Aave's oracle reads them, and adapters follow their base."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from mayavi.errors import CallReverted
from mayavi.evm.fork import Fork
from mayavi.worlds.tables.chain import ChainTable
from tests.worlds.contract_of import ContractOf

ETH_USD_E8 = 2562_92441874
ETH_ROUND, ETH_UPDATED_AT = 110680464442257320174, 1705172135


def test_eth_costs_what_the_chainlink_round_of_the_block_said(contract: ContractOf) -> None:
    feed = contract("Chainlink.ETH/USD", "PriceFeed")
    assert feed.description() == "ETH / USD"
    assert feed.decimals() == 8
    assert feed.latestAnswer() == ETH_USD_E8
    assert feed.latestTimestamp() == ETH_UPDATED_AT
    latest = (ETH_ROUND, ETH_USD_E8, ETH_UPDATED_AT, ETH_UPDATED_AT, ETH_ROUND)
    assert tuple(feed.latestRoundData()) == latest
    assert tuple(feed.getRoundData(ETH_ROUND)) == latest
    assert feed.latestRound() == ETH_ROUND


@pytest.mark.slow(0.3)
def test_that_round_is_the_last_one_before_the_block(cases: Path, table: ChainTable) -> None:
    with (cases / "market" / "chainlink_ETH_USD_2023-04_2024-01.csv").open(newline="") as lines:
        updates = sorted((int(row["update"]), int(row["answer"])) for row in csv.DictReader(lines))
    assert max(update for update in updates if update[0] <= table.block.timestamp) == (ETH_UPDATED_AT, ETH_USD_E8)


def test_a_new_answer_is_a_new_round_and_moves_what_is_priced_in_it(contract: ContractOf, fork: Fork) -> None:
    feed, oracle = contract("Chainlink.ETH/USD", "PriceFeed"), contract("AaveV3.Oracle", "AaveOracle")
    before = {symbol: oracle.getAssetPrice(fork.address_of(symbol)) for symbol in ("WETH", "wstETH", "rETH", "USDC")}
    fork.mine(seconds=60)
    feed.set_answer(ETH_USD_E8 // 2, sender=fork.address_of("Mayavi.Deployer"))

    assert feed.latestRound() == ETH_ROUND + 1
    assert feed.latestTimestamp() == fork.timestamp
    assert feed.getAnswer(ETH_ROUND) == ETH_USD_E8
    assert oracle.getAssetPrice(fork.address_of("WETH")) == ETH_USD_E8 // 2
    for symbol in ("wstETH", "rETH"):
        assert oracle.getAssetPrice(fork.address_of(symbol)) == pytest.approx(before[symbol] / 2, abs=1)
    assert oracle.getAssetPrice(fork.address_of("USDC")) == before["USDC"]


def test_an_adapter_moves_with_its_ratio(contract: ContractOf, fork: Fork) -> None:
    adapter = contract("Aave.wstETH/USD", "RatioFeed")
    assert adapter.base() == fork.address_of("Chainlink.ETH/USD")
    adapter.set_ratio(10**18, sender=fork.address_of("Mayavi.Deployer"))
    assert adapter.latestAnswer() == ETH_USD_E8
    assert adapter.latestRoundData()[:2] == (ETH_ROUND, ETH_USD_E8)


def test_only_the_owner_posts(contract: ContractOf) -> None:
    stranger = b"\x11" * 20
    with pytest.raises(CallReverted, match="caller is not the owner"):
        contract("Chainlink.ETH/USD", "PriceFeed").set_answer(1, sender=stranger)
    with pytest.raises(CallReverted, match="caller is not the owner"):
        contract("Aave.wstETH/USD", "RatioFeed").set_ratio(1, sender=stranger)
    with pytest.raises(CallReverted, match="No data present"):
        contract("Chainlink.ETH/USD", "PriceFeed").getRoundData(1)

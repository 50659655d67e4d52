"""Compound markets for tests: every market of every replica, and mainnet's bytecode of cUSDCv3."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

from mayavi import Fork
from mayavi.evm.address import checksum, to_address
from mayavi.evm.hashing import keccak256
from mayavi.protocols import CompoundV3, PriceFeed
from mayavi.replay.case import read_bytecodes
from mayavi.worlds.deploy.compound import fill_market
from mayavi.worlds.deploy.deployment import MARKET, Deployment
from mayavi.worlds.tables.chain import chain_names, load_table

MAINNET = "mainnet bytecode"
IMPLEMENTATION = "0x9743591b"
EXTENSION = "0x285617313887d43256f852cae0ee4de4b68d45b0"
BLOCK = 19_932_703


def replica_markets() -> list[tuple[str, str]]:
    """Return (chain, market) of every Compound market on a replica."""
    tables = ((chain, load_table(chain).compound) for chain in chain_names())
    return [(chain, market.key) for chain, compound in tables if compound for market in compound.markets]


@cache
def replica(chain: str) -> Fork:
    return Fork.replica(chain)


@cache
def mainnet_world(cases: Path) -> Fork:
    """Ethereum replica where `CompoundV3.cUSDCv3` is the real implementation with the table's loans and debts.

    It runs at the implementation's own address, whose storage is empty; tokens and price feeds are the replica's, at
    the addresses that are part of the code.
    """
    fork, table = Fork.replica("ethereum"), load_table("ethereum")
    folder = cases / "mainnet" / "blocks"
    accounts = json.loads(gzip.decompress((folder / str(BLOCK) / "pre_state.json.gz").read_bytes()))
    codes = read_bytecodes(folder)
    by_address = {address.lower(): account for address, account in accounts.items()}
    implementation = next(address for address in by_address if address.startswith(IMPLEMENTATION))
    for address in (implementation, EXTENSION):
        code = codes[by_address[address]["code_hash"]]
        assert keccak256(code).hex() == by_address[address]["code_hash"].removeprefix("0x")
        fork.set_code(address, code)
    fork.labels["CompoundV3.cUSDCv3"] = checksum(implementation)
    fork.contract(implementation, ["initializeStorage()"]).initializeStorage()
    deployment = Deployment(fork)
    deployment.labels = {label: to_address(address) for label, address in fork.labels.items()}
    assert table.compound
    market = table.compound.market("cUSDCv3")
    fill_market(deployment, market, table.tokens, comet=to_address(implementation), holder=MARKET)
    return fork


def set_price(market: CompoundV3, symbol: str, price_e8: int) -> None:
    """Post a price of one asset and keep all others of the market, even those that follow the same feed."""
    others = {each.symbol: market.price_e8(each.symbol) for each in market.assets if each.symbol != symbol}
    base = market.base.symbol
    others[base] = market.price_e8()
    PriceFeed(market.fork, market.asset(symbol).price_feed).move(price_e8)
    for other, price in others.items():
        if market.price_e8(other) != price:
            feed = market.contract.baseTokenPriceFeed() if other == base else market.asset(other).price_feed
            PriceFeed(market.fork, feed).move(price)
    assert market.price_e8(symbol) == price_e8
    assert {other: market.price_e8(other) for other in others} == others

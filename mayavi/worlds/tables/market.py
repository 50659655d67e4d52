"""Types of a market table: one JSON file per market of Aave V3.6, made by `tools/aave_markets.py`.

The tables are in `markets/`, under the names of their worlds: `ethereum-lido@2025-12.json`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

from mayavi.errors import UnknownName
from mayavi.worlds.tables.chain import (
    Aave,
    Block,
    ChainTable,
    Difference,
    Feed,
    FromJson,
    Source,
    Token,
    Uniswap,
    load_table,
)
from mayavi.worlds.tables.compound import Compound
from mayavi.worlds.tables.curve import Curve
from mayavi.worlds.tables.paths import is_market, market_name, market_path, replica_block


@dataclass(frozen=True, slots=True)
class MarketAddresses(FromJson):
    """Contract addresses and administrators of a market; one rate strategy serves all reserves."""

    provider: str
    pool: str
    pool_configurator: str
    oracle: str
    data_provider: str
    acl_manager: str
    acl_admin: str
    registry: str
    treasury: str
    rewards_controller: str
    rate_strategy: str


@dataclass(frozen=True, slots=True)
class MarketReserve(FromJson):
    """Asset listed on a market.

    Caps are in whole tokens, the debt ceiling in US cents, rates in basis points, as in the contracts.
    `virtual_balance` is the liquidity that can be borrowed and `a_token_balance` what the aToken holds, both in
    smallest units.
    """

    symbol: str
    decimals: int
    a_token: str
    variable_debt_token: str
    a_token_contract: str
    variable_debt_token_contract: str
    a_token_name: str
    a_token_symbol: str
    variable_debt_token_name: str
    variable_debt_token_symbol: str
    feed: str
    price: int
    ltv_bps: int
    liquidation_threshold_bps: int
    liquidation_bonus_bps: int
    liquidation_protocol_fee_bps: int
    reserve_factor_bps: int
    supply_cap: int
    borrow_cap: int
    debt_ceiling_cents: int
    borrowing: bool
    borrowable_in_isolation: bool
    siloed: bool
    flash_loans: bool
    active: bool
    frozen: bool
    paused: bool
    optimal_usage_bps: int
    base_rate_bps: int
    slope1_bps: int
    slope2_bps: int
    virtual_balance: int
    a_token_balance: int


@dataclass(frozen=True, slots=True)
class MarketEMode(FromJson):
    """Efficiency mode: assets that are collateral, borrowable or collateral without borrowing power in it."""

    id: int
    label: str
    ltv_bps: int
    liquidation_threshold_bps: int
    liquidation_bonus_bps: int
    collateral: tuple[str, ...]
    borrowable: tuple[str, ...]
    ltvzero: tuple[str, ...]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:  # noqa: D102
        return cls(**{**data, **{key: tuple(data[key]) for key in ("collateral", "borrowable", "ltvzero")}})


@dataclass(frozen=True, slots=True)
class Market(FromJson):
    """Market of Aave V3.6. `reserves` are in the order of their ids, which are the bits of an efficiency mode."""

    version: str
    market_id: str
    provider_id: int
    pool_contract: str
    addresses: MarketAddresses
    flash_loan_premium_bps: int
    emodes: tuple[MarketEMode, ...]
    reserves: tuple[MarketReserve, ...]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:  # noqa: D102
        return cls(
            **{
                **data,
                "addresses": MarketAddresses.from_json(data["addresses"]),
                "emodes": tuple(map(MarketEMode.from_json, data["emodes"])),
                "reserves": tuple(map(MarketReserve.from_json, data["reserves"])),
            }
        )

    def reserve(self, symbol: str) -> MarketReserve:
        """Return the reserve of `symbol`; raise `UnknownName` with the nearest names."""
        return self.reserves[self.reserve_id(symbol)]

    def reserve_id(self, symbol: str) -> int:
        """Return the id of the reserve of `symbol`; raise `UnknownName` with the nearest names."""
        symbols = [reserve.symbol for reserve in self.reserves]
        if symbol not in symbols:
            raise UnknownName.of("reserve", symbol, symbols)
        return symbols.index(symbol)

    def bitmap(self, symbols: tuple[str, ...]) -> int:
        """Return the bitmap of some reserves, by their ids."""
        return sum(1 << self.reserve_id(symbol) for symbol in symbols)


@dataclass(frozen=True, slots=True)
class MarketTable(FromJson):
    """Facts that the world of one market is built from. `assumed` says what is in no source.

    Other protocols are there where the chain has an older world, which they are taken from.
    """

    world: str
    chain: str
    title: str
    chain_id: int
    hardfork: str
    native: str
    wrapped_native: str | None
    block: Block
    sources: tuple[Source, ...]
    assumed: tuple[Difference, ...]
    differences: tuple[Difference, ...]
    tokens: dict[str, Token]
    feeds: dict[str, Feed]
    aave: Market
    spark: Aave | None = None
    uniswap: Uniswap | None = None
    compound: Compound | None = None
    curve: Curve | None = None

    @property
    def lending_markets(self) -> dict[str, Aave]:
        """Other markets, of Aave V3.0's code, by label prefix."""
        return {"Spark": self.spark} if self.spark else {}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:  # noqa: D102
        return cls(
            **{
                **data,
                "block": Block.from_json(data["block"]),
                "sources": tuple(map(Source.from_json, data["sources"])),
                "assumed": tuple(map(Difference.from_json, data["assumed"])),
                "differences": tuple(map(Difference.from_json, data["differences"])),
                "tokens": {symbol: Token.from_json(token) for symbol, token in data["tokens"].items()},
                "feeds": {name: Feed.from_json(feed) for name, feed in data["feeds"].items()},
                "aave": Market.from_json(data["aave"]),
                "spark": Aave.from_json(data["spark"]) if "spark" in data else None,
                "uniswap": Uniswap.from_json(data["uniswap"]) if "uniswap" in data else None,
                "compound": Compound.from_json(data["compound"]) if "compound" in data else None,
                "curve": Curve.from_json(data["curve"]) if "curve" in data else None,
            }
        )


def load_world(name: str, block: int | None = None) -> ChainTable | MarketTable:
    """Load the table of a world: of a market by its name, or of a chain at `block`."""
    if not is_market(name):
        return load_table(name, block)
    replica_block(name, block)
    return load_market(name)


def load_market(name: str) -> MarketTable:
    """Load the table of a market's world, once per process."""
    return _load(market_path(market_name(name)))


@cache
def _load(path: Path) -> MarketTable:
    return MarketTable.from_json(json.loads(path.read_bytes()))

"""The cUSDCv3 market twice, with mainnet's implementation and with ours, in otherwise equal worlds.

Each market has its own world, with our tokens and price feeds at the addresses baked into the real code and the market
at the real proxy's address, so that outputs and logs can be compared byte for byte.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mayavi.errors import CallReverted, ExecutionError
from mayavi.evm.abi.interface import Function
from mayavi.evm.fork import Fork
from mayavi.evm.receipt import Log
from mayavi.worlds.artifacts import ArtifactStore
from mayavi.worlds.deploy.deployment import DEPLOYER

BLOCK = 19_932_703
TIMESTAMP = 1_716_500_000
MARKET = bytes.fromhex("c3d688b66703497daa19211eedff47f25384cdc3")
IMPLEMENTATION = "0x9743591b23b83ed41e6abcc84016a4c7702c706e"
EXTENSION = "0x285617313887d43256f852cae0ee4de4b68d45b0"
SECONDS_PER_YEAR = 31_536_000
FEED_DECIMALS = 8

ASSET_INFO = "(uint8,address,address,uint64,uint64,uint64,uint64,uint128)"


@cache
def function(text: str) -> Function:
    """Parse a function signature, once."""
    return Function.parse(text)


@cache
def calldata(text: str, *arguments: Any) -> bytes:
    """Encode a call with hashable arguments."""
    return function(text).encode(*arguments)


class Outcome(NamedTuple):
    """Observable result of a transaction or call, equal in both worlds."""

    result: str
    output: bytes
    logs: tuple[Log, ...]


class Asset(NamedTuple):
    """Collateral asset of a market; factors in units of 1e-18."""

    address: bytes
    feed: bytes
    decimals: int
    borrow_factor: int
    liquidate_factor: int
    liquidation_factor: int
    supply_cap: int


@dataclass(frozen=True)
class Parameters:
    """Constructor parameters of a market, in the order of its configuration."""

    governor: bytes
    pause_guardian: bytes
    base_token: bytes
    base_feed: bytes
    extension: bytes
    supply_kink: int
    supply_slope_low: int
    supply_slope_high: int
    supply_base: int
    borrow_kink: int
    borrow_slope_low: int
    borrow_slope_high: int
    borrow_base: int
    store_front_price_factor: int
    tracking_index_scale: int
    tracking_supply_speed: int
    tracking_borrow_speed: int
    min_for_rewards: int
    borrow_min: int
    target_reserves: int
    assets: tuple[Asset, ...]

    @property
    def configuration(self) -> tuple[object, ...]:
        """Constructor argument."""
        return tuple(self.__dict__.values())

    def but(self, **changes: Any) -> Parameters:
        """Return a copy with `changes`."""
        return replace(self, **changes)


class Market:
    """Market in its own world."""

    def __init__(self, fork: Fork) -> None:
        self.fork = fork

    def send(self, data: bytes, sender: bytes, to: bytes = MARKET) -> Outcome:
        """Send a transaction."""
        receipt = self.fork.send(to, data, sender, check=False)
        return Outcome(receipt.reason, receipt.output, receipt.logs)

    def look(self, data: bytes, to: bytes = MARKET) -> Outcome:
        """Call without effects."""
        try:
            return Outcome("success", self.fork.call(to, data), ())
        except CallReverted as error:
            return Outcome("revert", error.output, ())
        except ExecutionError as error:
            return Outcome(str(error), b"", ())

    def view(self, text: str, *arguments: Any, to: bytes = MARKET) -> Any:
        """Call a view and decode its result."""
        parsed = function(text)
        return parsed.decode(self.fork.call(to, parsed.encode(*arguments)))


def real_code(cases: Path) -> tuple[bytes, bytes]:
    """Return implementation and extension as of block 19932703."""
    blocks = cases / "mainnet" / "blocks"
    accounts = json.loads(gzip.decompress((blocks / str(BLOCK) / "pre_state.json.gz").read_bytes()))
    codes = json.loads(gzip.decompress((blocks / "bytecodes.json.gz").read_bytes()))
    implementation, extension = (
        bytes.fromhex(codes[accounts[address]["code_hash"]].removeprefix("0x"))
        for address in (IMPLEMENTATION, EXTENSION)
    )
    return implementation, extension


def with_immutables(code: tuple[bytes, bytes], values: Mapping[int, int]) -> tuple[bytes, bytes]:
    """Return the real code with other parameters: Solidity inlines each immutable as a PUSH32."""
    implementation, extension = code
    places = {
        old: [match.start() + 1 for match in re.finditer(re.escape(_push(old)), implementation, re.DOTALL)]
        for old in values
    }
    patched = bytearray(implementation)
    for old, new in values.items():
        assert places[old], old
        for place in places[old]:
            patched[place : place + 32] = new.to_bytes(32, "big")
    return bytes(patched), extension


def _push(value: int) -> bytes:
    return b"\x7f" + value.to_bytes(32, "big")


def real_parameters(code: tuple[bytes, bytes]) -> Parameters:
    """Read the parameters baked into the real code."""
    market = Market(_bare_world(code))

    def addresses(*names: str) -> list[bytes]:
        return [market.view(f"{name}()(address)") for name in names]

    def numbers(*names: str) -> list[int]:
        return [market.view(f"{name}()(uint256)") for name in names]

    def rates(side: str) -> list[int]:
        parts = ("SlopeLow", "SlopeHigh", "Base")
        per_second = numbers(*(f"{side}PerSecondInterestRate{part}" for part in parts))
        # The smallest yearly rate that gives the same rate a second.
        return [rate * SECONDS_PER_YEAR for rate in per_second]

    assets = []
    for i in range(market.view("numAssets()(uint8)")):
        _, asset, feed, scale, *rest = market.view(f"getAssetInfo(uint8){ASSET_INFO}", i)
        assets.append(Asset(asset, feed, len(str(scale)) - 1, *rest))
    fields: list[Any] = [
        *addresses("governor", "pauseGuardian", "baseToken", "baseTokenPriceFeed", "extensionDelegate"),
        *numbers("supplyKink"),
        *rates("supply"),
        *numbers("borrowKink"),
        *rates("borrow"),
        *numbers("storeFrontPriceFactor", "trackingIndexScale"),
        *numbers("baseTrackingSupplySpeed", "baseTrackingBorrowSpeed"),
        *numbers("baseMinForRewards", "baseBorrowMin", "targetReserves"),
        tuple(assets),
    ]
    return Parameters(*fields)


def real_market(code: tuple[bytes, bytes], parameters: Parameters, prices: Sequence[int]) -> Market:
    """Return mainnet's market in its first second."""
    fork = _bare_world(code)
    market = Market(fork)
    _furnish(fork, parameters, market.view("decimals()(uint8)"), prices)
    assert market.send(calldata("initializeStorage()"), DEPLOYER).result == "success"
    return market


def our_market(
    parameters: Parameters, prices: Sequence[int], *, base_decimals: int = 6, names: Sequence[str], **options: Any
) -> Market:
    """Return our market with these parameters, in its first second."""
    fork = _empty_world()
    _furnish(fork, parameters, base_decimals, prices, **options)
    fork.create_at(MARKET, _artifacts().get("Comet").initcode([parameters.configuration, *names]), DEPLOYER)
    return Market(fork)


@cache
def _artifacts() -> ArtifactStore:
    return ArtifactStore()


def _empty_world() -> Fork:
    fork = Fork.empty(chain_id=1, hardfork="cancun")
    fork.set_block(number=BLOCK, timestamp=TIMESTAMP)
    return fork


def _bare_world(code: tuple[bytes, bytes]) -> Fork:
    fork = _empty_world()
    fork.set_code(MARKET, code[0])
    fork.set_code(bytes.fromhex(EXTENSION[2:]), code[1])
    return fork


def _furnish(
    fork: Fork,
    parameters: Parameters,
    base_decimals: int,
    prices: Sequence[int],
    *,
    decimals: Callable[[Asset], int] = lambda asset: asset.decimals,
) -> None:
    tokens = [
        (parameters.base_token, base_decimals),
        *((asset.address, decimals(asset)) for asset in parameters.assets),
    ]
    feeds = [parameters.base_feed, *(asset.feed for asset in parameters.assets)]
    for address, token_decimals in tokens:
        arguments = ("Token", "TKN", token_decimals, "1", DEPLOYER)
        fork.create_at(address, _artifacts().get("Token").initcode(arguments), DEPLOYER)
    for feed, price in zip(feeds, prices, strict=True):
        posted = ("a price", FEED_DECIMALS, price, 1, TIMESTAMP, DEPLOYER)
        fork.create_at(feed, _artifacts().get("PriceFeed").initcode(posted), DEPLOYER)

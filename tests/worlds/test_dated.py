"""Dated replicas: blocks beside the default one, with the parameters and prices of their day."""

from __future__ import annotations

from pathlib import Path

import pytest

from mayavi import Fork
from mayavi.errors import UsageError
from mayavi.protocols import AaveV3, PriceFeed
from mayavi.worlds import describe_world, open_world, world_blocks
from mayavi.worlds.cache import replica_path
from mayavi.worlds.source import WorldSource
from mayavi.worlds.tables.paths import dated_blocks, replica_block

JULY, SEPTEMBER = 17_666_333, 18_085_863
DEFAULT = 19_000_000

CREATED = ("Mayavi.", "AaveV3.Library.")  # contracts at addresses of no meaning
# Facts of the real blocks, from headers and Chainlink's rounds: seconds, base fee in wei, ETH/USD with 8 decimals.
HEADERS = {
    JULY: (1689029411, 14_677_335_454, 187_821_040_000),
    SEPTEMBER: (1694105579, 21_738_310_146, 163_764_500_000),
}


@pytest.fixture(scope="module", params=HEADERS)
def block(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module")
def replica(block: int) -> Fork:
    return Fork.replica("ethereum", block=block)


def test_ethereum_has_three_blocks_and_the_default_one_comes_first() -> None:
    assert world_blocks("ethereum") == [None, JULY, SEPTEMBER]
    assert world_blocks("base") == [None]


def test_a_dated_replica_stands_at_the_real_block_and_price(replica: Fork, block: int) -> None:
    timestamp, base_fee, price = HEADERS[block]
    env = replica.block
    assert (env["number"], env["timestamp"], env["base_fee"]) == (block, timestamp, base_fee)
    assert PriceFeed(replica, "Chainlink.ETH/USD").answer == price
    assert AaveV3(replica).price_usd_e8("WETH") == price


def test_contracts_stand_where_they_stand_at_every_block(replica: Fork) -> None:
    default = Fork.replica("ethereum").labels
    ours = {label: address for label, address in replica.labels.items() if not label.startswith(CREATED)}
    assert {"AaveV3.Pool", "AaveV3.awstETH", "UniswapV3.WETH/USDC.500"} <= set(ours)
    shared = {label: address for label, address in ours.items() if label in default}
    assert shared == {label: default[label] for label in shared}
    assert all(label.startswith("AaveV3.RateStrategy.") for label in set(ours) - set(default))


# Loan to value and threshold in basis points, rate parameters in percent, of payloads dated around the blocks.
PARAMETERS = {
    JULY: {"wstETH": (6900, 8000), "USDC": (7700, 7900), "DAI": (6700, 8000), "USDT": (0, 0), "LUSD": (0, 0)},
    SEPTEMBER: {
        "wstETH": (6900, 8000),
        "rETH": (6700, 7400),
        "DAI": (6700, 8000),
        "USDT": (0, 0),
        "LUSD": (7700, 8000),
    },
}
WETH_CURVE = {JULY: (80, 1, 3.8), SEPTEMBER: (90, 0, 3.8)}


def test_the_contracts_have_the_parameters_of_the_day(replica: Fork, block: int) -> None:
    market = AaveV3(replica)
    for symbol, expected in PARAMETERS[block].items():
        found = market.reserve(symbol).configuration
        assert (found.ltv_bps, found.liquidation_threshold_bps) == expected, symbol
    strategy = market.reserve("WETH").rate_strategy
    read = [
        int.from_bytes(replica.call(strategy, selector), "big") / 10**25
        for selector in (bytes.fromhex("54c365c6"), bytes.fromhex("34762ca5"), bytes.fromhex("0b3429a2"))
    ]  # OPTIMAL_USAGE_RATIO, getBaseVariableBorrowRate, getVariableRateSlope1
    assert tuple(read) == pytest.approx(WETH_CURVE[block])


def test_reserves_that_were_listed_later_are_absent(replica: Fork, block: int) -> None:
    absent = {"STG", "KNC"} | ({"GHO", "RPL", "sDAI"} if block == JULY else set())
    assert absent.isdisjoint(AaveV3(replica).reserves())
    assert "Spark.Pool" not in replica.labels
    assert "Curve.3pool" not in replica.labels


def test_a_loan_can_be_opened(replica: Fork) -> None:
    fork = replica.copy()
    alice = AaveV3(fork).account(b"\x0a" * 20)
    fork.deal("WETH", alice.address, 10**18)
    alice.supply("WETH", 10**18)
    alice.borrow("USDC", 1_000 * 10**6)
    price = AaveV3(fork).price_usd_e8("WETH")
    assert alice.data().health_factor_wad / 10**18 == pytest.approx(0.83 * price / 10**8 / 1_000, rel=1e-3)


def test_it_names_its_sources_and_what_differs(block: int) -> None:
    world = describe_world("ethereum", block)
    assert world.block.number == block
    assert any("aave-proposals" in each.origin for each in world.sources)
    assert {"dates", "listings", "other prices", "protocols"} <= {each.subject for each in world.differences}


def test_the_block_of_the_default_replica_is_the_default_replica() -> None:
    assert replica_block("ethereum", DEFAULT) is None
    source = WorldSource.of(chain="ethereum", block=DEFAULT)
    assert source == WorldSource.of(chain="ethereum")
    dated = WorldSource.of(chain="ethereum", block=JULY)
    assert dated.open().block["number"] == JULY
    assert source.open().block["number"] == DEFAULT
    assert WorldSource.of(block=JULY).on("ethereum").open().digest() == dated.open().digest()


@pytest.mark.parametrize("block", [5, "latest", "0x" + "ab" * 32])
def test_any_other_block_is_refused_with_those_there_are(block: int | str) -> None:
    with pytest.raises(UsageError, match=f"no replica of ethereum at block {block}") as refused:
        WorldSource.of(chain="ethereum", block=block)
    assert "17666333, 18085863, 19000000" in (refused.value.hint or "")
    with pytest.raises(UsageError, match="no replica of base at block 17666333"):
        Fork.replica("base", block=JULY)


@pytest.mark.slow
def test_blocks_are_cached_side_by_side(tmp_path: Path) -> None:
    for _ in range(6):
        open_world("ethereum", block=JULY, cache_dir=tmp_path, rebuild=True)
    default = replica_path("ethereum", tmp_path)
    default.write_bytes(b"another replica")
    for old in range(6):
        (default.parent / f"ethereum@{JULY}-{old}.snapshot").write_bytes(b"old")
    open_world("ethereum", block=JULY, cache_dir=tmp_path, rebuild=True)
    assert default.exists()
    assert len(list(default.parent.glob(f"ethereum@{JULY}-*"))) == 4
    assert dated_blocks("ethereum") == [JULY, SEPTEMBER]

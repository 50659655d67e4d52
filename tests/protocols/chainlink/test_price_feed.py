"""Price feeds: the replica's own, and Chainlink's real contracts as mainnet blocks recorded them."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path

import pytest

from mayavi import Fork
from mayavi.errors import (
    ActionRefused,
    BadArgument,
    BadInteger,
    MissingStateError,
    NoCode,
    StateError,
    UnknownName,
    UsageError,
)
from mayavi.evm.address import checksum
from mayavi.evm.hashing import keccak256
from mayavi.protocols.chainlink.price_feed import PriceFeed, Round
from mayavi.replay.case import read_bytecodes
from mayavi.worlds import world_names
from mayavi.worlds.tables.chain import load_table
from tests.protocols.chainlink.recorded_feed import AGGREGATOR, PROXY, at_block, eth_usd, put_real_feed

ETH_USD = "Chainlink.ETH/USD"


@pytest.fixture
def fork() -> Fork:
    return Fork.replica("ethereum")


# -- a replica ---------------------------------------------------------------------------------------------------------


def test_a_feed_says_what_it_is(fork: Fork) -> None:
    feed = PriceFeed(fork, ETH_USD)
    assert (feed.decimals, feed.description) == (8, "ETH / USD")
    assert feed.price == Decimal(feed.answer) / 10**8
    assert feed.latest_round.answer == feed.answer
    assert feed.round(feed.latest_round.round_id) == feed.latest_round
    assert PriceFeed(fork, fork.labels[ETH_USD]).name == ETH_USD


def test_a_moved_price_is_a_new_round_now_and_the_old_one_stays(fork: Fork) -> None:
    feed = PriceFeed(fork, ETH_USD)
    before = feed.latest_round
    fork.mine(10)
    after = feed.move(187_341_000_000)
    number = before.round_id + 1
    assert after == Round(number, 187_341_000_000, fork.timestamp, fork.timestamp, number) == feed.latest_round
    assert (feed.price, feed.updated_at) == (Decimal("1873.41"), fork.timestamp)
    assert feed.round(before.round_id) == before


@pytest.mark.parametrize("fraction", [-0.30, "-0.3", Decimal("-0.30")])
def test_a_fraction_is_taken_as_its_digits_say(fork: Fork, fraction: float | str | Decimal) -> None:
    feed = PriceFeed(fork, ETH_USD)
    feed.move(10**11 + 1)
    assert feed.move_by(fraction).answer == (10**11 + 1) * 7 // 10
    assert feed.move_by(1).answer == (10**11 + 1) * 7 // 10 * 2


def test_a_price_people_write_is_exact_or_refused(fork: Fork) -> None:
    feed = PriceFeed(fork, ETH_USD)
    assert feed.set_price("1873.41").answer == 187_341_000_000
    with pytest.raises(BadInteger, match="more than the 8 decimal places"):
        feed.set_price("0.123456789")


def test_aave_sees_the_moved_price(fork: Fork) -> None:
    oracle = fork.contract("AaveV3.Oracle", ["getAssetPrice(address asset) view returns (uint256)"])
    wsteth = oracle.getAssetPrice(fork.address_of("wstETH"))
    feed = PriceFeed(fork, ETH_USD)
    feed.move_by(-0.5)
    assert oracle.getAssetPrice(fork.address_of("WETH")) == feed.answer
    assert oracle.getAssetPrice(fork.address_of("wstETH")) == pytest.approx(wsteth / 2, abs=2)


def test_an_adapter_moves_by_its_ratio_and_leaves_its_base_alone(fork: Fork) -> None:
    adapter, base = PriceFeed(fork, "Aave.wstETH/USD"), PriceFeed(fork, ETH_USD)
    before, standing = adapter.answer, base.latest_round
    for answer in (before * 9 // 10, 1, 0, 123_456_789_012):
        assert adapter.move(answer).answer == adapter.answer == answer
    assert base.latest_round == standing
    assert adapter.updated_at == standing.updated_at
    with pytest.raises(BadArgument, match=r"is a ratio of Chainlink\.ETH/USD"):
        adapter.move(-1)


@pytest.mark.parametrize("chain", world_names())
def test_every_feed_of_every_replica_moves_there_and_back(chain: str) -> None:
    fork = Fork.replica(chain)
    for name, facts in load_table(chain).feeds.items():
        feed = PriceFeed(fork, f"{facts.operator}.{name}")
        before = feed.answer
        assert before > 0
        assert feed.move_by("0.1").answer == before * 11 // 10
        assert feed.move(before).answer == feed.answer == before


def test_what_cannot_be_moved_to_is_refused_and_changes_nothing(fork: Fork) -> None:
    feed = PriceFeed(fork, ETH_USD)
    digest = fork.digest()
    with pytest.raises(BadInteger, match=r"answer 2562\.92 is not an integer") as refused:
        feed.move(2562.92)  # type: ignore[arg-type]
    assert "set_price" in str(refused.value.hint)
    with pytest.raises(BadInteger, match="192 bits"):
        feed.move(2**191)
    with pytest.raises(BadArgument, match="cannot fall by more than all of it"):
        feed.move_by(-1.01)
    for fraction in (float("nan"), float("inf"), "a third", None):
        with pytest.raises(BadArgument, match="is not a fraction of a price"):
            feed.move_by(fraction)  # type: ignore[arg-type]
    assert fork.digest() == digest


def test_what_is_no_feed_is_refused_at_once(fork: Fork) -> None:
    with pytest.raises(NoCode, match="no contract stands at 0x0000000000000000000000000000000000000B0b"):
        PriceFeed(fork, "0x0000000000000000000000000000000000000b0b")
    for stranger in ("USDC", "WETH", "AaveV3.Pool"):
        with pytest.raises(UsageError, match=f"{stranger} is not a price feed"):
            PriceFeed(fork, stranger)
    with pytest.raises(UsageError, match="'ethereum' is not a fork"):
        PriceFeed("ethereum", ETH_USD)  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", [0, -5])
def test_no_fraction_of_nothing_is_a_price(fork: Fork, answer: int) -> None:
    feed = PriceFeed(fork, ETH_USD)
    feed.move(answer)
    with pytest.raises(ActionRefused, match=f"answers {answer}: a fraction of that is not a valid price"):
        feed.move_by(0.5)
    feed.move(0)
    assert str(feed.price) == "0"
    assert feed.set_price("2000").answer == 2_000 * 10**8


def test_an_unknown_feed_is_named_with_the_nearest(fork: Fork) -> None:
    with pytest.raises(UnknownName, match=r"unknown address or contract 'Chainlink\.ETH/US'") as refused:
        PriceFeed(fork, "Chainlink.ETH/US")
    assert ETH_USD in str(refused.value.hint)


# -- Chainlink's own contracts -----------------------------------------------------------------------------------------

REPORTS = [
    pytest.param(13217637, 1018, id="off-chain-reporting-2021"),
    pytest.param(13217637, 1029, id="off-chain-reporting-2021-b"),
    pytest.param(13217637, 1043, id="flux"),
    pytest.param(16146267, 144, id="off-chain-reporting-2022"),
    pytest.param(18085863, 90, id="off-chain-reporting-2023"),
]
"""Blocks and transactions with oracle reports to an aggregator."""

STANDING = [
    pytest.param(19426586, "0xdbe1941bfbe4410d6865b9b7078e0b49af144d2d", id="off-chain-reporting-2024"),
    pytest.param(19917570, "0x373bce97bec13bfa8a5f07cc578ec2d77f80c589", id="off-chain-reporting-2024-b"),
]
"""Blocks and aggregators whose round before the block is recorded."""


@pytest.fixture(scope="module")
def codes(cases: Path) -> dict[str, bytes]:
    return read_bytecodes(cases / "mainnet" / "blocks")


def test_the_real_proxy_and_aggregator_are_read(cases: Path, codes: dict[str, bytes]) -> None:
    feed = PriceFeed(eth_usd(cases, codes), PROXY)
    # What mainnet's feed said on 15 October 2022.
    assert (feed.answer, feed.decimals, feed.price) == (127_912_000_000, 8, Decimal("1279.12"))
    assert feed.latest_round.round_id == 5 << 64 | 35_250
    assert feed.updated_at == 1_665_824_147


def test_a_moved_price_is_seen_through_every_read_of_the_real_proxy(cases: Path, codes: dict[str, bytes]) -> None:
    fork = eth_usd(cases, codes)
    feed = PriceFeed(fork, PROXY)
    before = feed.latest_round
    for answer in (89_541_200_000, 1, 2**191 - 1, -5):
        number = feed.latest_round.round_id + 1
        expected = Round(number, answer, fork.timestamp, fork.timestamp, number)
        assert feed.move(answer) == expected == feed.latest_round == feed.round(number)
        assert feed.answer == answer
        fork.mine()
    assert feed.round(before.round_id) == before
    more = fork.contract(
        PROXY,
        [
            "latestTimestamp() view returns (uint256)",
            "latestRound() view returns (uint256)",
            "getAnswer(uint256 roundId) view returns (int256)",
            "getTimestamp(uint256 roundId) view returns (uint256)",
            "phaseId() view returns (uint16)",
        ],
    )
    latest = feed.latest_round
    assert (more.latestTimestamp(), more.latestRound(), more.phaseId()) == (latest.updated_at, latest.round_id, 5)
    assert (more.getAnswer(latest.round_id), more.getTimestamp(latest.round_id)) == (-5, latest.updated_at)
    assert more.getAnswer(before.round_id) == before.answer


def test_moving_writes_the_round_and_its_number_and_nothing_else(cases: Path, codes: dict[str, bytes]) -> None:
    fork = eth_usd(cases, codes)
    feed = PriceFeed(fork, PROXY)
    latest = feed.latest_round
    aggregator = fork.address_of(AGGREGATOR)
    packed = fork.storage(aggregator, 42)
    feed.move(89_541_200_000)
    # The number of the latest round shares its word with the oracles' configuration and epoch: those stay.
    assert fork.storage(aggregator, 42) == packed + (1 << 176)
    twin = eth_usd(cases, codes)
    twin.set_storage(aggregator, 42, packed + (1 << 176))
    place = 0xB6986428DD3F3C4E84D88226041093FF2B33113F108B664978198E336D4B318
    assert twin.storage(aggregator, place) == latest.updated_at << 192 | latest.answer
    written = [slot for slot in dict(fork.touched(PROXY, bytes.fromhex("feaf968c")))[aggregator] if slot > 2**128]
    for slot in written:
        twin.set_storage(aggregator, slot, fork.storage(aggregator, slot))
    assert fork.digest() == twin.digest()


def test_aave_prices_its_reserves_through_the_real_contracts(fork: Fork, cases: Path, codes: dict[str, bytes]) -> None:
    put_real_feed(fork, eth_usd(cases, codes))
    oracle = fork.contract("AaveV3.Oracle", ["getAssetPrice(address asset) view returns (uint256)"])
    weth, wsteth = (fork.address_of(token) for token in ("WETH", "wstETH"))
    feed = PriceFeed(fork, ETH_USD)
    before = oracle.getAssetPrice(wsteth)
    assert oracle.getAssetPrice(weth) == feed.answer == 127_912_000_000
    feed.move_by(-0.5)
    assert oracle.getAssetPrice(weth) == feed.answer == 63_956_000_000
    assert oracle.getAssetPrice(wsteth) == pytest.approx(before / 2, abs=1)
    assert feed.updated_at == fork.timestamp


def readable(fork: Fork, aggregator: str) -> PriceFeed:
    """Clear the unrecorded slots of an aggregator's read access list."""
    for selector in ("feaf968c", "50d25bcd", "668a0f02"):
        for _ in range(8):
            try:
                fork.call(aggregator, bytes.fromhex(selector))
            except MissingStateError as missing:
                fork.set_storage(aggregator, int(str(missing).split("slot ")[1].split()[0], 16), 0)
            else:
                break
    return PriceFeed(fork, aggregator)


def check_that_it_moves(feed: PriceFeed) -> None:
    latest = feed.latest_round
    assert latest.answer == feed.answer > 0
    feed.fork.mine()
    number, now = latest.round_id + 1, feed.fork.timestamp
    expected = Round(number, latest.answer * 7 // 10, now, now, number)
    assert feed.move_by(-0.3) == expected == feed.round(number)
    assert feed.answer == expected.answer
    assert feed.round(latest.round_id) == latest


@pytest.mark.parametrize(("number", "index"), REPORTS)
def test_a_real_aggregator_goes_on_after_the_oracles_own_report(
    cases: Path, codes: dict[str, bytes], number: int, index: int
) -> None:
    fork = at_block(cases, codes, number)
    block = json.loads(gzip.decompress((cases / "mainnet" / "blocks" / str(number) / "block.json.gz").read_bytes()))
    report = block["transactions"][index]
    fork.set_block(timestamp=int(block["timestamp"], 16))
    fork.send(report["to"], bytes.fromhex(report["input"][2:]), sender=report["from"])
    feed = readable(fork, report["to"])
    assert feed.updated_at == fork.timestamp
    check_that_it_moves(feed)


@pytest.mark.parametrize(("number", "aggregator"), STANDING)
def test_a_real_aggregator_moves_on_from_its_recorded_round(
    cases: Path, codes: dict[str, bytes], number: int, aggregator: str
) -> None:
    check_that_it_moves(readable(at_block(cases, codes, number), aggregator))


# -- a form that no recorded block has ---------------------------------------------------------------------------------

ROUND_AT, ROUNDS_AT = 48, 44
"""Second-generation OCR: bit offset of the round number in its slot, and slot of the mapping."""


def second_generation(answer: int, observed_at: int, transmitted_at: int) -> Fork:
    """Build a minimal aggregator of that generation: answer and two times in one word per round."""
    number = f"604354 {0x60:x}{ROUND_AT:02x} 1c 63ffffffff 16"  # the latest, from slot 0x43
    asked = "600435"
    entry = f"80 600052 {0x60:x}{ROUNDS_AT:02x} 602052 60406000 20 54"  # number -> number, word
    tell = "81 600052 81 6080 52 80 6017 0b 602052 80 60c0 1c 63ffffffff 16 604052 60e0 1c 606052 60a06000 f3"
    bodies = {
        "feaf968c": f"{number} {entry} {tell}",
        "9a6fc8f5": f"{asked} {entry} {tell}",
        "50d25bcd": f"{number} {entry} 6017 0b 600052 60206000 f3",
        "668a0f02": f"{number} 600052 60206000 f3",
    }
    blocks = {selector: bytes.fromhex("5b" + body.replace(" ", "")) for selector, body in bodies.items()}
    place = 6 + 11 * len(blocks) + 5
    head, tail = bytes.fromhex("60003560e01c"), b""
    for selector, block in blocks.items():
        head += bytes.fromhex(f"8063{selector}1461{place + len(tail):04x}57")
        tail += block
    fork = Fork.empty()
    fork.set_block(timestamp=1_720_000_000, number=20_000_000)
    aggregator = "0x" + "0c" * 20
    fork.set_code(aggregator, head + bytes.fromhex("60006000fd") + tail)
    fork.set_storage(aggregator, 0x43, 7 << ROUND_AT | 0xABCDE << 8 | 5 | 7 << 200)
    key = (7).to_bytes(32, "big") + ROUNDS_AT.to_bytes(32, "big")
    word = transmitted_at << 224 | observed_at << 192 | answer % 2**192
    fork.set_storage(aggregator, int.from_bytes(keccak256(key), "big"), word)
    fork.labels["Feed"] = checksum(aggregator)
    return fork


def test_the_second_generation_of_off_chain_reporting_is_recognised() -> None:
    fork = second_generation(250_000_000_000, 1_719_999_000, 1_719_999_024)
    feed = PriceFeed(fork, "Feed")
    assert feed.latest_round == Round(7, 250_000_000_000, 1_719_999_000, 1_719_999_024, 7)
    check_that_it_moves(feed)
    # What shares the word with the number, the same number elsewhere in it too, is as it was.
    assert fork.storage("Feed", 0x43) == 8 << ROUND_AT | 0xABCDE << 8 | 5 | 7 << 200
    assert feed.move(-3).answer == feed.answer == -3


def test_an_aggregator_of_another_form_is_refused_and_stays() -> None:
    fork = second_generation(250_000_000_000, 1_719_999_000, 1_719_999_024)
    fork.set_code("Feed", fork.code("Feed").replace(b"\x60\x20\x52\x60\x40", b"\x60\x40\x52\x60\x60"))
    digest = fork.digest()
    with pytest.raises(StateError, match="storage layout of the aggregator Feed is not known"):
        PriceFeed(fork, "Feed").move(1)
    assert fork.digest() == digest


def test_an_adapter_without_rounds_names_what_it_reads(fork: Fork) -> None:
    # latestAnswer of ETH/USD, whoever is asked for whatever: a contract that computes, with no rounds of its own.
    base = fork.address_of(ETH_USD)
    forward = "6350d25bcd60e01b600052 6020600060046000 73" + base.hex() + " 5afa 60206000f3"
    adapter = "0x" + "ad" * 20
    fork.set_code(adapter, bytes.fromhex("60003560e01c6350d25bcd14601457600060 00fd 5b" + forward))
    with pytest.raises(UsageError, match="has no rounds of its own") as refused:
        PriceFeed(fork, adapter).move(1)
    assert f"it reads {ETH_USD}" in str(refused.value.hint)

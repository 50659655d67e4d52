"""`mayavi position`: the figures of an account, on a replica, in a snapshot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mayavi import Fork
from mayavi.errors import CallReverted
from mayavi.protocols import AaveV3, CompoundV3, PriceFeed, add_morpho

ALICE = "0x00000000000000000000000000000000000A11cE"


@pytest.fixture(scope="module")
def borrowed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot in which Alice owes 1,500 USDC against 1 WETH on Aave."""
    fork = Fork.replica("ethereum")
    alice = AaveV3(fork).account(ALICE)
    fork.deal("WETH", alice.address, 10**18)
    alice.supply("WETH", 10**18)
    alice.borrow("USDC", 1_500 * 10**6)
    path = tmp_path_factory.mktemp("position") / "borrowed.snapshot"
    fork.dump_snapshot(path)
    return path


def positions(finished: Any) -> dict[str, dict[str, Any]]:
    assert finished.returncode == 0, finished.stderr
    return {each["market"]: each for each in json.loads(finished.stdout)["positions"]}


def test_the_figures_are_those_of_the_pool(run_mayavi, borrowed: Path) -> None:
    found = positions(run_mayavi("position", ALICE, "--snapshot", str(borrowed), "--json"))["Aave V3"]
    data = AaveV3(Fork.load_snapshot(borrowed)).account(ALICE).data()
    assert found["collateral_value_e8"] == str(data.collateral_usd_e8)
    assert found["debt_value_e8"] == str(data.debt_usd_e8)
    assert found["borrowable_value_e8"] == str(data.available_usd_e8)
    assert found["health_factor_wad"] == str(data.health_factor_wad)
    assert found["liquidatable"] is False
    supplied, owed = found["assets"]
    assert (supplied["symbol"], supplied["supplied"], supplied["collateral"]) == ("WETH", str(10**18), True)
    assert (owed["symbol"], owed["debt"], owed["liquidation_price_e8"]) == ("USDC", str(1_500 * 10**6), None)


def test_at_the_price_it_names_the_account_can_be_liquidated_and_one_above_not(run_mayavi, borrowed: Path) -> None:
    found = positions(run_mayavi("position", ALICE, "--snapshot", str(borrowed), "--json"))["Aave V3"]
    edge = int(found["assets"][0]["liquidation_price_e8"])
    fork = Fork.load_snapshot(borrowed)
    account, feed = AaveV3(fork).account(ALICE), PriceFeed(fork, "Chainlink.ETH/USD")
    feed.move(edge + 1)
    assert account.health_factor >= 1
    feed.move(edge)
    assert account.health_factor < 1


def test_the_table_names_asset_debt_health_and_the_price_that_ends_it(run_mayavi, borrowed: Path) -> None:
    finished = run_mayavi("position", ALICE, "--snapshot", str(borrowed))
    assert finished.returncode == 0, finished.stderr
    lines = finished.stdout.splitlines()
    assert lines[0] == f"{ALICE} on the ethereum snapshot, block 19,000,000"
    weth = next(line.split() for line in lines if line.startswith("WETH"))
    assert weth[1:4] == ["1.000000", "2,562.92", "yes"]
    assert weth[-1] == "1,807.18"
    assert any(line.startswith("health factor") and line.endswith("1.4182") for line in lines)
    assert "nothing on" in finished.stdout


def test_on_a_replica_an_account_without_a_position_is_said_to_have_none(run_mayavi) -> None:
    finished = run_mayavi("position", ALICE, "--chain", "base")
    assert finished.returncode == 0
    assert "nothing on Aave V3" in finished.stdout
    assert " on the base@2025-12 replica, block 39" in run_mayavi("position", ALICE, "--chain", "base@2025-12").stdout
    assert positions(run_mayavi("position", ALICE, "--chain", "base", "--json"))["Aave V3"]["health_factor_wad"] is None


def test_a_name_is_as_good_as_an_address_and_a_protocol_can_be_chosen(run_mayavi) -> None:
    found = positions(run_mayavi("position", "Mayavi.Market", "--chain", "base", "--protocol", "aave", "--json"))
    assert list(found) == ["Aave V3"]
    assert int(found["Aave V3"]["debt_value_e8"]) > 10**8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["0x12"], "address '0x12' has 2 hex digits, not 40"),
        (["Mayavi.Markt"], "unknown address or contract 'Mayavi.Markt'"),
        ([ALICE, "--chain", "etherium"], "unknown world 'etherium'"),
        ([ALICE, "--chain", "mainnet"], "unknown world 'mainnet'"),
        ([ALICE, "--rpc", "--chain", "etherium"], "unknown chain 'etherium'"),
        ([ALICE, "--chain", "avalanche", "--protocol", "spark"], "spark is not on the avalanche replica"),
        ([ALICE, "--block", "19000000"], "--block 19000000 needs a node to read that block from"),
        ([ALICE, "--rpc-url", "http://127.0.0.1:1", "--block", "soon"], "'soon' is not a block"),
        ([ALICE, "--snapshot", "absent"], "there is no snapshot at 'absent'"),
        ([ALICE, "--rpc", "--snapshot", "absent"], "a node and --snapshot exclude each other"),
    ],
)
def test_misuse_says_what_was_wrong_and_what_to_do(run_mayavi, arguments: list[str], message: str) -> None:
    finished = run_mayavi("position", *arguments)
    assert (finished.returncode, finished.stdout) == (2, "")
    said, _, after = finished.stderr.partition("error: ")  # a slow machine may tell of its progress before it
    first, *hints = after.splitlines()
    assert first == message
    assert hints or "hex digits" in message
    assert all(line.endswith(" …") for line in said.splitlines())


def test_a_snapshot_of_another_chain_or_of_no_protocol_is_refused(run_mayavi, borrowed: Path, tmp_path: Path) -> None:
    finished = run_mayavi("position", ALICE, "--snapshot", str(borrowed), "--chain", "base")
    assert finished.returncode == 2
    assert "holds chain 1, not base" in finished.stderr
    Fork.empty(chain_id=1).dump_snapshot(tmp_path / "empty.snapshot")
    finished = run_mayavi("position", ALICE, "--snapshot", str(tmp_path / "empty.snapshot"))
    assert finished.returncode == 2
    assert "no lending protocol is known on the ethereum snapshot" in finished.stderr


@pytest.mark.slow
def test_a_node_that_is_not_there_is_a_failure(run_mayavi) -> None:
    finished = run_mayavi("position", ALICE, "--rpc-url", "http://127.0.0.1:9", "--json")
    assert finished.returncode == 1
    assert "127.0.0.1" in json.loads(finished.stdout.splitlines()[-1])["error"]


def test_on_compound_the_price_it_names_is_the_edge_too(run_mayavi, tmp_path: Path) -> None:
    fork = Fork.replica("base")
    alice = CompoundV3(fork).account(ALICE)
    fork.deal("WETH", alice.address, 10**18)
    alice.supply("WETH", 10**18)
    alice.borrow(1_500 * 10**6)
    fork.dump_snapshot(tmp_path / "compound.snapshot")
    finished = run_mayavi("position", ALICE, "--snapshot", str(tmp_path / "compound.snapshot"), "--json")
    found = positions(finished)["Compound V3 cUSDCv3"]
    assert found["protocol"] == "compound"
    weth, usdc = found["assets"]
    assert (weth["collateral"], usdc["debt"]) == (True, str(1_500 * 10**6))
    limit = alice.data().borrow_limit_e8
    assert int(found["borrowable_value_e8"]) == limit - int(found["debt_value_e8"]) < limit
    with fork.snapshot():
        room = int(found["borrowable_value_e8"]) * 10**6 // int(usdc["price_e8"])
        with pytest.raises(CallReverted, match="NotCollateralized"):
            alice.borrow(room + 2)
        alice.borrow(room - 1)
    feed = PriceFeed(fork, "Chainlink.ETH/USD")
    feed.move(int(weth["liquidation_price_e8"]) + 1)
    assert not alice.liquidatable
    feed.move(int(weth["liquidation_price_e8"]))
    assert alice.liquidatable


def test_on_morpho_the_position_of_each_market_is_shown(run_mayavi, tmp_path: Path) -> None:
    fork = Fork.replica("ethereum").copy()
    market = add_morpho(fork).market("wstETH/USDC.86")
    alice = market.account(ALICE)
    fork.deal("USDC", alice.address, 10**12)
    fork.deal("wstETH", alice.address, 10**18)
    alice.supply(10**12)
    alice.supply_collateral(10**18)
    alice.borrow(2_000 * 10**6)
    fork.dump_snapshot(tmp_path / "morpho.snapshot")
    finished = run_mayavi(
        "position", ALICE, "--snapshot", str(tmp_path / "morpho.snapshot"), "--protocol", "morpho", "--json"
    )
    found = positions(finished)
    assert set(found) == {"Morpho sDAI/USDC.96.5", "Morpho wstETH/USDC.86", "Morpho WBTC/USDC.86"}
    position = found["Morpho wstETH/USDC.86"]
    staked, dollars = position["assets"]
    assert (staked["supplied"], staked["collateral"], staked["liquidation_threshold_bps"]) == (str(10**18), True, 8_600)
    assert (dollars["supplied"], dollars["debt"]) == (str(10**12), str(2_000 * 10**6))
    assert position["health_factor_wad"] == str(alice.data().health_factor_wad)
    assert int(staked["liquidation_price_e8"]) == pytest.approx(2_000 / 0.86 * 10**8, rel=1e-8)
    assert found["Morpho WBTC/USDC.86"]["assets"] == []
    human = run_mayavi("position", ALICE, "--snapshot", str(tmp_path / "morpho.snapshot"), "--protocol", "morpho")
    assert "Morpho wstETH/USDC.86, values in USDC" in human.stdout

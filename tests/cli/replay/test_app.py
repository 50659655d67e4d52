"""`mayavi replay`: misuse, and a transaction from a case without network. tests/node has what needs a node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CURVE = "0x536fca86ab22ed2d41a7e6a910e28e16fe05fde52c3fc392de4a905d02270793"
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def blocks(cases: Path) -> str:
    return str(cases / "mainnet" / "blocks")


@pytest.mark.slow(1)
def test_a_transaction_of_a_case_is_shown_with_its_trace(run_mayavi, blocks: str) -> None:
    done = run_mayavi("replay", "tx", CURVE, "--case", blocks, "--trace", env={"MAYAVI_RPC_URL": NOBODY})
    assert done.returncode == 0, done.stderr
    for line in (
        "block        17666333, index 53, rules of shanghai",
        "receipt      status, gas and 8 logs equal the chain's",
        "token transfers",
        "10,744.968379 USDC  sender → 0x99a5…788f",
        "balance changes",
        "storage changes",
        "  balance of sender (0x5527d3…da93): 10,744.968379 USDC → 0 USDC",
        "events",
    ):
        assert line in done.stdout.splitlines()
    assert (
        "    DELEGATECALL 0xa232…bDCF.transferFrom(from: sender, to: 0x99a5…788f, amount: 10,744,968,379)"
        in done.stdout
    )


@pytest.mark.slow(1)
def test_a_what_if_is_shown_beside_the_original(run_mayavi, blocks: str) -> None:
    change = ("--what-if", "arg._expected=6 ether")
    done = run_mayavi("replay", "tx", CURVE, "--case", blocks, *change)
    assert done.returncode == 0, done.stderr
    assert "what if arg._expected=6 ether" in done.stdout
    assert "failed: no reason given" in done.stdout

    done = run_mayavi("replay", "tx", CURVE, "--case", blocks, *change, "--json")
    found = json.loads(done.stdout)
    assert found["exact"] is True
    assert found["what_if"]["overrides"] == ["arg._expected=6 ether"]
    assert found["what_if"]["outcome"]["success"] is False
    ether = [each for each in found["what_if"]["differences"] if each.get("token") == "ETH"]
    changed = sorted(int(each["changed"]) for each in ether)
    assert -(10**16) < changed[0] < 0 < changed[-1] < 10**16, "the sender pays its fee, the block producer gets its tip"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tx", "0x12", "--case", "."), "'0x12' is not a transaction hash"),
        (("tx", CURVE, "--case", ".", "--rpc", NOBODY), "not from both"),
        (("tx", CURVE, "--case", "nowhere"), "'nowhere' is not a folder"),
        (("capture", "--block", "5-7", "--out", "x", "--rpc", NOBODY), "'5-7' names no blocks"),
        (("history", "--from", "1", "--to", "2", "--state", "all", "--rpc", NOBODY), "'all' is not a state to compare"),
        (("history", "--from", "1", "--to", "2", "--selector", "x", "--rpc", NOBODY), "'x' is not a selector"),
        (("history", "--from", "1", "--to", "2", "--rpc", "ws://host"), "only http and https"),
        (("history", "--from", "1", "--to", "2", "--chain", "etherium", "--rpc", NOBODY), "unknown chain 'etherium'"),
        (
            ("launch", "--pool", "x", "--from", "1", "--to", "2", "--out", "x.json", "--rpc", NOBODY),
            "does not end in .csv",
        ),
        (("history", "--from", "9", "--to", "1", "--rpc", NOBODY), "the range 9 to 1 is empty"),
        (("history", "--from", "0", "--to", "1", "--rpc", NOBODY), "block 0 has no parent"),
        (
            ("history", "--from", "1", "--to", "2", "--selector", "f(uint", "--rpc-url", NOBODY),
            "is not a valid signature",
        ),
        (("capture", "--block", "9:1", "--out", "x", "--rpc-url", NOBODY), "the range 9 to 1 is empty"),
        (("launch", "--pool", "0x12", "--from", "5", "--to", "2", "--rpc", NOBODY), "the range 5 to 2 is empty"),
        (("launch", "--pool", "0x12", "--from", "1", "--to", "2", "--rpc-url", NOBODY), "0x12"),
        (("tx", CURVE, "--rpc-url", NOBODY, "--what-if", "valeu=1"), "unknown override 'valeu'"),
        (("history", "--from", "1", "--to", "2", "--max-requests", "0", "--rpc", NOBODY), "a budget of 0 requests"),
    ],
)
def test_misuse_is_explained_before_anything_is_asked(
    run_mayavi, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = run_mayavi("replay", *arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_no_address_of_a_node_is_an_error_with_its_remedy(run_mayavi, tmp_path: Path) -> None:
    unset = {"MAYAVI_RPC_URL": "", "ALCHEMY_RPC_URL": ""}
    done = run_mayavi("replay", "history", "--from", "1", "--to", "2", env=unset, cwd=tmp_path)
    assert done.returncode == 2
    assert "no RPC address is set" in done.stderr
    assert "give --rpc URL, or set MAYAVI_RPC_URL" in done.stderr
    done = run_mayavi("replay", "tx", CURVE, env=unset, cwd=tmp_path)
    assert done.returncode == 2
    assert "give --rpc URL or --case DIR, or set MAYAVI_RPC_URL" in done.stderr

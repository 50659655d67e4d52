"""A fork of a witness: the proven state before a block, and nothing else."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from mayavi import Fork
from mayavi.errors import MissingStateError, UsageError, WitnessError

WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
PAYEE = "0x42A93A9F5CFDa54716c414b6EAF07Cf512F46eAD"
"""Gets withdrawals in the block."""


@pytest.fixture(scope="module")
def file(cases: Path) -> Path:
    return cases / "mainnet" / "witness" / "mainnet-23587691.json.gz"


@pytest.fixture
def fork(file: Path) -> Fork:
    return Fork.from_witness(file)


def test_it_stands_before_the_block_with_the_environment_of_the_block(fork: Fork) -> None:
    assert (fork.chain_id, fork.block_number, fork.timestamp) == (1, 23_587_691, 1_760_586_995)
    assert fork.hardfork == "prague"
    assert fork.block["base_fee"] == 136_347_964
    assert fork.source["kind"] == "witness"
    assert fork.source["state_root"] == "0x44e6f38a566ff52b4d6acb3e6db2e827cabdf65195891057c5b698900104941a"


def test_proven_state_is_read_and_can_be_written(fork: Fork) -> None:
    before = fork.balance(PAYEE)
    assert before > 0
    copy = fork.copy()
    copy.set_balance(PAYEE, before + 1)
    assert (copy.balance(PAYEE), fork.balance(PAYEE)) == (before + 1, before)


def test_state_outside_the_witness_is_an_error_that_names_the_trie_node(fork: Fork) -> None:
    with pytest.raises(
        MissingStateError, match=r"state of account 0x\w{40} is not proven: trie node 0x\w{64} is"
    ) as got:
        fork.balance("0x00000000000000000000000000000000000A11cE")
    assert got.value.hint == "the witness proves only what its block reads; use a node for other state"


def test_a_snapshot_of_it_holds_what_was_read(fork: Fork, tmp_path: Path) -> None:
    balance = fork.balance(PAYEE)
    fork.dump_snapshot(tmp_path / "read.snapshot")
    again = Fork.load_snapshot(tmp_path / "read.snapshot")
    assert again.balance(PAYEE) == balance
    with pytest.raises(MissingStateError):
        again.balance(WETH)


def test_a_witness_that_contradicts_itself_is_refused(file: Path, tmp_path: Path) -> None:
    document = json.loads(gzip.decompress(file.read_bytes()))
    document["withdrawals"][0]["amount"] = "0x1"
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(document))
    with pytest.raises(WitnessError, match="withdrawals root: expected 0x2f5de462"):
        Fork.from_witness(changed)
    with pytest.raises(UsageError, match="there is no witness"):
        Fork.from_witness(tmp_path / "absent.json")
    with pytest.raises(UsageError, match="is a folder"):
        Fork.from_witness(tmp_path)

"""A block executed one transaction at a time, reading state as it goes, equals the block executed whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mayavi.errors import UsageError
from mayavi.evm.rpc.remote import Facts, Missing
from mayavi.replay.block_state import BlockState, missing_of_text, system_reads
from mayavi.replay.blocks import receipt_difference
from mayavi.replay.case_state import CaseState, open_case
from mayavi.replay.history.block_replay import execute
from mayavi.replay.history.read_hints import ReadHints
from mayavi.replay.history.receipt_fields import effective_gas_price, logs_bloom

SMALL = 19_934_116
"""Cancun block of 58 transactions with withdrawals and a blob transaction."""


@pytest.fixture(scope="module")
def blocks(cases: Path) -> Path:
    return cases / "mainnet" / "blocks"


@dataclass
class Scarce:
    """State source without hints of what will be read; counts its answers."""

    case: CaseState
    asked: int = 0

    def before(self, index: int) -> Facts:
        return Facts()

    def fetch(self, missing: list[Missing]) -> Facts:
        self.asked += len(missing)
        return self.case.fetch(missing)


@pytest.mark.slow(0.5)
def test_one_by_one_with_lazy_reads_equals_the_chain(blocks: Path) -> None:
    block, source, receipts = open_case(blocks, SMALL)
    assert receipts is not None
    scarce = Scarce(source)
    state = BlockState(block, scarce)
    state.evm.probe = False  # a probe goes on with zeros for what it misses, and may ask for what the block never read
    # The case does not hold the contract of the beacon roots, nor the accounts of all withdrawals.
    state.known.accounts |= {address: (0, 0, b"") for kind, address, _ in system_reads(block)}
    for kind, address, key in system_reads(block):
        assert kind == "slot"
        state.known.slots.setdefault(address, {})[key] = 0
    state.begin()
    results = state.execute(len(block.transactions))
    assert len(results) == len(receipts) == 58
    for result, want in zip(results, receipts, strict=True):
        assert result["failure"] is None
        assert receipt_difference(want, result["receipts"][0]) is None
    assert scarce.asked > 300

    whole, _ = execute(block, state.known)
    assert whole["failure"] is None
    assert whole["receipts_root"] == block.whole().claims()["receipts_root"]


def test_only_what_is_read_is_learnt(blocks: Path) -> None:
    block, source, _ = open_case(blocks, SMALL)
    state = BlockState(block, Scarce(source))
    state.evm.probe = False
    state.execute(3)
    read = sum(map(len, state.known.slots.values()))
    assert 0 < read < sum(map(len, source.facts.slots.values())) / 2
    assert set(state.first_reads) == {0, 1, 2}


def test_the_bloom_of_the_logs_is_that_of_the_header(blocks: Path) -> None:
    block, _, receipts = open_case(blocks, SMALL)
    assert receipts is not None
    logs = [log for receipt in receipts for log in receipt.logs]
    assert logs_bloom(logs) == block.whole().claims()["logs_bloom"]
    assert logs_bloom(logs[:-1]) != logs_bloom([])


def test_the_effective_gas_price_is_the_one_the_node_states(blocks: Path) -> None:
    block, _, _ = open_case(blocks, SMALL)
    stated = [int(each["gasPrice"], 16) for each in block.content["transactions"]]
    assert [effective_gas_price(block, each) for each in block.transactions] == stated


def test_what_a_function_read_before_is_guessed_for_its_next_call(blocks: Path) -> None:
    block, source, _ = open_case(blocks, SMALL)
    state = BlockState(block, Scarce(source))
    state.evm.probe = False
    state.execute(5)
    hints = ReadHints()
    plain = set(hints.likely(block))
    assert {("account", each.sender, 0) for each in block.transactions} <= plain
    assert not any(kind == "slot" for kind, _, _ in plain)
    hints.record(state)
    read = {item for index, reads in state.first_reads.items() if block.transactions[index].to for item in reads}
    assert set(hints.likely(block)) == plain | read
    assert any(kind == "slot" for kind, _, _ in read)


def test_a_transaction_type_of_a_rollup_is_named(blocks: Path) -> None:
    block, _, _ = open_case(blocks, SMALL)
    first, *rest = block.content["transactions"]
    deposit = {key: value for key, value in first.items() if key not in ("r", "s", "v", "yParity")} | {"type": "0x7e"}
    changed = replace(block, content={**block.content, "transactions": [deposit, *rest]})
    with pytest.raises(UsageError, match=f"transaction 0 of block {SMALL} has type 0x7e"):
        len(changed.transactions)


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("state of account 0x" + "Ab" * 20 + " is not in this world", ("account", b"\xab" * 20, 0)),
        ("state of 0x" + "ab" * 20 + " slot 0x1f is not in this world", ("slot", b"\xab" * 20, 31)),
        ("hash of block 123 is not in this world", ("block_hash", b"", 123)),
        ("lack of funds (0) for max fee (1)", None),
    ],
)
def test_a_miss_is_read_from_the_kernel_s_message(text: str, item: Missing | None) -> None:
    assert missing_of_text(text) == item

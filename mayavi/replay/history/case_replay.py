"""Replay the block of a case as a scan does, without a node."""

from __future__ import annotations

from pathlib import Path

from mayavi.replay.block_state import exact_reads
from mayavi.replay.blocks import BEFORE_STATUS, block_differences, transaction_differences
from mayavi.replay.case import JsonFields
from mayavi.replay.case_state import open_case
from mayavi.replay.history.block_replay import ReplayedBlock, execute, matched_rows


def replay_case(folder: Path, number: int, matching: set[int] | None = None) -> ReplayedBlock:
    """Execute the case of block `number` and compare it with its receipts and header.

    `matching` are the indices of the transactions that get a row; by default all. No state is compared.
    """
    block, source, receipts = open_case(folder, number)
    result, evm = execute(block, exact_reads(block, source.facts))
    claims = block.whole().claims()
    senders = JsonFields(len(block.withdrawals), tuple("0x" + each.sender.hex() for each in block.transactions))
    wrong = transaction_differences(result, claims, senders, receipts)
    whole = block_differences(result, claims)
    if block.hardfork in BEFORE_STATUS:  # receipts held a state root then
        whole = [each for each in whole if each.field != "receipts root"]
    chosen = {each.index for each in block.transactions} if matching is None else matching
    return ReplayedBlock(
        block,
        matched_rows(block, result, wrong, chosen),
        [wrong[index] for index in sorted(wrong)] + whole,
        result["gas_used"],
        source="case",
        state_digest="" if result["failure"] else evm.digest(),
    )

"""A mainnet block whose state is read from a node, with and without a tracer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mayavi.errors import MayaviError
from mayavi.evm.rpc.client import RpcClient
from mayavi.evm.rpc.remote import Facts
from mayavi.replay.block_state import exact_reads
from mayavi.replay.case_state import open_case
from mayavi.replay.history.block_replay import ReplayedBlock, replay_block
from mayavi.replay.history.node import BlockReceipts, ReplayNode
from tests.replay.case_node import CaseNode

SMALL = 19_934_116
"""Cancun block of 58 transactions with withdrawals, access lists and a blob transaction."""


def replayed(folder: Path, *, tracer: bool) -> tuple[ReplayedBlock, CaseNode]:
    block, state, receipts = open_case(folder, SMALL)
    assert receipts is not None
    parent = replace(block.header, number=SMALL - 1, hash=block.header.parent_hash)
    server = CaseNode(block, state, receipts, tracer=tracer)
    try:
        with ReplayNode(RpcClient(server.url), 1, SMALL, bytes(32)) as node:
            done = replay_block(node, block, parent, BlockReceipts(receipts, []), {3, 5}, "none")
            with pytest.raises(MayaviError, match="the chain reorganised"):
                node.state(block, block.header)
    finally:
        server.close()
    return done, server


@pytest.mark.slow(15)
def test_plain_reads_of_a_mainnet_block_are_exact(cases: Path) -> None:
    done, server = replayed(cases / "mainnet" / "blocks", tracer=False)
    assert done.differences == []
    assert done.source == "plain reads"
    assert done.gas_used == done.block.header.gas_used
    assert [row.transaction.index for row in done.matched] == [3, 5]
    calls = sum(len(request) for request in server.requests)
    assert len(server.requests) < calls / 5, "misses are read together"


def test_a_tracer_saves_nearly_all_requests(cases: Path) -> None:
    done, server = replayed(cases / "mainnet" / "blocks", tracer=True)
    assert done.differences == []
    assert done.source == "prestate tracer"
    assert len(server.requests) < 60, "one trace, and what is outside every transaction or empty"


def test_only_what_the_block_reads_is_kept(cases: Path) -> None:
    """A recorded case holds exactly that, save for what the protocol touches outside every transaction."""
    block, state, _ = open_case(cases / "mainnet" / "blocks", SMALL)
    more = Facts(dict(state.facts.accounts), {address: dict(slots) for address, slots in state.facts.slots.items()})
    more.accounts[b"\x99" * 20] = (5, 0, b"")
    token = next(address for address, slots in more.slots.items() if slots)
    more.slots[token][0x1234567] = 7
    kept = exact_reads(block, more)
    assert b"\x99" * 20 not in kept.accounts
    assert 0x1234567 not in kept.slots[token]
    for address, slots in state.facts.slots.items():
        assert kept.slots.get(address, {}) == slots, address.hex()

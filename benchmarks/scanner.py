"""Scan of local blocks: `mayavi replay history` against a node on loopback.

The node has Ethereum's replica. Every block holds two transactions, a Uniswap swap and a transfer, each signed by an
account of the node. Measured are blocks per second and requests per block, with and without a prestate tracer: hardhat
has none, so a replay reads the state plainly while it executes.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.measuring.report import Effort, Quantity, Row, Section, Unavailable
from mayavi.replay.history.node import ReplayNode
from mayavi.replay.history.scanner import HistoryReport, Scanner
from mayavi.replay.history.store import HistoryStore
from mayavi.replay.history.touched_state import StateCheck
from mayavi.worlds.contract_folder import contracts_root
from tests.node.chain_history import ETHER, ChainHistory, start_history

BLOCKS = 1_000
QUICK_BLOCKS = 20


def measure(effort: Effort) -> Section:
    """Make the history, then scan it with each way of comparing state."""
    if not (contracts_root() / "node_modules" / ".bin" / "hardhat").exists():
        raise Unavailable("hardhat is not installed; `make setup` installs it")
    count = QUICK_BLOCKS if effort.quick else BLOCKS
    section = Section("scanner", f"replay of {count:,} blocks of a node on loopback")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        history = start_history(folder)
        try:
            first = history.last + 1
            make_blocks(history, count)
            checks: tuple[StateCheck, ...] = ("touched", "changed", "none")
            for check in checks:
                report, seconds = scan(history, folder / f"{check}.duckdb", first, first + count - 1, check)
                section.rows.append(row(report, seconds, check))
            again, seconds = scan(history, folder / "touched.duckdb", first, first + count - 1, "touched")
            section.rows.append(row(again, seconds, "touched", "all stored before"))
            section.notes.append(
                f"{again.totals['matched']:,} transactions, {again.totals['gas_used']:,} gas, all exact"
            )
        finally:
            history.node.stop()
    return section


def make_blocks(history: ChainHistory, count: int) -> None:
    """Mine `count` blocks of two transactions."""
    node = history.node
    node.rpc("evm_setAutomine", False)
    receiver = history.address(7)
    for block in range(count):
        history.swap("swap", 0, "WETH", "USDC", ETHER // 1_000 + block)
        history.call("transfer", 1, "WETH", "transfer(address,uint256)", receiver, 10**9 + block)
        node.rpc("evm_mine")
    node.rpc("evm_setAutomine", True)


def scan(history: ChainHistory, store: Path, first: int, last: int, check: StateCheck) -> tuple[HistoryReport, float]:
    """Scan a range and return the report and the seconds it took."""
    began = time.perf_counter()
    with ReplayNode.open(history.node.url, concurrency=1) as node, HistoryStore(store) as database:
        report = Scanner(node, database, check=check).run(first, last)
    assert report.exact, str(report.differences[0])
    return report, time.perf_counter() - began


def row(report: HistoryReport, seconds: float, check: StateCheck, note: str = "") -> Row:
    """Return the figures of one scan."""
    blocks = report.totals["blocks"]
    name = f"state compared: {check}" + (f", {note}" if note else "")
    return Row(
        name,
        {
            "blocks_per_second": Quantity(blocks / seconds, "blocks/s"),
            "requests": Quantity(report.requests, "requests"),
            "requests_per_block": Quantity(report.requests / blocks, "requests"),
            "seconds": Quantity(seconds, "s"),
        },
    )

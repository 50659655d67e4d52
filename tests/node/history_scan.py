"""The scanner on blocks of a node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mayavi.replay.history.node import ReplayNode
from mayavi.replay.history.scanner import HistoryReport, Scanner
from mayavi.replay.history.store import HistoryStore
from mayavi.replay.history.transaction_filter import TransactionFilter


def scan(
    url: str, store: Path, first: int, last: int, chosen: TransactionFilter | None = None, **options: Any
) -> HistoryReport:
    again = options.pop("again", False)
    with ReplayNode.open(url, chain="ethereum", **options) as node, HistoryStore(store) as database:
        return Scanner(node, database, chosen).run(first, last, again=again)

"""Walk a range of blocks of a node and replay the transactions that match a filter, each in its place."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

from mayavi.errors import MayaviError
from mayavi.evm.rpc.header import Header
from mayavi.replay.chain_block import ChainBlock
from mayavi.replay.history.block_replay import ReplayedBlock, replay_block
from mayavi.replay.history.case_files import CaseFolder
from mayavi.replay.history.node import BlockReceipts, ReplayNode
from mayavi.replay.history.read_hints import ReadHints
from mayavi.replay.history.store import HistoryStore, Scan, StoredDifference
from mayavi.replay.history.touched_state import StateCheck
from mayavi.replay.history.transaction_filter import TransactionFilter

CHUNK = 16
"""Blocks requested together."""

STORE_EVERY_S = 1.0

Finished = Callable[[list[ReplayedBlock]], None]
"""Callback that stores finished blocks."""
Progress = Callable[[int, int], None]
"""Callback after each block: blocks done, blocks in total."""


@dataclass(slots=True)
class HistoryReport:
    """Result of a scan: sums over the whole range, and what this call did for them."""

    first: int
    last: int
    totals: dict[str, int]
    differences: list[StoredDifference]
    """First difference of each block that differs."""
    replayed: int = 0
    """Blocks replayed by this call; the others were stored before."""
    requests: int = 0
    seconds: float = 0.0
    source: str = ""
    notes: list[str] = field(default_factory=list)
    scan_id: str = ""

    @property
    def exact(self) -> bool:
        """Whether nothing in the range differs from the chain."""
        return not self.differences

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        per_block = round(self.requests / self.replayed, 3) if self.replayed else None
        return {
            "scan": self.scan_id,
            "from": self.first,
            "to": self.last,
            "exact": self.exact,
            **self.totals,
            "replayed_now": self.replayed,
            "stored_before": self.totals["blocks"] - self.replayed,
            "requests": self.requests,
            "requests_per_block": per_block,
            "seconds": round(self.seconds, 3),
            "state_from": self.source,
            "notes": self.notes,
            "first_differences": [each.to_json() for each in self.differences],
        }


class Scanner:
    """Scan of one node with one filter, stored in one database."""

    def __init__(
        self,
        node: ReplayNode,
        store: HistoryStore,
        chosen: TransactionFilter | None = None,
        *,
        check: StateCheck = "touched",
        concurrency: int = 4,
        cases: CaseFolder | None = None,
        keep_logs: bool = False,
    ) -> None:
        """`cases` receives every executed block as a case; `keep_logs` stores the logs of matching transactions."""
        self.node, self.store = node, store
        self.cases, self.keep_logs = cases, keep_logs
        self.filter = chosen or TransactionFilter()
        self.check: StateCheck = check
        self.concurrency = concurrency
        self.hints = ReadHints()
        self.scan = Scan(node.chain_id, node.genesis, self.filter.text, check)

    def run(
        self,
        first: int,
        last: int,
        *,
        only: Collection[int] | None = None,
        again: bool = False,
        progress: Progress | None = None,
    ) -> HistoryReport:
        """Replay the blocks from `first` to `last` that are not stored yet; with `again`, all of them.

        `only` are the blocks of the range to replay, where it is known that no other has a matching transaction.

        Every finished block is stored, so that a call that failed half-way continues where it ended.
        """
        self.node.require_range(first, last)
        began = time.perf_counter()
        if again:
            self.store.forget(self.scan, first, last)
        stored = self._verified(first, last)
        chosen = range(first, last + 1) if only is None else sorted(only)
        wanted = [number for number in chosen if number not in stored]
        count = len(chosen)
        done = len(stored)
        sources: dict[str, None] = {}
        notes: dict[str, None] = {}

        def finished(results: list[ReplayedBlock]) -> None:
            nonlocal done
            self.store.add(self.scan, results, logs=self.keep_logs)
            done += len(results)
            for each in results:
                sources.update({each.source: None} if each.source else {})
                notes.update(dict.fromkeys(each.notes))
            if progress:
                progress(done, count)

        if progress:
            progress(done, count)
        try:
            self._walk(wanted, finished)
        except MayaviError as error:
            progress_so_far = f"{done} of {count} blocks are stored; the same command replays the rest"
            error.hint = "\n".join(filter(None, [error.hint, progress_so_far]))
            raise
        return HistoryReport(
            first,
            last,
            self.store.totals(self.scan, first, last),
            self.store.differences(self.scan, first, last),
            replayed=len(wanted),
            requests=self.node.requests,
            seconds=time.perf_counter() - began,
            source=" and ".join(sources),
            notes=list(notes),
            scan_id=self.scan.scan_id,
        )

    def _verified(self, first: int, last: int) -> dict[int, bytes]:
        """Return the stored blocks, and forget them if the node has another block at the last of them."""
        stored = self.store.done(self.scan, first, last)
        if stored:
            newest = max(stored)
            if self.node.hash_of(newest) != stored[newest]:  # reorganised: none of them is certain
                self.store.forget(self.scan, first, last)
                return {}
        if self.cases is not None:
            executed = self.store.executed(self.scan, first, last)
            for number in [each for each in stored if each in executed and not self.cases.holds(each, stored[each])]:
                self.store.forget(self.scan, number, number)
                del stored[number]
        return stored

    def _walk(self, numbers: Sequence[int], finished: Finished) -> None:
        with ThreadPoolExecutor(self.concurrency, "mayavi-replay") as workers:
            try:
                for start in range(0, len(numbers), CHUNK):
                    self._chunk(workers, numbers[start : start + CHUNK], finished)
            except BaseException:
                workers.shutdown(wait=False, cancel_futures=True)
                raise

    def _chunk(
        self,
        workers: ThreadPoolExecutor,
        numbers: Sequence[int],
        finished: Finished,
    ) -> None:
        found = self.node.with_parents(numbers)
        candidates = [block for block, _ in found if any(map(self.filter.may_match, block.transactions))]
        receipts = dict(zip([block.number for block in candidates], self.node.receipts(candidates), strict=True))
        results: list[ReplayedBlock] = []
        tasks: list[Future[ReplayedBlock]] = []
        for block, parent in found:
            matching = self._matching(block, receipts.get(block.number))
            if matching:
                tasks.append(workers.submit(self._replay, block, parent, receipts[block.number], matching))
            else:
                results.append(ReplayedBlock(block))
        failure = self._collect(tasks, results, finished)
        finished(sorted(results, key=lambda each: each.block.number))
        if failure is not None:
            raise failure

    def _collect(
        self, tasks: list[Future[ReplayedBlock]], results: list[ReplayedBlock], finished: Finished
    ) -> BaseException | None:
        """Add the results of `tasks` to `results`, and store them every `STORE_EVERY_S`; return the first failure."""
        failure: BaseException | None = None
        stored_at = time.monotonic()
        try:
            for task in as_completed(tasks):
                try:
                    results.append(task.result())
                except Exception as error:
                    failure = failure or error
                    cancel(tasks)
                if time.monotonic() - stored_at > STORE_EVERY_S:
                    finished(list(results))
                    results.clear()
                    stored_at = time.monotonic()
        except KeyboardInterrupt as interruption:
            cancel(tasks)
            return interruption
        return failure

    def _matching(self, block: ChainBlock, receipts: BlockReceipts | None) -> set[int]:
        if receipts is None:
            return set()
        pairs = zip(block.transactions, receipts.expected, strict=True)
        return {each.index for each, receipt in pairs if self.filter.matches(each, receipt)}

    def _replay(self, block: ChainBlock, parent: Header, receipts: BlockReceipts, matching: set[int]) -> ReplayedBlock:
        return replay_block(self.node, block, parent, receipts, matching, self.check, self.hints, self.cases)


def cancel(tasks: list[Future[ReplayedBlock]]) -> None:
    """Cancel the tasks that have not begun."""
    for task in tasks:
        task.cancel()

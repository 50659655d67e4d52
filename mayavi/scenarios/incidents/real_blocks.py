"""Execute the recorded transactions of an incident in their places in the real blocks of a node.

Every block is executed whole on the state of its parent and compared with the node's receipts and state, as
`mayavi replay history` does. Finished blocks are stored, so that a call that was interrupted continues.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mayavi.evm.fork import Fork
from mayavi.evm.state import open_evm
from mayavi.protocols.aave_v2.liquidation_event import DATA_BYTES, LIQUIDATION_TOPIC, decode_liquidation
from mayavi.protocols.aave_v2.reserve_position import reserve_position
from mayavi.protocols.tokens import Erc20
from mayavi.replay.history.node import ReplayNode
from mayavi.replay.history.scanner import HistoryReport, Scanner
from mayavi.replay.history.store import HistoryStore, StoredLog
from mayavi.replay.history.transaction_filter import TransactionFilter
from mayavi.scenarios.incidents.measures import total_of
from mayavi.worlds.labels import labels_of

if TYPE_CHECKING:
    from mayavi.scenarios.incidents.models import ExpectedFigure

LIQUIDATE = "liquidate"
Progress = Callable[[int, int], None]


class RecordedCall(NamedTuple):
    """Recorded liquidation: block, transaction, and amounts in smallest units."""

    block: int
    transaction: bytes
    covered: int
    seized: int


class RecordedCalls(NamedTuple):
    """Recorded liquidations of one account on one market, in their order on the chain."""

    pool: bytes
    account: bytes
    calls: tuple[RecordedCall, ...]


@dataclass(frozen=True, slots=True)
class BlockSettings:
    """How real blocks are executed."""

    store: Path
    """Database of replays that an interrupted call continues from."""
    max_requests: int | None = None
    concurrency: int = 4
    progress: Progress | None = None
    """Callback after each block: blocks done, blocks in total."""


@dataclass(frozen=True, slots=True)
class ReplayedCalls:
    """Recorded transactions executed in their places, and what they did."""

    report: HistoryReport
    actions: tuple[dict[str, Any], ...]
    """Details of each replayed liquidation, with those of the recorded one."""
    left: dict[str, Decimal]
    """`collateral` and `debt` of the account after the last block, in whole tokens."""

    @property
    def exact(self) -> bool:
        """Whether every block equals the chain's: receipts, roots and state."""
        return self.report.exact

    def value(self, figure: ExpectedFigure) -> Decimal | None:
        """Return the figure as the executed blocks give it; None where they give none."""
        if figure.of_account is not None:
            return self.left.get(figure.of_account)
        measure = figure.measure
        if measure.actions != LIQUIDATE or measure.per is not None or "agent" in measure.where:
            return None
        return total_of(self.actions, measure)


def replay_calls(url: str, recorded: RecordedCalls, settings: BlockSettings) -> ReplayedCalls:
    """Execute the blocks of the recorded transactions on the node at `url`; those that are stored are not repeated."""
    blocks = sorted({call.block for call in recorded.calls})
    chosen = TransactionFilter(hashes=frozenset(call.transaction for call in recorded.calls))
    # Workers share the connection: each may ask once at a time.
    with (
        ReplayNode.open(url, max_requests=settings.max_requests, concurrency=1) as node,
        HistoryStore(settings.store) as store,
    ):
        scanner = Scanner(node, store, chosen, concurrency=settings.concurrency, keep_logs=True)
        report = scanner.run(blocks[0], blocks[-1], only=blocks, progress=settings.progress)
        logs = [each for each in store.logs(scanner.scan) if _is_liquidation(each, recorded)]
        left = _left(node, blocks[-1], recorded, logs[-1]) if logs else {}
        report.requests = node.requests
    return ReplayedCalls(report, tuple(_actions(logs, recorded)), left)


def _is_liquidation(log: StoredLog, recorded: RecordedCalls) -> bool:
    topics = (LIQUIDATION_TOPIC, recorded.account.rjust(32, b"\0"))
    shaped = len(log.topics) == 4 and len(log.data) == DATA_BYTES
    return shaped and log.address == recorded.pool and (log.topics[0], log.topics[3]) == topics


def _actions(logs: list[StoredLog], recorded: RecordedCalls) -> list[dict[str, Any]]:
    found = []
    for place, log in enumerate(logs):
        event = decode_liquidation(log.data)
        details = {"account": "0x" + event.liquidator.hex(), "covered": event.covered, "seized": event.seized}
        if place < len(recorded.calls):
            call = recorded.calls[place]
            details |= {"recorded_covered": call.covered, "recorded_seized": call.seized}
        found.append(details)
    return found


def _left(node: ReplayNode, number: int, recorded: RecordedCalls, last: StoredLog) -> dict[str, Decimal]:
    """Return collateral and debt of the account at the end of a block: the state that the replay was compared with."""
    (block, _), *_ = node.with_parents([number])
    header = block.header
    evm = open_evm(block.chain_id, block.hardfork)
    evm.set_block(number=header.number, timestamp=header.timestamp, coinbase=header.coinbase)
    evm.probe = True
    source = {"kind": "replay", "chain_id": block.chain_id, "block": number}
    fork = Fork.of_evm(evm, node.state_at(header), labels_of(block.chain_id), source)
    collateral, debt = (topic[12:] for topic in last.topics[1:3])
    supplied = reserve_position(fork, recorded.pool, collateral, recorded.account).supplied
    borrowed = reserve_position(fork, recorded.pool, debt, recorded.account).borrowed
    return {
        "collateral": Decimal(supplied).scaleb(-Erc20(fork, collateral).decimals),
        "debt": Decimal(borrowed).scaleb(-Erc20(fork, debt).decimals),
    }

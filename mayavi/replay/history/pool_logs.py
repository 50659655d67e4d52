"""Logs of one contract over a range of blocks, with time and sender of their transactions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mayavi.evm.rpc.answers import BadValue, data, fields, hash32, quantity
from mayavi.evm.rpc.client import Call
from mayavi.evm.rpc.refusals import NodeRefused
from mayavi.replay.history.node import ReplayNode

BLOCKS = 2_000
"""Blocks of one request; a node that refuses gets half as many."""
_DATA_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ChainLog:
    """Log with its place in the chain, the time of its block and the sender of its transaction."""

    block: int
    index: int
    transaction: bytes
    address: bytes
    topics: tuple[bytes, ...]
    data: bytes
    timestamp: int = 0
    sender: bytes = b""


def read_logs(
    node: ReplayNode, address: bytes, first: int, last: int, progress: Callable[[int, int], None] | None = None
) -> list[ChainLog]:
    """Return the logs of `address` from block `first` to `last`, in order."""
    found: list[ChainLog] = []
    start, size = first, BLOCKS
    while start <= last:
        stop = min(start + size - 1, last)
        query = {"address": "0x" + address.hex(), "fromBlock": hex(start), "toBlock": hex(stop)}
        answer = node.client.attempt([Call("eth_getLogs", [query], _read_logs(address, start, stop), patient=False)])[0]
        if isinstance(answer, NodeRefused):
            if size == 1 or answer.unsupported:
                raise answer
            size = max(1, size // 2)
            continue
        found += answer
        start = stop + 1
        if progress:
            progress(stop - first + 1, last - first + 1)
    return _with_places(node, sorted(found, key=lambda log: (log.block, log.index)))


def _with_places(node: ReplayNode, logs: list[ChainLog]) -> list[ChainLog]:
    """Add time and sender, read once for each block and transaction."""
    numbers = sorted({log.block for log in logs})
    names = list(dict.fromkeys(log.transaction for log in logs))
    calls = [
        Call("eth_getBlockByNumber", [hex(number), False], lambda answer: quantity(fields(answer).get("timestamp"), 63))
        for number in numbers
    ]
    calls += [
        Call("eth_getTransactionByHash", ["0x" + name.hex()], lambda answer: data(fields(answer).get("from"), 20))
        for name in names
    ]
    answers = node.client.batch(calls) if calls else []
    times = dict(zip(numbers, answers, strict=False))
    senders = dict(zip(names, answers[len(numbers) :], strict=True))
    return [
        ChainLog(
            log.block,
            log.index,
            log.transaction,
            log.address,
            log.topics,
            log.data,
            times[log.block],
            senders[log.transaction],
        )
        for log in logs
    ]


def _read_logs(address: bytes, start: int, stop: int) -> Callable[[object], list[ChainLog]]:
    def read(answer: object) -> list[ChainLog]:
        if not isinstance(answer, list):
            raise BadValue("the answer is not a list of logs")
        return [_log(fields(each), address, start, stop) for each in answer]

    return read


def _log(each: dict[str, object], address: bytes, start: int, stop: int) -> ChainLog:
    topics = each.get("topics")
    if not isinstance(topics, list):
        raise BadValue("a log has no topics")
    found = ChainLog(
        block=quantity(each.get("blockNumber"), 63),
        index=quantity(each.get("logIndex"), 63),
        transaction=hash32(each.get("transactionHash")),
        address=data(each.get("address"), 20),
        topics=tuple(map(hash32, topics)),
        data=data(each.get("data"), None, _DATA_BYTES),
    )
    if found.address != address or not start <= found.block <= stop:
        raise BadValue("a log is of another contract or block")
    return found

"""Node that serves blocks, receipts and past state for a replay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mayavi.errors import MayaviError, RpcBadAnswer, RpcHttpError, RpcTimeout, UsageError
from mayavi.evm.chains import chain as chain_named
from mayavi.evm.rpc.answers import BadValue, data, fields, hash32, quantity
from mayavi.evm.rpc.cache import Cache
from mayavi.evm.rpc.client import Call, RpcClient
from mayavi.evm.rpc.endpoint import url_from_environment
from mayavi.evm.rpc.header import Header
from mayavi.evm.rpc.opening import checked_header, read_chain_id, wrong_chain
from mayavi.evm.rpc.refusals import NodeRefused
from mayavi.evm.rpc.remote import Facts, Missing, RemoteState
from mayavi.replay.case import ExpectedReceipt
from mayavi.replay.chain_block import ChainBlock
from mayavi.replay.history.prestate import PRESTATE, read_prestates

_LOG_BYTES = 1 << 26


@dataclass(frozen=True, slots=True)
class BlockReceipts:
    """Receipts of one block: parsed for comparison, and as the node gave them."""

    expected: list[ExpectedReceipt]
    raw: list[dict[str, Any]]


def check_range(first: int, last: int) -> None:
    """Raise `UsageError` unless blocks `first` to `last` are a range whose blocks have parents."""
    if first > last:
        raise UsageError(f"the range {first} to {last} is empty", "give the lower block first")
    if first < 1:
        raise UsageError(f"block {first} has no parent to start from", "the first block that can be replayed is 1")


class ReplayNode:
    """Connection to one node of a known chain. Close it, or use it as a context manager."""

    def __init__(self, client: RpcClient, chain_id: int, head: int, genesis: bytes) -> None:
        self.client = client
        self.chain_id = chain_id
        self.head = head
        """Number of the newest block when the node was opened."""
        self.genesis = genesis
        """Hash of block 0: two histories with one chain id differ in it."""
        self.lacking: set[str] = set()
        """Methods that the node turned out not to have."""

    @classmethod
    def open(
        cls,
        url: str | None = None,
        *,
        chain: str | int | None = None,
        max_requests: int | None = None,
        concurrency: int = 4,
        timeout_s: float = 30.0,
        options: str = "--rpc URL",
    ) -> ReplayNode:
        """Connect to `url`, by default to `MAYAVI_RPC_URL`; `WrongChain` if it does not serve `chain`.

        `options` are the options of the command line that an error about a missing address names.
        """
        if concurrency < 1:
            raise UsageError(f"concurrency {concurrency} is below 1")
        if max_requests is not None and max_requests < 1:
            raise UsageError(f"a budget of {max_requests} requests asks nothing")
        expected = None if chain is None else chain_named(chain)
        url = url or url_from_environment(expected.name if expected else None, options=options)
        client = RpcClient(url, budget=max_requests, max_concurrency=concurrency, timeout_s=timeout_s)
        try:
            chain_id, head, genesis = client.batch(
                [
                    Call("eth_chainId", [], read_chain_id),
                    Call("eth_blockNumber", [], lambda answer: quantity(answer, 63)),
                    Call("eth_getBlockByNumber", ["0x0", False], lambda answer: hash32(fields(answer).get("hash"))),
                ]
            )
            if expected is not None and chain_id != expected.chain_id:
                raise wrong_chain(client, chain_id, expected.chain_id)
            chain_named(chain_id)  # an unknown chain has unknown rules
        except BaseException:
            client.close()
            raise
        return cls(client, chain_id, head, genesis)

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    def __enter__(self) -> ReplayNode:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def requests(self) -> int:
        """HTTP requests made so far, retries included."""
        return self.client.requests

    def require_range(self, first: int, last: int) -> None:
        """Raise `UsageError` unless blocks `first` to `last` exist and have a parent."""
        check_range(first, last)
        if last > self.head:
            raise UsageError(
                f"block {last} of chain {self.chain_id} does not exist yet: "
                f"the node at {self.client.endpoint} is at block {self.head}"
            )

    # -- blocks -------------------------------------------------------------------------------------------------------

    def hash_of(self, number: int) -> bytes:
        """Return the hash of the node's block `number`, checked against its header."""
        header: Header = self.client.batch([self._header_call(number)])[0]
        return header.hash

    def with_parents(self, numbers: Sequence[int]) -> list[tuple[ChainBlock, Header]]:
        """Return blocks, each with the header of its parent, in one request if the node takes it."""
        asked = set(numbers)
        parents = [number - 1 for number in numbers if number - 1 not in asked]
        calls = [self._block_call(number) for number in numbers] + [self._header_call(number) for number in parents]
        answers = self.client.batch(calls)
        blocks: list[ChainBlock] = answers[: len(numbers)]
        known = {block.number: block.header for block in blocks} | dict(
            zip(parents, answers[len(numbers) :], strict=True)
        )
        return [(block, known[block.number - 1]) for block in blocks]

    def _block_call(self, number: int) -> Call:
        source = f"the node at {self.client.endpoint}"

        def read(answer: object) -> ChainBlock:
            return ChainBlock.parse(answer, self.chain_id, number=number, source=source)

        return Call("eth_getBlockByNumber", [hex(number), True], read)

    def _header_call(self, number: int) -> Call:
        source = f"the node at {self.client.endpoint}"

        def read(answer: object) -> Header:
            return checked_header(answer, number, self.chain_id, True, source)

        return Call("eth_getBlockByNumber", [hex(number), False], read)

    def block_of(self, transaction: bytes) -> int:
        """Return the number of the block with a transaction; `UsageError` if the node has none."""

        def read(answer: object) -> int | None:
            if answer is None:
                return -1
            number = fields(answer).get("blockNumber")
            return None if number is None else quantity(number, 63)

        name = "0x" + transaction.hex()
        number = self.client.call("eth_getTransactionByHash", [name], read)
        if number is None:
            raise UsageError(f"transaction {name} is not in a block yet")
        if number < 0:
            raise UsageError(
                f"the node at {self.client.endpoint} (chain {self.chain_id}) knows no transaction {name}",
                "check the hash and the chain; nodes may drop old transactions from their index",
            )
        return int(number)

    def receipts(self, blocks: Sequence[ChainBlock]) -> list[BlockReceipts]:
        """Return the receipts of each block, by `eth_getBlockReceipts` where the node has it."""
        wanted = [block for block in blocks if block.transactions]
        found = self._block_receipts(wanted) if "eth_getBlockReceipts" not in self.lacking else None
        if found is None:
            found = self._single_receipts(wanted)
        by_number = dict(zip([block.number for block in wanted], found, strict=True))
        return [by_number.get(block.number, BlockReceipts([], [])) for block in blocks]

    def _block_receipts(self, blocks: Sequence[ChainBlock]) -> list[BlockReceipts] | None:
        def reader(block: ChainBlock) -> Any:
            return lambda answer: _read_receipts(answer, block)

        calls = [Call("eth_getBlockReceipts", [hex(each.number)], reader(each), patient=False) for each in blocks]
        answers = self.client.attempt(calls)
        for answer in answers:
            if isinstance(answer, NodeRefused):
                if not answer.unsupported:
                    raise answer
                self.lacking.add("eth_getBlockReceipts")
                return None
        return answers

    def _single_receipts(self, blocks: Sequence[ChainBlock]) -> list[BlockReceipts]:
        calls = [
            Call("eth_getTransactionReceipt", ["0x" + each.hash.hex()], fields)
            for block in blocks
            for each in block.transactions
        ]
        answers = iter(self.client.batch(calls))
        try:
            return [_read_receipts([next(answers) for _ in block.transactions], block) for block in blocks]
        except BadValue as error:
            raise RpcBadAnswer(f"the node at {self.client.endpoint} gave a malformed receipt: {error}") from None

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self, block: ChainBlock, parent: Header, *, traced: bool = True) -> NodeState:
        """Return the state before `block`; with `traced` from the node's prestate tracer, where it has one."""
        if parent.hash != block.header.parent_hash:
            raise MayaviError(
                f"block {block.number} does not follow block {parent.number} at the node: the chain reorganised",
                "run the command again",
            )
        return NodeState(self.state_at(parent), self._prestates(block) if traced else None)

    def state_at(self, header: Header) -> RemoteState:
        """Return the state after the block of `header`, pinned to its hash."""
        cache = Cache.in_memory()
        return RemoteState(self.client, cache, self.chain_id, header, check_header=True, verified=True)

    def _prestates(self, block: ChainBlock) -> list[Facts] | None:
        """Return the state that each transaction reads, by the prestate tracer; None if the node lacks it."""
        if not block.transactions:
            return []
        ways: Iterable[tuple[str, str]] = (
            ("debug_traceBlockByHash", "0x" + block.header.hash.hex()),
            ("debug_traceBlockByNumber", hex(block.number)),
        )
        for method, name in ways:
            if method in self.lacking:
                continue
            try:
                read = _readable(block)
                answer = self.client.attempt([Call(method, [name, PRESTATE], read, patient=False)])[0]
            except (RpcHttpError, RpcBadAnswer, RpcTimeout):  # too large or too slow: plain reads take its place
                answer = None
            if isinstance(answer, list):
                return answer
            self.lacking.add(method)
        return None

    @property
    def traces(self) -> bool:
        """Whether the node has a prestate tracer, as far as known."""
        return not {"debug_traceBlockByHash", "debug_traceBlockByNumber"} <= self.lacking


class NodeState:
    """State before a block, from a node: a `StateSource`."""

    def __init__(self, remote: RemoteState, prestates: list[Facts] | None) -> None:
        self.remote = remote
        self.prestates = prestates

    def fetch(self, missing: list[Missing]) -> Facts:
        """Read values at the parent block."""
        return self.remote.fetch(missing)

    def before(self, index: int) -> Facts:
        """Return what the node's tracer said transaction `index` reads."""
        return self.prestates[index] if self.prestates else Facts()


def _readable(block: ChainBlock) -> Any:
    """Return a reader of prestates that gives None for a malformed answer: plain reads replace it."""

    def read(answer: object) -> list[Facts] | None:
        try:
            return read_prestates(answer, len(block.transactions))
        except BadValue:
            return None

    return read


def _read_receipts(answer: object, block: ChainBlock) -> BlockReceipts:
    if not isinstance(answer, list) or len(answer) != len(block.transactions):
        raise BadValue(f"there are not {len(block.transactions)} receipts of block {block.number}")
    raw = [dict(fields(each)) for each in answer]
    return BlockReceipts([_receipt(each) for each in raw], raw)


def _receipt(each: dict[str, Any]) -> ExpectedReceipt:
    status = each.get("status")
    listed = each.get("logs")
    if not isinstance(listed, list):
        raise BadValue("a receipt has no logs")
    logs = []
    for log in map(fields, listed):
        topics = log.get("topics")
        if not isinstance(topics, list):
            raise BadValue("a log has no topics")
        logs.append((data(log.get("address"), 20), tuple(map(hash32, topics)), data(log.get("data"), None, _LOG_BYTES)))
    return ExpectedReceipt(
        hash=hash32(each.get("transactionHash")),
        success=None if status is None else quantity(status, 64) == 1,
        gas_used=quantity(each.get("gasUsed"), 64),
        logs=tuple(logs),
    )

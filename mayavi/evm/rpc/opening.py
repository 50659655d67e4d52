"""Resolve a requested block to a chain id and a checked header, from the cache or the node."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Any, SupportsIndex

from mayavi.errors import BlockHashMismatch, UsageError, WrongChain
from mayavi.evm.rpc.answers import BadValue, data, fields, quantity
from mayavi.evm.rpc.cache import Cache
from mayavi.evm.rpc.client import Call, RpcClient
from mayavi.evm.rpc.header import UNCHECKED_CHAINS, Header, header_fields, header_hash

FINAL_DEPTH = 64
DEV_CHAINS = frozenset({31337, 1337})
_TAGS = ("latest", "safe", "finalized", "earliest")


@dataclass(frozen=True, slots=True)
class BlockWanted:
    """Requested block: exactly one of the three fields is set."""

    number: int | None = None
    hash: bytes | None = None
    tag: str | None = None

    @classmethod
    def parse(cls, block: SupportsIndex | str | bytes) -> BlockWanted:
        """Parse a number (of any integer type), a block hash or a tag; `UsageError` for anything else."""
        number = _integer(block)
        if number is not None and 0 <= number < 1 << 63:
            return cls(number=number)
        if isinstance(block, bytes) and len(block) == 32:
            return cls(hash=block)
        if isinstance(block, str):
            if block in _TAGS:
                return cls(tag=block)
            if block.isascii() and block.isdigit() and len(block) < 19:
                return cls(number=int(block))
            try:
                return cls(hash=data(block, 32))
            except BadValue:
                pass
        shown = "0x" + block.hex() if isinstance(block, bytes) else block
        raise UsageError(
            f"'{shown}' is not a valid block",
            "give a number, a 32-byte block hash (0x…), or one of " + ", ".join(_TAGS),
        )

    def __str__(self) -> str:
        if self.hash is not None:
            return "0x" + self.hash.hex()
        return self.tag if self.tag is not None else str(self.number)

    def call(self, read: Any) -> Call:
        """Return the RPC call for this block."""
        if self.hash is not None:
            return Call("eth_getBlockByHash", ["0x" + self.hash.hex(), False], read)
        return Call("eth_getBlockByNumber", [hex(self.number) if self.number is not None else self.tag, False], read)


@dataclass(frozen=True, slots=True)
class Opening:
    """Resolver of a requested block to a chain id and a checked header."""

    client: RpcClient
    cache: Cache
    wanted: BlockWanted
    expected_chain: int | None
    check_header: bool

    def from_cache(self) -> tuple[int, Header] | None:
        """Resolve from the cache alone; None if it lacks something or may not be trusted (see `remote`)."""
        kept = self.cache.chain_of(self.client.endpoint.identity)
        if kept is None or self.wanted.tag is not None:
            return None
        chain_id = kept[0]
        if self.expected_chain not in (None, chain_id):
            return None
        block_hash = self.wanted.hash
        if self.wanted.number is not None:
            final = self.cache.canonical(numbering(self.client, chain_id), self.wanted.number)
            if final is None:
                return None
            block_hash = final[0]
        content = None if block_hash is None else self.cache.header(chain_id, block_hash)
        if content is None:
            return None
        try:
            header = checked_header(content, self.wanted.number, chain_id, self.check_header, "the cache")
        except (BadValue, BlockHashMismatch):
            return None
        return (chain_id, header) if header.hash == block_hash else None

    def from_node(self) -> tuple[int, Header]:
        """Resolve with one request to the node (more only after failures)."""
        node = self.client.endpoint
        questions = [
            Call("eth_chainId", [], read_chain_id),
            Call("eth_blockNumber", [], lambda answer: quantity(answer, 63)),
            self.wanted.call(lambda answer: answer),
        ]
        chain_id, head, content = self.client.batch(questions)
        if self.expected_chain not in (None, chain_id):
            raise wrong_chain(self.client, chain_id, self.expected_chain)
        number = self.wanted.number

        def read(answer: object) -> tuple[dict[str, object], Header]:
            return fields(answer), checked_header(answer, number, chain_id, self.check_header, f"the node at {node}")

        if content is None and number is not None and number > head:
            raise UsageError(
                f"block {number} of chain {chain_id} does not exist yet: the node at {node} is at block {head}"
            )
        if content is None and self.wanted.hash is not None:
            raise UsageError(f"the node at {node} (chain {chain_id}) knows no block {self.wanted}")
        try:
            block, header = read(content)
        except BadValue:
            # ask with the check in the reader, so that the client retries on failure
            block, header = self.client.batch([self.wanted.call(read)])[0]
        if self.wanted.hash not in (None, header.hash):
            raise BlockHashMismatch(f"the node at {node} gave block 0x{header.hash.hex()} when asked for {self.wanted}")
        now = self.client.clock.wall()
        self.cache.remember_chain(node.identity, chain_id, now)
        self.cache.remember_header(chain_id, header.hash, header_fields(block))
        if chain_id in DEV_CHAINS or head - header.number >= FINAL_DEPTH:
            self.cache.remember_canonical(numbering(self.client, chain_id), header.number, header.hash, now)
        return chain_id, header


def numbering(client: RpcClient, chain_id: int) -> int:
    """Key of block numbers in the cache: the chain id, or one per node for development chains."""
    return -int.from_bytes(client.endpoint.identity[:7], "big") if chain_id in DEV_CHAINS else chain_id


def checked_header(answer: object, number: int | None, chain_id: int, check: bool, source: str) -> Header:
    """Parse the header in `answer`; check its number, if given, and with `check` its hash."""
    header = Header.parse(answer)
    if number is not None and header.number != number:
        raise BadValue(f"asked for block {number}, got block {header.number}")
    if check and chain_id not in UNCHECKED_CHAINS:
        actual = header_hash(fields(answer))
        if actual != header.hash:
            raise BlockHashMismatch(
                f"{source} says block {header.number} has hash 0x{header.hash.hex()}, "
                f"but its header has hash 0x{actual.hex()}",
                f"do not trust this node; or, if headers of chain {chain_id} are not encoded like Ethereum's, "
                "open it with check_header=False",
            )
    return header


def _integer(value: object) -> int | None:
    """Return `value` as an int if it is of an integer type, NumPy's included; None for others and for bools."""
    try:
        return None if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def read_chain_id(answer: object) -> int:
    """Parse a chain id of at most 63 bits."""
    return quantity(answer, 63)


def wrong_chain(client: RpcClient, actual: int, expected: int | None, hint: str = "") -> WrongChain:
    """Error for a node of another chain."""
    return WrongChain(
        f"the node at {client.endpoint} serves chain {actual}, not chain {expected}",
        hint or "give the address of a node of the right chain",
    )

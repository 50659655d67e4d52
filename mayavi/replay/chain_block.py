"""Block of a chain as a node gives it, with its rules, to be executed whole or in parts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mayavi.errors import RpcBadAnswer, UsageError
from mayavi.evm.chains import blob_fee_fraction_at, chain, hardfork_at
from mayavi.evm.rpc.answers import BadValue, data, fields, hash32, quantity
from mayavi.evm.rpc.header import Header
from mayavi.evm.rpc.opening import checked_header
from mayavi.evm.state import Block

HASH_DIGITS = 64
NEWEST_TYPE = 4
"""Highest transaction type of Ethereum: EIP-7702."""
MERGED = ("paris", "shanghai", "cancun", "prague", "osaka", "amsterdam")
"""Hard forks without block rewards."""


@dataclass(frozen=True, slots=True)
class BlockTransaction:
    """Transaction of a block: the fields that name, filter and trace it."""

    index: int
    hash: bytes
    sender: bytes
    to: bytes | None
    value: int
    input: bytes
    gas_limit: int
    gas_price: int
    """Price a unit of gas, at most; the sender must hold it for the whole gas limit."""
    kind: int

    @property
    def selector(self) -> bytes:
        """First four bytes of the calldata; empty for a plain transfer and a creation."""
        return self.input[:4] if self.to is not None and len(self.input) >= 4 else b""

    @classmethod
    def parse(cls, index: int, content: object) -> BlockTransaction:
        """Parse a full transaction of `eth_getBlockByNumber`; raise `BadValue` for a malformed one."""
        each = fields(content)
        to = each.get("to")
        price = each.get("maxFeePerGas") or each.get("gasPrice") or "0x0"
        return cls(
            index=index,
            hash=hash32(each.get("hash")),
            sender=data(each.get("from"), 20),
            to=None if to is None else data(to, 20),
            value=quantity(each.get("value")),
            input=data(each.get("input"), None, 1 << 24),
            gas_limit=quantity(each.get("gas"), 64),
            gas_price=quantity(price, 128),
            kind=quantity(each.get("type") or "0x0", 8),
        )


@dataclass(frozen=True)
class ChainBlock:
    """Block with full transactions on a named chain, under the rules of its hard fork."""

    chain_id: int
    hardfork: str
    header: Header
    content: dict[str, Any]
    """Answer of `eth_getBlockByNumber` with full transactions."""

    @classmethod
    def parse(
        cls,
        content: object,
        chain_id: int,
        *,
        number: int | None = None,
        hardfork: str | None = None,
        source: str = "the node",
    ) -> ChainBlock:
        """Parse an answer of `eth_getBlockByNumber` and check that its header has the stated hash."""
        header = checked_header(content, number, chain_id, True, source)
        rules = hardfork or rules_of(chain_id, header)
        return cls(chain_id, rules, header, dict(fields(content)))

    @property
    def number(self) -> int:
        """Block number."""
        return self.header.number

    @cached_property
    def transactions(self) -> list[BlockTransaction]:
        """Transactions in order."""
        listed = self.content.get("transactions")
        if not isinstance(listed, list):
            raise BadValue("the block lists no transactions")
        found = [BlockTransaction.parse(index, each) for index, each in enumerate(listed)]
        for each in found:
            if each.kind > NEWEST_TYPE:
                raise UsageError(
                    f"transaction {each.index} of block {self.number} has type {each.kind:#x}",
                    "only Ethereum's own types can be replayed, not the deposits of rollups",
                )
        return found

    @cached_property
    def withdrawals(self) -> list[bytes]:
        """Addresses that receive withdrawals at the end of the block."""
        listed = self.content.get("withdrawals") or []
        return [data(fields(each).get("address"), 20) for each in listed]

    @property
    def rewards_miner(self) -> bool:
        """Whether the protocol pays a block reward, which no transaction explains."""
        return self.hardfork not in MERGED

    @property
    def blob_fee_fraction(self) -> int:
        """Divisor of the blob fee's exponential at the block's time."""
        return blob_fee_fraction_at(self.chain_id, self.header.timestamp, self.hardfork)

    def whole(self) -> Block:
        """Return the block for the kernel, with all transactions and withdrawals."""
        return _kernel_block(self.content)

    def part(self, start: int, stop: int) -> Block:
        """Return the block with the transactions from `start` to before `stop`, and without withdrawals.

        Executing consecutive parts on one state gives the receipts of the whole block. The system calls at the start of
        a block write the same words each time.
        """
        listed = self.content["transactions"][start:stop]
        without = {"transactions": listed, "withdrawals": [] if "withdrawals" in self.content else None}
        return _kernel_block({**self.content, **{key: value for key, value in without.items() if value is not None}})

    def find(self, transaction: bytes) -> int:
        """Return the index of a transaction by its hash; raise `UsageError` if the block lacks it."""
        for each in self.transactions:
            if each.hash == transaction:
                return each.index
        raise UsageError(f"block {self.number} has no transaction 0x{transaction.hex()}")


def rules_of(chain_id: int, header: Header) -> str:
    """Hard fork of a block: from the chain's schedule, on development nodes from the fields of the header."""
    if chain(chain_id).dev:
        return header.form
    return hardfork_at(chain_id, header.number, header.timestamp)


def parse_transaction_hash(text: str) -> bytes:
    """Parse a transaction hash; raise `UsageError` for anything but 32 bytes in hex."""
    try:
        return data(text if text.startswith("0x") else f"0x{text}", 32)
    except BadValue:
        digits = len(text.removeprefix("0x"))
        raise UsageError(
            f"'{text}' is not a transaction hash: it has {digits} digits", f"a hash is 0x and {HASH_DIGITS} hex digits"
        ) from None


def _kernel_block(content: dict[str, Any]) -> Block:
    try:
        return Block.from_json(json.dumps(content).encode())
    except ValueError as error:
        raise RpcBadAnswer(f"block {content.get('number')}: {error}") from None

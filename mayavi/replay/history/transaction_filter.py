"""Filter of transactions: by address, selector and topic."""

from __future__ import annotations

from dataclasses import dataclass

from mayavi.errors import BadAbi, UnknownName, UsageError
from mayavi.evm.abi.interface import Event, Function
from mayavi.evm.address import to_address
from mayavi.evm.hashing import keccak256, keccak_text
from mayavi.evm.rpc.answers import BadValue, data
from mayavi.replay.case import ExpectedReceipt
from mayavi.replay.chain_block import BlockTransaction

_HINTS = {4: "write transfer(address,uint256)", 32: "write Transfer(address,address,uint256)"}


@dataclass(frozen=True, slots=True)
class TransactionFilter:
    """Conditions that a transaction must all meet; None matches everything.

    `address` sent it, received it or emitted a log in it. `selector` begins its calldata. `topic` is a topic of one of
    its logs. `hashes` are those of the transactions themselves.
    """

    address: bytes | None = None
    selector: bytes | None = None
    topic: bytes | None = None
    hashes: frozenset[bytes] | None = None

    @classmethod
    def parse(
        cls, address: str | None = None, selector: str | None = None, topic: str | None = None
    ) -> TransactionFilter:
        """Parse an address, a selector (hex or signature) and a topic (hex or event signature)."""
        return cls(
            None if address is None else to_address(address),
            None if selector is None else _hashed(selector, 4, "selector"),
            None if topic is None else _hashed(topic, 32, "topic"),
        )

    @property
    def text(self) -> str:
        """Canonical text, which identifies the filter in the database of replays."""
        named = None if self.hashes is None else keccak256(b"".join(sorted(self.hashes)))
        parts = (("address", self.address), ("selector", self.selector), ("topic", self.topic), ("hashes", named))
        return " ".join(f"{name}=0x{value.hex()}" for name, value in parts if value is not None)

    @property
    def needs_logs(self) -> bool:
        """Whether the calldata alone does not decide."""
        return self.address is not None or self.topic is not None

    def may_match(self, transaction: BlockTransaction) -> bool:
        """Whether a transaction can match, before its logs are known."""
        if self.hashes is not None and transaction.hash not in self.hashes:
            return False
        return self.selector is None or transaction.selector == self.selector

    def matches(self, transaction: BlockTransaction, receipt: ExpectedReceipt) -> bool:
        """Whether a transaction with this receipt meets all conditions."""
        if not self.may_match(transaction):
            return False
        if self.address is not None:
            emitters = {address for address, _, _ in receipt.logs}
            if self.address not in {transaction.sender, transaction.to, *emitters}:
                return False
        return self.topic is None or any(self.topic in topics for _, topics, _ in receipt.logs)


def _hashed(text: str, length: int, what: str) -> bytes:
    if "(" in text:
        try:
            signature: Function | Event = Function.parse(text) if length == 4 else Event.parse(text)
        except (BadAbi, UnknownName) as error:
            raise UsageError(f"'{text}' is not a valid signature: {error.message}", _HINTS[length]) from None
        return keccak_text(signature.text)[:length]
    try:
        return data(text if text.startswith("0x") else f"0x{text}", length)
    except BadValue:
        raise UsageError(
            f"'{text}' is not a {what}", f"give {length} bytes in hex, or a signature with its types in parentheses"
        ) from None

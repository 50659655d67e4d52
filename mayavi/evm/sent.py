"""Records of sent transactions, and the gas price in force."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mayavi.evm.receipt import Receipt


class Sent(NamedTuple):
    """A transaction that was executed, successful or not. `to` is None where it created a contract."""

    to: bytes | None
    sender: bytes
    receipt: Receipt
    fee_wei: int
    """Fee charged for its gas; 0 where fees are off."""
    marker: int
    """Marker of the fork right after it: reverting to a snapshot with a lower marker undoes it."""


class GasPrice(NamedTuple):
    """Price of a unit of gas: the block's base fee, which is burned, and a tip for the block's producer."""

    base_fee_wei: int
    priority_fee_wei: int
    payers: Container[bytes] | None
    """Accounts that pay; None is all. The owner of a price feed is no agent and pays nothing."""

    @property
    def wei(self) -> int:
        """Base fee plus tip."""
        return self.base_fee_wei + self.priority_fee_wei

"""Records of sent transactions, and the gas price in force."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mayavi.evm.receipt import Receipt


class Sent(NamedTuple):
    """Executed transaction, successful or failed. `to` is None for a contract creation."""

    to: bytes | None
    sender: bytes
    receipt: Receipt
    fee_wei: int
    """Fee charged for the gas, in wei; 0 if fees are off."""
    marker: int
    """Version number of the state after the transaction. Reverting to a lower one undoes the transaction."""


class GasPrice(NamedTuple):
    """Price of a unit of gas: the block's base fee, which is burned, and a tip for the block's producer."""

    base_fee_wei: int
    priority_fee_wei: int
    payers: Container[bytes] | None
    """Accounts that pay for gas; None for all. Owners of price feeds, for example, are not agents and do not pay."""

    @property
    def wei(self) -> int:
        """Base fee plus tip."""
        return self.base_fee_wei + self.priority_fee_wei

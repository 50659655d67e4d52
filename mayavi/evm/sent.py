"""Transactions as they are sent: what a watcher is told of each, and who pays which price for its gas."""

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
    """What its gas was charged; 0 where fees are not."""
    marker: int
    """The fork's marker just after it: a snapshot with a lower one undoes it."""


class GasPrice(NamedTuple):
    """What a unit of gas costs those who pay: the block's base fee, which is burned, and a tip for its producer."""

    base_fee_wei: int
    priority_fee_wei: int
    payers: Container[bytes] | None
    """Who pays; None is everybody. A feed's owner who posts a price is nobody's agent, and pays nothing."""

    @property
    def wei(self) -> int:
        """Both together."""
        return self.base_fee_wei + self.priority_fee_wei

"""Watchers of transactions, trial runs and payments for gas. A base of `Fork`."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from functools import partial

from mayavi.evm.arguments import u64
from mayavi.evm.fork.blocks import ForkBlocks
from mayavi.evm.receipt import Receipt
from mayavi.evm.sent import GasPrice, Sent

_SENT = partial(tuple.__new__, Sent)
"""Build a `Sent` from a tuple of its values; faster than `Sent(…)`."""


class ForkWatching(ForkBlocks):
    """What happens beside a transaction: watchers are told of it, and its sender pays for gas."""

    def watch(self, sent: Callable[[Sent], None], on_revert: Callable[[int], None] | None = None) -> Callable[[], None]:
        """Call `sent(tx)` after every transaction, failed ones included. Returns a function that stops watching.

        A revert calls `on_revert(marker)` with the marker of the snapshot: transactions with a higher one are undone.
        """
        snapshots = self._snapshots
        self._watchers += (sent,)
        snapshots.reverted += (on_revert,) if on_revert else ()

        def stop() -> None:
            self._watchers = tuple(each for each in self._watchers if each is not sent)
            snapshots.reverted = tuple(each for each in snapshots.reverted if each is not on_revert)

        return stop

    @contextmanager
    def dry_run(self) -> Iterator[None]:
        """Context whose changes are reverted. Inside, no gas is charged and no watcher is called."""
        watchers, price = self._watchers, self._gas_price
        self._watchers, self._gas_price = (), None
        try:
            with self.snapshot():
                yield
        finally:
            self._watchers, self._gas_price = watchers, price

    @contextmanager
    def paying(
        self, base_fee_wei: int, priority_fee_wei: int = 0, payers: Container[bytes] | None = None
    ) -> Iterator[None]:
        """Context that charges senders for gas, at this price unless a transaction names its own.

        Sets the block's base fee, which is burned; the tip goes to the block's coinbase. With `payers`, only those
        accounts pay. As on a chain, a sender must hold the price of its whole gas limit, by default 30 million units;
        unused gas is not charged.
        """
        price = GasPrice(u64(base_fee_wei, "base fee"), u64(priority_fee_wei, "priority fee"), payers)
        before, rules = self._gas_price, (self._charges_fees, self._checks_balance)
        if self._evm.block()["base_fee"] != price.base_fee_wei:
            self.set_block(base_fee=price.base_fee_wei)
        self.set_rules(charge_fees=True, check_balance=True)
        self._gas_price = price
        try:
            yield
        finally:
            self._gas_price = before
            self.set_rules(charge_fees=rules[0], check_balance=rules[1])

    def _price_for(self, sender: bytes) -> tuple[int, int | None]:
        price = self._gas_price
        if price is None or (price.payers is not None and sender not in price.payers):
            return 0, None
        return price.wei, price.priority_fee_wei

    def _sent(
        self, to: bytes | None, sender: bytes, receipt: Receipt, gas_price: int, priority_fee: int | None
    ) -> None:
        marker = self._snapshots.record_write()
        if self._watchers:
            if priority_fee is not None and (self._gas_price is None or gas_price != self._gas_price.wei):
                gas_price = min(gas_price, self._evm.block()["base_fee"] + priority_fee)
            fee = receipt.gas_used * gas_price if self._charges_fees else 0
            sent = _SENT((to, sender, receipt, fee, marker))
            for watcher in self._watchers:
                watcher(sent)

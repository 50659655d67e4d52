"""Currencies of Uniswap V4: ERC-20 tokens and the chain's own coin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mayavi.errors import InsufficientBalance
from mayavi.evm.address import ZERO_ADDRESS, AddressLike
from mayavi.evm.units import format_units
from mayavi.protocols.arguments import address_on
from mayavi.protocols.tokens import Erc20, atomic, spending

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

NATIVE = "ETH"
"""Name of the chain's own coin, whatever it is called there. The wrapped one is a token like others."""


class Currency:
    """Token by label or address, or the native coin as `ETH` or the zero address."""

    def __init__(self, fork: Fork, currency: AddressLike) -> None:
        self.fork = fork
        native = currency == NATIVE and NATIVE not in fork.labels
        self.address = ZERO_ADDRESS if native else address_on(fork, currency)
        self.token = None if self.address == ZERO_ADDRESS else Erc20(fork, self.address)

    @property
    def symbol(self) -> str:
        """Symbol of the token, or `ETH`."""
        return NATIVE if self.token is None else self.token.symbol

    @property
    def decimals(self) -> int:
        """Number of decimal places."""
        return 18 if self.token is None else self.token.decimals

    def balance_of(self, holder: AddressLike) -> int:
        """Balance of `holder`."""
        return self.fork.balance(holder) if self.token is None else self.token.balance_of(holder)

    def text(self, amount: int) -> str:
        """Format `amount` with the symbol."""
        return f"{format_units(amount, self.decimals)} {self.symbol}"

    @contextmanager
    def paying(self, spender: AddressLike, amount: int, sender: AddressLike) -> Iterator[int]:
        """Context manager in which `spender` may take `amount`; gives the ether to send along."""
        if self.token is not None:
            with spending(self.fork, self.address, spender, amount, sender):
                yield 0
            return
        balance = self.fork.balance(sender)
        if balance < amount:
            raise InsufficientBalance(
                f"{self.fork.name(sender)} has {self.text(balance)}, but {self.text(amount)} are needed",
                f"`fork.set_balance(holder, {amount})` gives an account exactly so much",
            )
        with atomic(self.fork):
            yield amount

    def __repr__(self) -> str:
        return f"<currency {self.symbol}>"

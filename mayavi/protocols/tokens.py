"""ERC-20 tokens: reads, checked transfers and approvals of exact size."""

from __future__ import annotations

from functools import cache, cached_property
from types import TracebackType
from typing import TYPE_CHECKING

from mayavi.errors import ActionRefused, CallReverted, ExecutionError, InsufficientAllowance, InsufficientBalance
from mayavi.evm.abi.interface import Interface
from mayavi.evm.address import AddressLike, checksum
from mayavi.evm.arguments import word
from mayavi.evm.units import format_units

if TYPE_CHECKING:
    from mayavi.evm.abi.contract import Contract
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt

_ABI = [
    "name() view returns (string)",
    "symbol() view returns (string)",
    "balanceOf(address owner) view returns (uint256)",
    "allowance(address owner, address spender) view returns (uint256)",
    "totalSupply() view returns (uint256)",
    "decimals() view returns (uint8)",
    "approve(address spender, uint256 amount)",
    "transfer(address receiver, uint256 amount)",
    "transferFrom(address owner, address receiver, uint256 amount)",
]


@cache
def _interface() -> Interface:
    return Interface.of(_ABI)


_SYMBOL = bytes.fromhex("95d89b41")  # symbol()
_PADDING = bytes(12)
_BALANCE_OF = bytes.fromhex("70a08231") + _PADDING  # balanceOf(address), the address to follow
_ALLOWANCE = bytes.fromhex("dd62ed3e") + _PADDING  # allowance(address,address)
_APPROVE = bytes.fromhex("095ea7b3") + _PADDING  # approve(address,uint256)
_NOTHING, _ANYTHING = bytes(32), bytes([255]) * 32  # the least word and the most
_TOTAL_SUPPLY = bytes.fromhex("18160ddd")  # totalSupply()
_DECIMALS = bytes.fromhex("313ce567")  # decimals()


class Erc20:
    """ERC-20 token on a fork, by label or address. Amounts are integers in its smallest unit.

    Tokens that return nothing on success are accepted; a returned false is an error. `InsufficientBalance` and
    `InsufficientAllowance` say how much there is and how much was needed.
    """

    def __init__(self, fork: Fork, token: AddressLike) -> None:
        self.fork = fork
        self.address = token if type(token) is bytes and len(token) == 20 else fork.address_of(token)

    @cached_property
    def contract(self) -> Contract:
        """ERC-20 contract of the token."""
        return self.fork.contract(self.address, _interface())

    @cached_property
    def symbol(self) -> str:
        """Label of the token in `fork.labels`, else its own symbol, else its address."""
        name = self.fork.name(self.address)
        return name if not name.startswith("0x") else self._own_symbol() or name

    @cached_property
    def decimals(self) -> int:
        """Number of decimal places."""
        return self._read(_DECIMALS, "decimals")

    @property
    def total_supply(self) -> int:
        """Total supply."""
        return self._read(_TOTAL_SUPPLY, "totalSupply")

    def balance_of(self, holder: AddressLike) -> int:
        """Balance of `holder`."""
        place = holder if type(holder) is bytes and len(holder) == 20 else self.fork.address_of(holder)
        try:  # the most frequent read: straight to the fork
            output = self.fork.call(self.address, _BALANCE_OF + place)
        except CallReverted:
            output = b""
        return int.from_bytes(output) if len(output) == 32 else self._read(_BALANCE_OF + place, "balanceOf", place)

    def allowance(self, owner: AddressLike, spender: AddressLike) -> int:
        """Amount that `spender` may take from `owner`."""
        fork = self.fork
        place = owner if type(owner) is bytes and len(owner) == 20 else fork.address_of(owner)
        other = spender if type(spender) is bytes and len(spender) == 20 else fork.address_of(spender)
        data = _ALLOWANCE + place + _PADDING + other
        try:
            output = fork.call(self.address, data)
        except CallReverted:
            output = b""
        return int.from_bytes(output) if len(output) == 32 else self._read(data, "allowance", place, other)

    def text(self, amount: int) -> str:
        """Format `amount` with the symbol: `1,700.25 USDC`."""
        return f"{format_units(amount, self.decimals)} {self.symbol}"

    def rounded_text(self, amount: int) -> str:
        """Format `amount` with the symbol, rounded down to six decimals."""
        unit = int(10 ** max(0, self.decimals - 6))
        return self.text(amount // unit * unit)

    def require(self, holder: AddressLike, amount: int) -> None:
        """Raise `InsufficientBalance` unless `holder` has `amount`."""
        balance = self.balance_of(holder)
        if balance < amount:
            raise InsufficientBalance(
                f"{self.fork.name(self.fork.address_of(holder))} has {self.text(balance)}, but {self.text(amount)}"
                " are needed",
                f"`fork.deal({self._literal()}, holder, {amount})` gives an account exactly so much",
            )

    def require_allowance(self, owner: AddressLike, spender: AddressLike, amount: int) -> None:
        """Raise `InsufficientAllowance` unless `spender` may take `amount` from `owner`."""
        allowed = self.allowance(owner, spender)
        if allowed < amount:
            names = [self.fork.name(self.fork.address_of(who)) for who in (spender, owner)]
            raise InsufficientAllowance(
                f"{names[0]} may take {self.text(allowed)} from {names[1]}, but {self.text(amount)} are needed",
                "the owner has to approve that much first",
            )

    def approve(self, spender: AddressLike, amount: int, *, sender: AddressLike) -> None:
        """Set the allowance of `spender` to exactly `amount`; send nothing if it is that already.

        A non-zero allowance is reset to zero first, as USDT and a few others require.
        """
        place, amount = self.fork.address_of(spender), word(amount)
        self._approve(place, self.allowance(sender, place), amount, sender)

    def _approve(self, spender: bytes, current: int, amount: int, sender: AddressLike) -> None:
        """Change the allowance from `current`. Bypasses the contract object: approvals are the most frequent action."""
        for wanted in (0, amount) if current and amount not in (0, current) else (amount,):
            if current == wanted:
                return
            data = _APPROVE + spender + wanted.to_bytes(32, "big")
            try:
                receipt = self.fork.send(self.address, data, sender)
            except CallReverted as error:
                raise self.contract.approve.explained(error) from None
            self._sent(receipt, "approve")

    def transfer(self, receiver: AddressLike, amount: int, *, sender: AddressLike) -> Receipt:
        """Transfer `amount` from `sender` to `receiver`."""
        self.require(sender, word(amount))
        return self._sent(self.contract.transfer(self.fork.address_of(receiver), amount, sender=sender), "transfer")

    def transfer_from(self, owner: AddressLike, receiver: AddressLike, amount: int, *, sender: AddressLike) -> Receipt:
        """Transfer `amount` from `owner` to `receiver`, spending the allowance of `sender`."""
        self.require(owner, word(amount))
        self.require_allowance(owner, sender, amount)
        places = self.fork.address_of(owner), self.fork.address_of(receiver)
        return self._sent(self.contract.transferFrom(*places, amount, sender=sender), "transferFrom")

    def _read(self, data: bytes, name: str, *arguments: bytes) -> int:
        """Read one number. Bypasses the contract object, because balances are the most frequent read."""
        try:
            output = self.fork.call(self.address, data)
        except CallReverted:
            output = b""
        if len(output) == 32:
            number = int.from_bytes(output)
            if number < 256 or name != "decimals":
                return number
        result: int = self.contract[name](*arguments)  # raises a detailed error
        return result

    def _sent(self, receipt: Receipt, function: str) -> Receipt:
        if receipt.output and not any(receipt.output):
            raise ActionRefused(f"{function} of {self.symbol} returned false", "the token refuses without a reason")
        return receipt

    def _literal(self) -> str:
        return f'"{self.symbol}"' if self.symbol in self.fork.labels else f'"{checksum(self.address)}"'

    def _own_symbol(self) -> str:
        # Old tokens give 32 bytes instead of text; some give nothing.
        try:
            output = self.fork.call(self.address, _SYMBOL)
        except ExecutionError:
            return ""
        if len(output) > 64:
            output = output[64 : 64 + int.from_bytes(output[32:64])]
        text = output.rstrip(b"\0").decode(errors="replace").strip()
        return text if text.isprintable() else ""

    def __repr__(self) -> str:
        return f"<token {self.symbol} at {checksum(self.address)}>"


def require_balance(fork: Fork, token: AddressLike, holder: AddressLike, amount: int) -> None:
    """Raise `InsufficientBalance` unless `holder` has `amount` of `token`."""
    Erc20(fork, token).require(holder, amount)


class atomic:  # noqa: N801
    """Context manager that restores the fork, nonces and approvals included, if its body fails."""

    __slots__ = ("_fork", "_moment")

    def __init__(self, fork: Fork) -> None:
        self._fork = fork

    def __enter__(self) -> None:
        self._moment = self._fork.snapshot()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._moment.keep()
        elif self._moment.open:
            self._moment.revert()


def send_spending(fork: Fork, token: bytes, amount: int, spender: bytes, data: bytes, sender: bytes) -> Receipt | None:
    """Send `data` to `spender`, which takes exactly `amount` of `token` from `sender`; return the receipt.

    Approve and send in one kernel call. Return None and change nothing if an allowance exists before or after, or a
    step fails, as for lack of balance: use `spending` then, whose errors say why.
    """
    if not 0 < amount < 2**256:
        return None
    without_allowance = token, _ALLOWANCE + sender + _PADDING + spender, (_NOTHING, _NOTHING)
    approval = token, _APPROVE + spender + amount.to_bytes(32, "big"), None
    receipts = fork.attempt([without_allowance, approval, (spender, data, None), without_allowance], sender)
    return None if receipts is None else receipts[-1]


def send_spending_up_to(
    fork: Fork, token: bytes, most: int, spender: bytes, data: bytes, sender: bytes
) -> Receipt | None:
    """Send `data` like `send_spending` to a `spender` that may take less than `most`, and revoke the rest."""
    if not 0 < most < 2**256:
        return None
    units, asset = most.to_bytes(32, "big"), Erc20(fork, token)
    steps = [
        (token, _BALANCE_OF + sender, (units, _ANYTHING)),
        (token, _ALLOWANCE + sender + _PADDING + spender, (_NOTHING, _NOTHING)),
        (token, _APPROVE + spender + units, None),
        (spender, data, None),
    ]
    with atomic(fork):
        receipts = fork.attempt(steps, sender)
        if receipts is None:
            return None
        if left := asset.allowance(sender, spender):
            asset._approve(spender, left, 0, sender)
        return receipts[-1]


class spending:  # noqa: N801
    """Context manager in which `spender` may take `amount` of `token` from `sender`.

    Checks the balance first. An allowance that is too small is raised to exactly `amount`; what is left of it is
    revoked at the end. If the body fails, the fork is restored, approvals and nonces included.
    """

    __slots__ = ("_amount", "_approved", "_moment", "_sender", "_spender", "asset")

    def __init__(
        self, fork: Fork, token: AddressLike | Erc20, spender: AddressLike, amount: int, sender: AddressLike
    ) -> None:
        self.asset = token if type(token) is Erc20 and token.fork is fork else Erc20(fork, token)
        self._spender, self._sender, self._amount = fork.address_of(spender), fork.address_of(sender), word(amount)

    def __enter__(self) -> Erc20:
        asset, sender, spender, amount = self.asset, self._sender, self._spender, self._amount
        if asset.balance_of(sender) < amount:
            asset.require(sender, amount)
        self._moment = asset.fork.snapshot()
        try:
            allowed = asset.allowance(sender, spender)
            self._approved = allowed < amount
            if self._approved:
                asset._approve(spender, allowed, amount, sender)
        except BaseException:
            self._undo()
            raise
        return asset

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._approved:
            try:
                left = self.asset.allowance(self._sender, self._spender)
                if left:
                    self.asset._approve(self._spender, left, 0, self._sender)
            except BaseException:
                self._undo()
                raise
        if kind is None:
            self._moment.keep()
        else:
            self._undo()

    def _undo(self) -> None:
        if self._moment.open:
            self._moment.revert()

"""Account on an Aave V3 market: its actions. What it reads of itself is in `account_state.py`.

Each action approves what it needs, checks the balance first, and returns a receipt or a result. An action that fails
raises an `ExecutionError` and leaves the fork unchanged, approvals and nonce included: `ActionRefused` if there is
nothing to do, `CallReverted` with Aave's reason, `InsufficientBalance` if only the balance is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mayavi.errors import ActionRefused, CallReverted
from mayavi.evm.abi.interface import Event, Function
from mayavi.evm.address import AddressLike, checksum
from mayavi.protocols.aave.account_state import AccountState
from mayavi.protocols.aave.flash_loan import FlashLoan, take_flash_loan
from mayavi.protocols.aave.later_actions import LaterActions
from mayavi.protocols.aave.reverts import explain, simulate_funded
from mayavi.protocols.arguments import address_on, require_positive
from mayavi.protocols.tokens import Erc20, atomic, send_spending, send_spending_up_to, spending

if TYPE_CHECKING:
    from mayavi.evm.abi.contract import BoundFunction
    from mayavi.evm.receipt import Receipt
    from mayavi.protocols.aave.market import AaveV3

EVERYTHING = 2**256 - 1
"""Amount that means "all of it", as on chain. Actions accept it, and None means the same."""

_VARIABLE_RATE = 2
_TREASURY = Function.parse("RESERVE_TREASURY_ADDRESS() view returns (address)")
_TRANSFER = Event.parse("Transfer(address indexed from, address indexed to, uint256 value)")


class Liquidation(NamedTuple):
    """Result of a liquidation, in smallest units: debt repaid, collateral received, treasury's share."""

    receipt: Receipt
    covered: int
    seized: int
    protocol_fee: int


class AaveAccount(AccountState, LaterActions):
    """Account on an Aave V3 market, made by `market.account(address)`. Amounts are in smallest units.

    Accounts are equal if market, address and fork are equal; a copy of a fork is another fork.
    """

    def __init__(self, market: AaveV3, address: AddressLike) -> None:
        self.market = market
        self.address = market.fork.address_of(address)

    # -- actions ------------------------------------------------------------------------------------------------------

    def supply(self, asset: AddressLike, amount: int) -> Receipt:
        """Supply `amount` of `asset` from the account's balance; it becomes collateral where Aave allows."""
        token, amount = self.market.address_of(asset), require_positive(amount, "a supply")
        return self._pay(token, amount, "supply", (token, amount, self.address, 0))

    def withdraw(self, asset: AddressLike, amount: int | None = None) -> Receipt:
        """Withdraw `amount` of `asset`, or all of it with interest."""
        token = self.market.address_of(asset)
        units = EVERYTHING if amount is None else require_positive(amount, "a withdrawal")
        sent = token, units, self.address
        if receipt := self._attempt("withdraw", *sent):
            return receipt
        if not self.supplied(token):
            raise ActionRefused(f"{self._name} has supplied no {self._symbol(token)}: there is nothing to withdraw")
        return self._send_alone("withdraw", *sent)

    def borrow(self, asset: AddressLike, amount: int) -> Receipt:
        """Borrow `amount` of `asset` at the variable rate."""
        token, amount = self.market.address_of(asset), require_positive(amount, "a loan")
        return self._act("borrow", token, amount, _VARIABLE_RATE, 0, self.address)

    def repay(self, asset: AddressLike, amount: int | None = None) -> Receipt:
        """Repay `amount` of the debt in `asset`, or all of it. At most the debt is taken."""
        token = self.market.address_of(asset)
        units = EVERYTHING if amount is None else require_positive(amount, "a repayment")
        sent = token, units, _VARIABLE_RATE, self.address
        if amount is not None and (receipt := self._attempt_to_pay(token, units, "repay", sent)):
            return receipt
        owed = self.debt(token)
        if not owed:
            raise ActionRefused(f"{self._name} owes no {self._symbol(token)}: there is nothing to repay")
        return self._pay(token, min(units, owed), "repay", sent)

    def set_collateral(self, asset: AddressLike, use: bool = True) -> Receipt:
        """Enable or disable the supplied `asset` as collateral."""
        return self._act("setUserUseReserveAsCollateral", self.market.address_of(asset), use)

    def set_emode(self, category: int) -> Receipt:
        """Enter an efficiency mode; 0 leaves it."""
        return self._act("setUserEMode", category)

    def liquidate(
        self,
        borrower: AaveAccount | AddressLike,
        collateral: AddressLike,
        debt: AddressLike,
        cover: int | None = None,
        *,
        receive_a_token: bool = False,
    ) -> Liquidation:
        """Repay a debt of `borrower` and receive collateral worth more by the liquidation bonus.

        `cover` is the most to repay (default: as much as the pool allows and this account can pay). The collateral
        arrives as the asset itself, or as aToken. An account object must belong to the same fork.
        """
        place, seized_token = address_on(self._fork, borrower), self.market.address_of(collateral)
        receipt, event = self.send_liquidation(place, seized_token, debt, cover, receive_a_token=receive_a_token)
        fee = self._paid_to_treasury(receipt, seized_token, place)
        return Liquidation(receipt, covered=event.covered, seized=event.seized, protocol_fee=fee)

    def send_liquidation(
        self, borrower: bytes, collateral: bytes, debt: AddressLike, cover: int | None, *, receive_a_token: bool = False
    ) -> tuple[Receipt, Any]:
        """Liquidate like `liquidate`; return the receipt and the fields of the pool's event."""
        repaid_token = self.market.address_of(debt)
        owed = self.market.variable_debt_token(repaid_token).balance_of(borrower)
        if cover is None:
            # Without any balance, ask for the whole debt: the error then says what is missing.
            most = min(owed, Erc20(self._fork, repaid_token).balance_of(self.address) or owed)
        else:
            most = min(owed, require_positive(cover, "a liquidation"))
        sent = collateral, repaid_token, borrower, most or EVERYTHING, receive_a_token
        receipt = self._pay(repaid_token, most, "liquidationCall", sent, lambda done: self._liquidation(done).covered)
        return receipt, self._liquidation(receipt)

    def flash_loan(
        self,
        asset: AddressLike,
        amount: int,
        calls: Sequence[tuple[AddressLike, bytes]] = (),
        *,
        sweep: Sequence[AddressLike] = (),
    ) -> FlashLoan:
        """Borrow `amount` of `asset` without collateral within one transaction.

        The helper contract `flash_borrower(fork)` takes the loan, makes `calls` (pairs of target and calldata) while it
        holds the tokens, and repays. The calls must leave at least the loan; the part of the premium they did not earn
        is taken from this account. What is left of `asset` and of the tokens in `sweep` is sent to it.
        """
        return take_flash_loan(self, asset, amount, calls, sweep)

    # -- transactions -------------------------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        return self._fork.name(self.address)

    def _symbol(self, token: bytes) -> str:
        return Erc20(self._fork, token).symbol

    def _function(self, name: str) -> BoundFunction:
        """Return the pool's function for what is called `name` in V3."""
        return self.market.pool[name]

    def _send(self, function: str, *arguments: Any) -> Receipt:
        try:
            receipt: Receipt = self._function(function)(*arguments, sender=self.address)
        except CallReverted as error:
            raise explain(self, error, function, arguments) from None
        return receipt

    def _act(self, function: str, *arguments: Any) -> Receipt:
        """Send `function`, in one kernel call if that succeeds; the fork is restored if it fails."""
        return self._attempt(function, *arguments) or self._send_alone(function, *arguments)

    def _attempt(self, function: str, *arguments: Any) -> Receipt | None:
        """Send `function`; return None and change nothing if it fails."""
        data, pool = self._function(function).encode(*arguments), self.market.pool.address
        receipts = self._fork.attempt([(pool, data, None)], self.address)
        return None if receipts is None else receipts[0]

    def _send_alone(self, function: str, *arguments: Any) -> Receipt:
        with atomic(self._fork):
            return self._send(function, *arguments)

    def _attempt_to_pay(
        self, token: bytes, amount: int, function: str, arguments: tuple[Any, ...], *, in_full: bool = True
    ) -> Receipt | None:
        """Send `function` with `amount` of `token` approved; return None and change nothing if it fails."""
        data, pool = self._function(function).encode(*arguments), self.market.pool.address
        send = send_spending if in_full else send_spending_up_to
        return send(self._fork, token, amount, pool, data, self.address)

    def _pay(
        self,
        token: bytes,
        amount: int,
        function: str,
        arguments: tuple[Any, ...],
        taken: Callable[[Receipt], int] | None = None,
    ) -> Receipt:
        """Send `function` with `amount` of `token` approved; `taken` computes how much of it was needed, if less."""
        if receipt := self._attempt_to_pay(token, amount, function, arguments, in_full=taken is None):
            return receipt
        fork, pool = self.market.fork, self.market.pool.address

        def act() -> Receipt:
            return self._send(function, *arguments)

        asset = Erc20(fork, token)
        if asset.balance_of(self.address) < amount:
            done = simulate_funded(asset, self.address, pool, amount, act)
            amount = taken(done) if done and taken else amount
        with spending(fork, asset, pool, amount, self.address):
            return act()

    def _liquidation(self, receipt: Receipt) -> Any:
        return self.market.pool.events(receipt, "LiquidationCall")[0].args

    def _paid_to_treasury(self, receipt: Receipt, asset: bytes, borrower: bytes) -> int:
        a_token = self.market.a_token(asset).address
        treasury = _TREASURY.decode(self._fork.call(a_token, _TREASURY.encode()))
        topics = _TRANSFER.topic, borrower.rjust(32, b"\0"), treasury.rjust(32, b"\0")
        return sum(int.from_bytes(log.data) for log in receipt.logs if (log.address, log.topics) == (a_token, topics))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AaveAccount):
            return NotImplemented
        return self._fork is other._fork and self._identity == other._identity

    def __hash__(self) -> int:
        return hash((id(self._fork), self._identity))

    @property
    def _identity(self) -> tuple[bytes, bytes]:
        return self.market.pool.address, self.address

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {checksum(self.address)} on {self.market.title}, chain {self._fork.chain_id}>"

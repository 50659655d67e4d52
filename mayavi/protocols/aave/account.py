"""Account on an Aave V3 market: actions, balances, debts and liquidation prices.

Each action approves what it needs, checks the balance first, and returns a receipt or a result. An action that fails
raises an `ExecutionError` and leaves the fork unchanged, approvals and nonce included: `ActionRefused` if there is
nothing to do, `CallReverted` with Aave's reason, `InsufficientBalance` if only the balance is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from mayavi.errors import ActionRefused, CallReverted
from mayavi.evm.abi.interface import Event, Function
from mayavi.evm.address import ZERO_ADDRESS, AddressLike, checksum
from mayavi.protocols.aave.account_data import SIZE, AccountData
from mayavi.protocols.aave.flash_loan import FlashLoan, take_flash_loan
from mayavi.protocols.aave.later_actions import LaterActions
from mayavi.protocols.aave.reserve import fraction
from mayavi.protocols.aave.reverts import explain, explain_missing_prices, simulate_funded
from mayavi.protocols.aave.risk import Holding, liquidation_price
from mayavi.protocols.arguments import address_on, require_positive
from mayavi.protocols.health import NO_DEBT
from mayavi.protocols.tokens import Erc20, atomic, send_spending, send_spending_up_to, spending

if TYPE_CHECKING:
    from mayavi.evm.abi.contract import BoundFunction
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt
    from mayavi.protocols.aave.market import AaveV3

EVERYTHING = 2**256 - 1
"""Amount that means "all of it", as on chain. Actions accept it, and None means the same."""

_VARIABLE_RATE = 2
_ACCOUNT_DATA = Function.parse("getUserAccountData(address)").selector + bytes(12)  # the address to follow
_TREASURY = Function.parse("RESERVE_TREASURY_ADDRESS() view returns (address)")
_TRANSFER = Event.parse("Transfer(address indexed from, address indexed to, uint256 value)")


class AssetPosition(NamedTuple):
    """Supply and debt of an account in one reserve. Values use the pool's prices and rounding."""

    symbol: str
    supplied: int
    supplied_usd_e8: int
    used_as_collateral: bool
    debt: int
    debt_usd_e8: int
    price_usd_e8: int
    liquidation_threshold_bps: int
    liquidation_price_usd_e8: int | None
    decimals: int


class Position(NamedTuple):
    """Position of an account on a market: one line per reserve in use, and the pool's totals."""

    assets: tuple[AssetPosition, ...]
    totals: AccountData
    emode: int


class Liquidation(NamedTuple):
    """Result of a liquidation, in smallest units: debt repaid, collateral received, treasury's share."""

    receipt: Receipt
    covered: int
    seized: int
    protocol_fee: int


class _Line(NamedTuple):
    """Raw data of an account in one reserve."""

    token: Erc20
    supplied: int
    debt: int
    used_as_collateral: bool
    holding: Holding
    own_price: bool


class AaveAccount(LaterActions):
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

    # -- state --------------------------------------------------------------------------------------------------------

    def data(self) -> AccountData:
        """Return total collateral, debt and health factor, at the oracle's prices."""
        pool = self.market.pool
        try:  # the most frequent read after balances: straight to the fork
            output = self._fork.call(pool.address, _ACCOUNT_DATA + self.address)
        except CallReverted:
            output = b""
        if len(output) == SIZE:
            return AccountData.of(output)
        try:
            return AccountData._make(pool.getUserAccountData(self.address))
        except CallReverted as error:
            with explain_missing_prices(self.market, self.address):
                raise error from None

    @property
    def health_factor(self) -> Decimal:
        """Health factor: below 1 the account can be liquidated, infinite without debt.

        `data().health_factor_wad` is the pool's integer.
        """
        wad = self.data().health_factor_wad
        return Decimal("Infinity") if wad == NO_DEBT else fraction(wad, 18)

    @property
    def liquidatable(self) -> bool:
        """Whether the health factor is below 1."""
        return self.data().liquidatable

    @property
    def emode(self) -> int:
        """Efficiency mode of the account; 0 is none."""
        category: int = self.market.pool.getUserEMode(self.address)
        return category

    def borrowing_power_bps(self, asset: AddressLike) -> int:
        """Return the loan to value of `asset` for this account, in the eMode it has chosen."""
        return self.market.borrowing_power_bps(asset, self.emode)

    def supplied(self, asset: AddressLike) -> int:
        """Return the supplied amount of `asset`, with interest up to now."""
        return self.market.a_token(asset).balance_of(self.address)

    def debt(self, asset: AddressLike) -> int:
        """Return the variable-rate debt in `asset`, with interest up to now."""
        return self.market.variable_debt_token(asset).balance_of(self.address)

    def balance(self, asset: AddressLike) -> int:
        """Return the wallet balance of `asset`."""
        return self.market.token(asset).balance_of(self.address)

    def position(self) -> Position:
        """Return every reserve in use, with its liquidation price."""
        with explain_missing_prices(self.market, self.address):
            lines, totals, emode = self._lines(), self.data(), self.emode
        holdings = [line.holding for line in lines]
        rule = self.market.rules.health
        assets = tuple(
            AssetPosition(
                symbol=line.token.symbol,
                supplied=line.supplied,
                supplied_usd_e8=line.supplied * line.holding.price // line.holding.unit,
                used_as_collateral=line.used_as_collateral,
                debt=line.debt,
                debt_usd_e8=self.market.rules.debt_usd_e8(line.debt, line.holding.price, line.holding.unit),
                price_usd_e8=line.holding.price,
                liquidation_threshold_bps=line.holding.liquidation_threshold_bps,
                liquidation_price_usd_e8=liquidation_price(holdings, index, rule)
                if _has_liquidation_price(line)
                else None,
                decimals=line.token.decimals,
            )
            for index, line in enumerate(lines)
        )
        return Position(assets, totals, emode)

    def liquidation_price_usd_e8(self, asset: AddressLike) -> int | None:
        """Return the price of the collateral `asset` at which liquidation begins, in USD with 8 decimals.

        At this price the health factor is below 1 and one unit above it is not, all other prices unchanged. None if no
        price of `asset` makes that difference: no debt, not used as collateral, or the rest decides alone.
        """
        address = self.market.address_of(asset)
        with explain_missing_prices(self.market, self.address):
            lines = self._lines()
        index = _index(lines, address)
        if index is None or not _has_liquidation_price(lines[index]):
            return None
        holdings = [line.holding for line in lines]
        return liquidation_price(holdings, index, self.market.rules.health)

    def _holdings(self, asset: AddressLike) -> tuple[list[Holding], int | None]:
        """Return the inputs of the health factor and the index of `asset` in them, None without a position there."""
        lines, address = self._lines(), self.market.address_of(asset)
        return [line.holding for line in lines], _index(lines, address)

    def _lines(self) -> list[_Line]:
        market = self.market
        flags: int = market.pool.getUserConfiguration(self.address)
        category, oracle = self.emode, market.oracle
        mode = market.emode(category) if category else None
        in_mode = set(market.emode_collateral(category)) if mode else set()
        lines = []
        for address in market.pool.getReservesList():
            data: Any = market.reserve_data(address)
            supplied = Erc20(self._fork, data.aToken).balance_of(self.address)
            debt = Erc20(self._fork, data.variableDebtToken).balance_of(self.address)
            if data.stableDebtToken != ZERO_ADDRESS:
                debt += Erc20(self._fork, data.stableDebtToken).balance_of(self.address)
            if not supplied and not debt:
                continue
            configuration = market.configuration(data)
            threshold, own_price, price = configuration.liquidation_threshold_bps, True, oracle.getAssetPrice(address)
            if mode and address in in_mode:
                # Up to V3.1 an asset that is no collateral outside its eMode is none inside either.
                if threshold or configuration.emode != category:
                    threshold = mode.liquidation_threshold_bps
                if mode.price_source:
                    own_price, price = False, oracle.getAssetPrice(mode.price_source)
            used = bool(flags >> 2 * data.id + 1 & 1)
            holding = Holding(supplied if used else 0, debt, 10**configuration.decimals, price, threshold)
            lines.append(_Line(Erc20(self._fork, address), supplied, debt, used, holding, own_price))
        return lines

    # -- transactions -------------------------------------------------------------------------------------------------

    @property
    def _fork(self) -> Fork:
        return self.market.fork

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


def _index(lines: Sequence[_Line], asset: bytes) -> int | None:
    return next((at for at, line in enumerate(lines) if line.token.address == asset), None)


def _has_liquidation_price(line: _Line) -> bool:
    return line.used_as_collateral and line.own_price and line.supplied > 0

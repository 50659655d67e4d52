"""Account of a Compound V3 market: balances, debt, actions and liquidation prices.

All values are as of this block, interest included. Comet's own views `isLiquidatable` and `isBorrowCollateralized` omit
the interest since the market was last touched; after `account.accrue()` they agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mayavi.errors import ActionRefused, CallReverted, InsufficientBalance
from mayavi.evm.address import ZERO_ADDRESS, AddressLike, checksum
from mayavi.evm.arguments import word
from mayavi.evm.fleet import Words
from mayavi.evm.units import WAD, from_units
from mayavi.protocols.arguments import address_on, as_list
from mayavi.protocols.compound.collateral import Accounts, CollateralAsset
from mayavi.protocols.compound.reverts import explain_supply
from mayavi.protocols.health import NO_DEBT
from mayavi.protocols.tokens import Erc20, atomic, spending

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mayavi.evm.receipt import Receipt
    from mayavi.protocols.compound.market import CompoundV3

_EVERYTHING = 2**256 - 1  # Comet's amount for all base tokens lent or owed


class AccountData(NamedTuple):
    """Totals of an account. Values are in the market's `quote`, with 8 decimals."""

    base_balance: int
    debt: int
    collateral_value_e8: int
    borrow_limit_e8: int
    """Most debt the account may take on: collateral times each asset's borrow collateral factor."""
    liquidation_limit_e8: int
    """Debt above which the account can be absorbed: collateral times each liquidate collateral factor."""
    debt_value_e8: int

    @property
    def liquidation_ratio_wad(self) -> int:
        """`liquidation_limit_e8` over the debt: below one the account can be absorbed; `NO_DEBT` without debt."""
        return self.liquidation_limit_e8 * WAD // self.debt_value_e8 if self.debt_value_e8 else NO_DEBT

    @property
    def liquidatable(self) -> bool:
        """Whether the account can be absorbed."""
        return self.liquidation_limit_e8 < self.debt_value_e8

    @property
    def borrow_collateralized(self) -> bool:
        """Whether the collateral covers the debt; if not, the account can neither borrow nor withdraw collateral."""
        return self.borrow_limit_e8 >= self.debt_value_e8


class AssetPosition(NamedTuple):
    """One asset of an account: collateral, or base tokens lent or owed."""

    symbol: str
    decimals: int
    supplied: int
    debt: int
    value_e8: int
    """Value of the supplied amount, or of the debt."""
    price_e8: int
    liquidate_collateral_factor_wad: int
    """Share of the asset's value that counts against the debt; zero for the base token."""
    liquidation_price_e8: int | None
    """Price at or below which the account can be absorbed, other prices unchanged; None if there is none."""


class CompoundPosition(NamedTuple):
    """Position of an account: one line per asset in use, and totals. Values are in `quote`."""

    market: str
    quote: str
    assets: tuple[AssetPosition, ...]
    totals: AccountData


@dataclass(frozen=True, slots=True)
class AccountArrays:
    """Many accounts, one row each, in the given order. Columns are exact: `.ints()`, `[row]`."""

    base_balance: Words
    debt: Words
    collateral_value_e8: Words
    borrow_limit_e8: Words
    liquidation_limit_e8: Words
    debt_value_e8: Words
    collateral: dict[str, Words]
    """Collateral of each account, by asset symbol."""
    liquidatable: NDArray[np.bool_]
    borrow_collateralized: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.debt)

    def __getitem__(self, row: int) -> AccountData:
        return AccountData(*(getattr(self, name)[row] for name in AccountData._fields))


class CompoundV3Account:
    """Account of one Compound V3 market. A failed action leaves the fork unchanged."""

    def __init__(self, market: CompoundV3, address: AddressLike) -> None:
        self.market = market
        self.address = address_on(market.fork, address)

    # -- actions ------------------------------------------------------------------------------------------------------

    def supply(self, asset: AddressLike, amount: int) -> Receipt:
        """Supply collateral or base tokens; base tokens repay debt first, the rest is lent."""
        place = self._address_of(asset)
        self._refuse_zero("a supply", place, word(amount))
        return self._pay(place, amount, amount)

    def repay(self, amount: int | None = None) -> Receipt:
        """Repay `amount` of the debt, or all of it without an amount or with more than is owed."""
        debt = self.debt
        if not debt:
            raise ActionRefused(f"{self._name} owes nothing to {self.market.symbol}", "`debt` is what it owes")
        if amount is not None:
            self._refuse_zero("a repayment", self.market.base.address, word(amount))
        if amount is None or amount >= debt:
            return self._pay(self.market.base.address, debt, _EVERYTHING)
        return self._pay(self.market.base.address, amount, amount)

    def borrow(self, amount: int) -> Receipt:
        """Withdraw `amount` of the base token: lent tokens first, the rest as debt."""
        base = self.market.base
        self._refuse_zero("a loan", base.address, word(amount))
        self._require_cash(base, amount)
        return self._withdraw(base.address, amount)

    def withdraw(self, asset: AddressLike, amount: int | None = None) -> Receipt:
        """Withdraw `amount` of collateral or lent base tokens, or all to the last unit.

        Withdrawing more base tokens than were lent is `borrow`.
        """
        if self.market.is_base(asset):
            base, lent = self.market.base, self.base_balance
            self._refuse_empty(base, lent, amount)
            self._require(base, lent, 0 if amount is None else amount, "`borrow` takes out more than was lent")
            self._require_cash(base, lent if amount is None else amount)
            return self._withdraw(base.address, _EVERYTHING if amount is None else amount)
        found = self.market.asset(asset)
        token, held = Erc20(self.market.fork, found.address), self._collateral(found)
        self._refuse_empty(token, held, amount)
        self._require(token, held, held if amount is None else amount, "`collaterals()` says what it has put up")
        return self._withdraw(found.address, held if amount is None else amount)

    def accrue(self) -> Receipt:
        """Bring the market's indexes up to this block. Any account may; every other action does it too."""
        receipt: Receipt = self.market.contract.accrueAccount(self.address, sender=self.address)
        return receipt

    # -- state --------------------------------------------------------------------------------------------------------

    @property
    def base_balance(self) -> int:
        """Base tokens lent, with interest up to this block."""
        return int(self.market.contract.balanceOf(self.address))

    @property
    def debt(self) -> int:
        """Base tokens owed, with interest up to this block."""
        return int(self.market.contract.borrowBalanceOf(self.address))

    def collateral(self, asset: AddressLike) -> int:
        """Return the collateral in `asset`."""
        return self._collateral(self.market.asset(asset))

    def collaterals(self) -> dict[str, int]:
        """Return all non-zero collateral, by symbol."""
        held = ((asset.symbol, self._collateral(asset)) for asset in self.market.assets)
        return {symbol: amount for symbol, amount in held if amount}

    def data(self) -> AccountData:
        """Return the account's totals."""
        return self._holdings_and_totals()[1]

    @property
    def liquidatable(self) -> bool:
        """Whether `market.absorb` would go through in this block."""
        return self.data().liquidatable

    @property
    def borrow_collateralized(self) -> bool:
        """Whether the collateral covers the debt."""
        return self.data().borrow_collateralized

    @property
    def liquidation_ratio_wad(self) -> int:
        """Liquidation limit over the value of the debt; see `AccountData`."""
        return self.data().liquidation_ratio_wad

    @property
    def health_factor(self) -> Decimal:
        """`liquidation_ratio_wad` as a decimal: below one the account can be absorbed, `Infinity` without debt."""
        ratio = self.liquidation_ratio_wad
        return Decimal("Infinity") if ratio == NO_DEBT else from_units(ratio, 18)

    def liquidation_price(self, asset: AddressLike) -> int | None:
        """Return the highest price of `asset` at which the account can be absorbed, other prices unchanged.

        None if there is none: no debt, none of the asset, or enough other collateral.
        """
        wanted = self.market.asset(asset)
        holdings, data = self._holdings_and_totals()
        for holding in holdings:
            if holding.asset.address == wanted.address:
                return _liquidation_price_e8(holding, data)
        return None

    def position(self) -> CompoundPosition:
        """Return the position as a table."""
        holdings, data = self._holdings_and_totals()
        base, base_price = self.market.base, self.market.price_e8()
        rows = [
            AssetPosition(
                symbol=each.asset.symbol,
                decimals=each.asset.decimals,
                supplied=each.amount,
                debt=0,
                value_e8=each.value_e8,
                price_e8=each.price_e8,
                liquidate_collateral_factor_wad=each.asset.liquidate_collateral_factor_wad,
                liquidation_price_e8=_liquidation_price_e8(each, data),
            )
            for each in holdings
        ]
        if data.base_balance or data.debt:
            value = (data.base_balance or data.debt) * base_price // 10**base.decimals
            row = AssetPosition(base.symbol, base.decimals, data.base_balance, data.debt, value, base_price, 0, None)
            rows.append(row)
        return CompoundPosition(self.market.symbol, self.market.quote, tuple(rows), data)

    # -- internals ----------------------------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        return self.market.fork.name(self.address)

    def _address_of(self, asset: AddressLike) -> bytes:
        return self.market.base.address if self.market.is_base(asset) else self.market.asset(asset).address

    def _pay(self, token: bytes, needed: int, amount: int) -> Receipt:
        try:
            with spending(self.market.fork, token, self.market.address, needed, self.address):
                receipt: Receipt = self.market.contract.supply(token, amount, sender=self.address)
        except CallReverted as error:
            raise explain_supply(self.market, error, token, amount) from None
        return receipt

    def _withdraw(self, token: bytes, amount: int) -> Receipt:
        with atomic(self.market.fork):
            receipt: Receipt = self.market.contract.withdraw(token, amount, sender=self.address)
        return receipt

    def _refuse_zero(self, what: str, token: bytes, amount: int) -> None:
        if not amount:
            symbol = Erc20(self.market.fork, token).symbol
            raise ActionRefused(f"{what} of 0 {symbol} moves nothing", "give an amount above zero")

    def _refuse_empty(self, token: Erc20, held: int, amount: int | None) -> None:
        if amount is not None:
            self._refuse_zero("a withdrawal", token.address, word(amount))
        elif not held:
            raise ActionRefused(f"{self._name} has no {token.symbol} in {self.market.symbol}", "supply some first")

    def _require(self, token: Erc20, held: int, amount: int, hint: str) -> None:
        if held < amount:
            has, wants = token.text(held), token.text(amount)
            raise InsufficientBalance(f"{self._name} has {has} in {self.market.symbol}, but {wants} are wanted", hint)

    def _require_cash(self, base: Erc20, amount: int) -> None:
        cash = base.balance_of(self.market.address)
        if cash < amount:
            raise InsufficientBalance(
                f"{self.market.symbol} has {base.text(cash)} in cash, but {base.text(amount)} are wanted",
                "the rest of what was lent is with borrowers; take less, or wait until some repay",
            )

    def _collateral(self, asset: CollateralAsset) -> int:
        return int(self.market.contract.userCollateral(self.address, asset.address).balance)

    def _holdings_and_totals(self) -> tuple[list[_Holding], AccountData]:
        market = self.market
        held = [(asset, self._collateral(asset)) for asset in market.assets]
        holdings = [
            _Holding(asset, amount, market.contract.getPrice(asset.price_feed)) for asset, amount in held if amount
        ]
        debt = self.debt
        debt_value = debt * market.price_e8() // int(market.contract.baseScale()) if debt else 0
        return holdings, _totals(holdings, self.base_balance, debt, debt_value)

    def __eq__(self, other: object) -> bool:
        """Whether address, market and fork are equal; a copy of a fork is another fork."""
        return isinstance(other, CompoundV3Account) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[int, bytes, bytes]:
        return id(self.market.fork), self.market.address, self.address

    def __repr__(self) -> str:
        return f"<account {checksum(self.address)} in {self.market.symbol}>"


class _Holding(NamedTuple):
    """Collateral at a price. Each value is rounded down in turn, as the contract does."""

    asset: CollateralAsset
    amount: int
    price_e8: int

    @property
    def value_e8(self) -> int:
        return self.asset.value_e8(self.amount, self.price_e8)

    @property
    def borrow_limit_e8(self) -> int:
        return self.value_e8 * self.asset.borrow_collateral_factor_wad // WAD

    @property
    def liquidation_limit_e8(self) -> int:
        return self.value_e8 * self.asset.liquidate_collateral_factor_wad // WAD


def _totals(holdings: list[_Holding], base_balance: int, debt: int, debt_value_e8: int) -> AccountData:
    return AccountData(
        base_balance=base_balance,
        debt=debt,
        collateral_value_e8=sum(each.value_e8 for each in holdings),
        borrow_limit_e8=sum(each.borrow_limit_e8 for each in holdings),
        liquidation_limit_e8=sum(each.liquidation_limit_e8 for each in holdings),
        debt_value_e8=debt_value_e8,
    )


def _liquidation_price_e8(holding: _Holding, data: AccountData) -> int | None:
    """Return the highest price at which the limit is below the debt, inverting both roundings exactly."""
    others = data.liquidation_limit_e8 - holding.liquidation_limit_e8
    largest_limit = data.debt_value_e8 - 1 - others
    factor = holding.asset.liquidate_collateral_factor_wad
    if largest_limit < 0 or not factor or not holding.amount:
        return None
    largest_value = ((largest_limit + 1) * WAD - 1) // factor
    price: int = ((largest_value + 1) * 10**holding.asset.decimals - 1) // holding.amount
    return price or None  # a zero price makes the market revert instead


def account_arrays(market: CompoundV3, accounts: Accounts) -> AccountArrays:
    """Implementation of `CompoundV3.account_data`."""
    places = [address_on(market.fork, each) for each in as_list(accounts, "the accounts to look at")]
    comet, assets = market.contract, market.assets
    read = partial(market.fork.call_words, market.address, holes={4: places})
    columns = [read(comet[name].encode(ZERO_ADDRESS), returns=1)[0] for name in ("balanceOf", "borrowBalanceOf")]
    columns += [read(comet.userCollateral.encode(ZERO_ADDRESS, asset.address), returns=2)[0] for asset in assets]
    held = list(zip(assets, columns[2:], strict=True))
    prices = [comet.getPrice(asset.price_feed) if amounts.words.any() else 0 for asset, amounts in held]
    base_price, base_scale = market.price_e8(), int(comet.baseScale())
    rows = []
    for base_balance, debt, *amounts in zip(*(column.ints() for column in columns), strict=True):
        each = zip(assets, amounts, prices, strict=True)
        holdings = [_Holding(asset, amount, price) for asset, amount, price in each if amount]
        rows.append(_totals(holdings, base_balance, debt, debt * base_price // base_scale))
    return AccountArrays(
        **{name: Words.of([getattr(row, name) for row in rows]) for name in AccountData._fields},
        collateral={asset.symbol: amounts for asset, amounts in held},
        liquidatable=np.array([row.liquidatable for row in rows], dtype=np.bool_),
        borrow_collateralized=np.array([row.borrow_collateralized for row in rows], dtype=np.bool_),
    )

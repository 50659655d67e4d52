"""Account of a Morpho market: position, health, actions and liquidation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mayavi.errors import ActionRefused, CallReverted
from mayavi.evm.address import AddressLike, checksum
from mayavi.evm.fleet import Words
from mayavi.evm.units import WAD, from_units
from mayavi.protocols.arguments import address_on, as_list, require_positive
from mayavi.protocols.health import NO_DEBT
from mayavi.protocols.morpho.mathematics import PRICE_SCALE, assets_up, most_debt, seized_for, shares_for
from mayavi.protocols.morpho.reverts import explain
from mayavi.protocols.tokens import Erc20, atomic, spending

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mayavi.evm.receipt import Receipt
    from mayavi.protocols.morpho.market import MorphoMarket
    from mayavi.protocols.morpho.mathematics import MarketState

Accounts = AddressLike | Sequence[AddressLike]


class AccountData(NamedTuple):
    """Position of an account, interest included. Values are in smallest units of the loan token."""

    collateral: int
    borrow_shares: int
    debt: int
    """What `borrow_shares` owe, rounded up."""
    supply_shares: int
    supplied: int
    """What `supply_shares` are worth, rounded down."""
    collateral_value: int
    debt_limit: int
    """Largest debt without liquidation."""

    @property
    def ltv_wad(self) -> int:
        """Debt over the value of the collateral; `NO_DEBT` if there is debt and no collateral."""
        if not self.debt:
            return 0
        return self.debt * WAD // self.collateral_value if self.collateral_value else NO_DEBT

    @property
    def health_factor_wad(self) -> int:
        """`debt_limit` over the debt: below one the account can be liquidated; `NO_DEBT` without debt."""
        return self.debt_limit * WAD // self.debt if self.debt else NO_DEBT

    @property
    def liquidatable(self) -> bool:
        """Whether the account can be liquidated."""
        return self.debt_limit < self.debt


class Liquidation(NamedTuple):
    """Amounts of a liquidation, in smallest units, and its receipt."""

    repaid: int
    repaid_shares: int
    seized: int
    bad_debt: int
    """Debt that no collateral was left for: the market's suppliers lose it."""
    bad_debt_shares: int
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class AccountArrays:
    """Many accounts, one row each, in the given order. Values with `_e8` are in the market's `quote`."""

    rows: tuple[AccountData, ...]
    collateral_value_e8: Words
    debt_value_e8: Words
    liquidation_limit_e8: Words
    health_factor_wad: Words
    liquidatable: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> AccountData:
        return self.rows[row]


class MorphoAccount:
    """Account of one market. A failed action leaves the fork unchanged."""

    def __init__(self, market: MorphoMarket, address: AddressLike) -> None:
        self.market = market
        self.address: bytes = address_on(market.fork, address)

    # -- lending ------------------------------------------------------------------------------------------------------

    def supply(self, assets: int) -> Receipt:
        """Lend `assets` of the loan token."""
        amount = require_positive(assets, "a supply")
        return self._pay(self.market.loan, amount, "supply", amount, 0, self.address, b"")

    def withdraw(self, assets: int | None = None) -> Receipt:
        """Withdraw `assets` that were lent, or all of them to the last share."""
        if assets is None:
            shares = self._shares("supplyShares", "lent nothing to")
            return self._send("withdraw", 0, shares, self.address, self.address)
        return self._send("withdraw", require_positive(assets, "a withdrawal"), 0, self.address, self.address)

    # -- borrowing ----------------------------------------------------------------------------------------------------

    def supply_collateral(self, amount: int) -> Receipt:
        """Put up collateral."""
        amount = require_positive(amount, "a supply of collateral")
        return self._pay(self.market.collateral, amount, "supplyCollateral", amount, self.address, b"")

    def withdraw_collateral(self, amount: int | None = None) -> Receipt:
        """Withdraw `amount` of the collateral, or all of it."""
        wanted = self._position().collateral if amount is None else amount
        wanted = require_positive(wanted, "a withdrawal of collateral")
        return self._send("withdrawCollateral", wanted, self.address, self.address)

    def borrow(self, assets: int) -> Receipt:
        """Borrow `assets` of the loan token."""
        return self._send("borrow", require_positive(assets, "a loan"), 0, self.address, self.address)

    def repay(self, assets: int | None = None, *, shares: int | None = None) -> Receipt:
        """Repay `assets` or `shares` of the debt; all of it without either, or with more than is owed."""
        owned, state = self._shares("borrowShares", "owes nothing to"), self.market.state()
        if assets is not None:
            assets = require_positive(assets, "a repayment")
            if state.shares_repaid(assets) < owned:
                return self._pay(self.market.loan, assets, "repay", assets, 0, self.address, b"")
            shares = owned
        wanted = owned if shares is None else min(owned, require_positive(shares, "a repayment"))
        return self._pay(self.market.loan, state.owed(wanted), "repay", 0, wanted, self.address, b"")

    # -- liquidation --------------------------------------------------------------------------------------------------

    def liquidate(
        self, borrower: AddressLike, *, seized: int | None = None, repaid_shares: int | None = None
    ) -> Liquidation:
        """Liquidate `borrower`: repay debt and take collateral of more value.

        Give the collateral to seize or the shares of debt to repay; without either it is as much as there is. Taking
        the last collateral leaves what is still owed to the suppliers, as bad debt.
        """
        market, place = self.market, address_on(self.market.fork, borrower)
        if seized is not None and repaid_shares is not None:
            raise ActionRefused("a liquidation is given seized collateral and repaid shares", "leave one of them out")
        state, price = market.state(), market.price_e36
        if seized is None and repaid_shares is None:
            seized, repaid_shares = self._everything(place, state, price)
        shares = repaid_shares or shares_for(
            state, require_positive(seized or 0, "a liquidation"), price, market.lltv_wad
        )
        receipt = self._pay(market.loan, state.owed(shares), "liquidate", place, seized or 0, repaid_shares or 0, b"")
        event = market.blue.contract.events(receipt, "Liquidate")[0].args
        return Liquidation(
            event.repaidAssets,
            event.repaidShares,
            event.seizedAssets,
            event.badDebtAssets,
            event.badDebtShares,
            receipt,
        )

    def _everything(self, borrower: bytes, state: MarketState, price: int) -> tuple[int, int]:
        """Return seized collateral or repaid shares of the largest liquidation; the other is zero."""
        position = self.market.blue.contract.position(self.market.id, borrower)
        if seized_for(state, position.borrowShares, price, self.market.lltv_wad) > position.collateral:
            return int(position.collateral), 0
        return 0, int(position.borrowShares)

    # -- state --------------------------------------------------------------------------------------------------------

    def data(self) -> AccountData:
        """Return the account's position, interest included."""
        return account_arrays(self.market, [self.address])[0]

    @property
    def debt(self) -> int:
        """Loan tokens owed, rounded up."""
        return self.market.state().owed(self._position().borrowShares)

    @property
    def supplied(self) -> int:
        """Loan tokens lent, rounded down."""
        return self.market.state().supplied(self._position().supplyShares)

    @property
    def collateral(self) -> int:
        """Collateral put up."""
        return int(self._position().collateral)

    @property
    def liquidatable(self) -> bool:
        """Whether a liquidation would go through in this block."""
        return self.data().liquidatable

    @property
    def health_factor(self) -> Decimal:
        """Limit over debt as a decimal: below one the account can be liquidated, `Infinity` without debt."""
        factor = self.data().health_factor_wad
        return Decimal("Infinity") if factor == NO_DEBT else from_units(factor, 18)

    @property
    def ltv(self) -> Decimal:
        """Debt over the value of the collateral."""
        ratio = self.data().ltv_wad
        return Decimal("Infinity") if ratio == NO_DEBT else from_units(ratio, 18)

    def liquidation_price_e36(self) -> int | None:
        """Return the highest oracle price at which the account can be liquidated; None without debt."""
        data, lltv = self.data(), self.market.lltv_wad
        if not data.debt or not data.collateral or not lltv:
            return None
        # The limit is rounded down twice: the largest value, then the largest price, that stays below the debt.
        value = -(-data.debt * WAD // lltv) - 1
        return -(-(value + 1) * PRICE_SCALE // data.collateral) - 1

    # -- internals ----------------------------------------------------------------------------------------------------

    def _position(self) -> Any:
        return self.market.blue.contract.position(self.market.id, self.address)

    def _shares(self, side: str, nothing: str) -> int:
        shares = int(getattr(self._position(), side))
        if not shares:
            raise ActionRefused(f"{self.market.fork.name(self.address)} {nothing} {self.market.name}")
        return shares

    def _send(self, function: str, *arguments: object) -> Receipt:
        market = self.market
        with atomic(market.fork):
            try:
                receipt: Receipt = market.blue.contract[function](market.parameters, *arguments, sender=self.address)
            except CallReverted as error:
                raise explain(self, error, function, arguments) from None
        return receipt

    def _pay(self, token: Erc20, amount: int, function: str, *arguments: object) -> Receipt:
        with spending(self.market.fork, token.address, self.market.blue.address, amount, self.address):
            return self._send(function, *arguments)

    def __eq__(self, other: object) -> bool:
        """Whether address, market and fork are equal; a copy of a fork is another fork."""
        return isinstance(other, MorphoAccount) and (other.market, other.address) == (self.market, self.address)

    def __hash__(self) -> int:
        return hash((self.market, self.address))

    def __repr__(self) -> str:
        return f"<account {checksum(self.address)} in {self.market.symbol}>"


def account_arrays(market: MorphoMarket, accounts: Accounts) -> AccountArrays:
    """Implementation of `MorphoMarket.account_data`."""
    places = [address_on(market.fork, each) for each in as_list(accounts, "the accounts to look at")]
    calldata = market.blue.contract.position.encode(market.id, bytes(20))
    columns = market.fork.call_words(market.blue.address, calldata, {36: places}, returns=3) if places else []
    supply, borrow, held = (column.ints() for column in columns) if columns else ([], [], [])
    state, price = market.state(), market.price_e36 if any(held) else 0
    rows = tuple(
        AccountData(
            collateral=collateral,
            borrow_shares=owes,
            debt=assets_up(owes, state.borrow_assets, state.borrow_shares),
            supply_shares=lends,
            supplied=state.supplied(lends),
            collateral_value=collateral * price // PRICE_SCALE,
            debt_limit=most_debt(collateral, price, market.lltv_wad),
        )
        for lends, owes, collateral in zip(supply, borrow, held, strict=True)
    )
    return AccountArrays(
        rows,
        Words.of([market.value_e8(row.collateral_value) for row in rows]),
        Words.of([market.value_e8(row.debt) for row in rows]),
        Words.of([market.value_e8(row.debt_limit) for row in rows]),
        Words.of([row.health_factor_wad for row in rows]),
        np.array([row.liquidatable for row in rows], dtype=np.bool_),
    )

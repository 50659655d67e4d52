"""Aave V3 and SparkLend as a `LendingMarket`: a liquidator repays debt, up to the close factor, for collateral."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mayavi.agents.lending.market import Health, Healths, LiquidationQuote, LiquidationResult
from mayavi.agents.lending.refusals import refused_supply
from mayavi.errors import CallReverted
from mayavi.evm.fork.calls import FEW_CALLS
from mayavi.evm.words import known_address_words
from mayavi.protocols.aave.account_data import AccountData
from mayavi.protocols.aave.market import AaveV3
from mayavi.protocols.aave.reserve import Configuration
from mayavi.protocols.aave.reverts import explain, explain_missing_prices
from mayavi.protocols.aave.rules.liquidation import Claim, Priced
from mayavi.protocols.tokens import Erc20, atomic

if TYPE_CHECKING:
    from mayavi.evm.abi.contract import Contract
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt
    from mayavi.protocols.aave.account import AaveAccount
    from mayavi.protocols.aave.rules.v30 import RulesV30


Accounts = Sequence[bytes] | NDArray[np.uint8]
"""Addresses, or their words."""

_HEALTH = partial(tuple.__new__, Health)
"""Build a `Health` from a tuple of its values; faster than `Health(…)`."""


class AaveLendingAccount:
    """`LendingAccount` of an `AaveAccount`, on Aave or Spark."""

    def __init__(self, lending: AaveLending, address: bytes) -> None:
        self.account: AaveAccount = lending.market.account(address)
        self.address = address
        self._asset, self._rules = lending.asset, lending.rules

    def supply(self, asset: str, amount: int) -> Receipt:
        """Supply `amount` as collateral."""
        return self.account.supply(self._asset(asset).address, amount)

    def withdraw(self, asset: str, amount: int | None = None) -> Receipt:
        """Withdraw `amount` of collateral, or all."""
        return self.account.withdraw(self._asset(asset).address, amount)

    def borrow(self, asset: str, amount: int) -> Receipt:
        """Borrow `amount` at the variable rate."""
        return self.account.borrow(self._asset(asset).address, amount)

    def repay(self, asset: str, amount: int | None = None) -> Receipt:
        """Repay `amount` of the debt, or all of it."""
        return self.account.repay(self._asset(asset).address, amount)

    def supplied(self, asset: str) -> int:
        """Return the supplied amount of `asset`."""
        return self._asset(asset).a_token.balance_of(self.address)

    def debt(self, asset: str) -> int:
        """Return the debt in `asset`."""
        return self._asset(asset).debt_token.balance_of(self.address)

    def health(self) -> Health:
        """Return the account's health."""
        return _health(self.account.data(), self._rules)


class Asset(NamedTuple):
    """Immutable data of a reserve."""

    address: bytes
    id: int
    decimals: int
    a_token: Erc20
    debt_token: Erc20


class AaveLending:
    """Aave V3 market or SparkLend, for agents. Liquidation quotes use the pool's own arithmetic, to the unit.

    Data that never changes in a run, such as addresses of tokens and of the oracle, is read once.
    """

    supply_function: ClassVar[str] = "supply"
    """Function of the pool that supplies."""

    def __init__(self, market: AaveV3) -> None:
        self.market = market
        self.rules = market.rules
        """Rules of the pool's code."""
        market.remember_tokens()
        self.name = market.prefix
        self.quote = "USD"
        self._assets: dict[str, Asset] = {}

    @property
    def fork(self) -> Fork:
        """Chain of the market."""
        return self.market.fork

    def asset(self, symbol: str) -> Asset:
        """Return the immutable data of the reserve of `symbol`."""
        found = self._assets.get(symbol)
        if found is None:
            address = self.market.address_of(symbol)
            data = self.market.reserve_data(address)
            tokens = self.market.a_token(address), self.market.variable_debt_token(address)
            decimals = Configuration.of(data.configuration).decimals
            found = self._assets[symbol] = Asset(address, data.id, decimals, *tokens)
        return found

    def account(self, address: bytes) -> AaveLendingAccount:
        """Return the account at `address`."""
        return AaveLendingAccount(self, address)

    def healths(self, addresses: Sequence[bytes]) -> Healths:
        """Return the health of many accounts in one read."""
        data, rules = self.market.account_data(addresses), self.rules
        return Healths(data.health_factor_wad, lambda row: _health(data[row], rules), data.collateral_usd_e8)

    def price_e8(self, asset: str) -> int:
        """Return the price of one whole `asset` in USD, with 8 decimals."""
        address = self.asset(asset).address
        try:
            price: int = self._oracle.getAssetPrice(address)
        except CallReverted as error:
            with explain_missing_prices(self.market, address):
                raise error from None
        return price

    @cached_property
    def _oracle(self) -> Contract:
        return self.market.oracle

    def decimals(self, asset: str) -> int:
        """Return the decimal places of `asset`."""
        return self.asset(asset).decimals

    def loan_of(self, asset: str, value_e8: int) -> int:
        """Return the largest loan worth at most `value_e8`; debts are stored in scaled shares, which are rounded."""
        rules = self.rules
        most = rules.largest_debt(value_e8, self.price_e8(asset), int(10 ** self.decimals(asset)))
        index: int = self.market.pool.getReserveNormalizedVariableDebt(self.asset(asset).address)
        amount = most
        while amount > 0 and rules.debt_after_borrow(amount, index) > most:
            amount -= 1
        return amount

    def least_repayment(self, asset: str) -> int:
        """Return the smallest repayment of `asset` that the pool takes while more is owed."""
        index: int = self.market.pool.getReserveNormalizedVariableDebt(self.asset(asset).address)
        return self.rules.least_repayment(index)

    def supply_for(self, asset: str, amounts: Sequence[int], holders: Sequence[bytes], payer: bytes) -> None:
        """Supply collateral for many accounts from the balance of `payer`."""
        token, pool = self.market.token(asset), self.market.pool
        with atomic(self.fork):
            token.require(payer, sum(amounts))
            token.approve(pool.address, sum(amounts), sender=payer)
            for amount, holder in zip(amounts, holders, strict=True):
                try:
                    pool[self.supply_function](token.address, amount, holder, 0, sender=payer)
                except CallReverted as error:
                    explained = self._explained(error, holder, (token.address, amount, holder, 0))
                    raise refused_supply(explained, token, amount, holder, amounts) from None

    # -- liquidation --------------------------------------------------------------------------------------------------

    def quote_liquidations(
        self,
        borrowers: Sequence[bytes],
        health_factors_wad: Sequence[int],
        collaterals: Sequence[str],
        debts: Sequence[str],
        funds: dict[str, int] | None = None,
    ) -> list[LiquidationQuote]:
        """Return the largest liquidations of `borrowers` that the pool's rules allow now."""
        if not borrowers:
            return []
        rules, sides = self.rules, self._asset_states(tuple(sorted({*collaterals, *debts})))
        flags = self._column(self.market.pool, "getUserConfiguration", _accounts(borrowers))
        # Who has no collateral left, and keeps its debt for ever, is not looked at further.
        wanted = sum(2 << 2 * sides[each].id for each in {*collaterals})
        rows = [row for row, flag in enumerate(flags) if flag & wanted]
        if not rows:
            return []
        borrowers, flags = [borrowers[row] for row in rows], [flags[row] for row in rows]
        health_factors_wad = [health_factors_wad[row] for row in rows]
        words = _accounts(borrowers)
        modes = self._emodes(words)
        bonuses = {mode: self._mode_bonuses(mode) for mode in set(modes) if mode}
        supplied = {each: self._balances(self.asset(each).a_token, words) for each in collaterals}
        owed = {each: self._balances(self.asset(each).debt_token, words) for each in debts}
        totals = self.market.account_data(borrowers).debt_usd_e8.ints() if rules.by_value else [0] * len(borrowers)
        found = []
        for row, (borrower, factor) in enumerate(zip(borrowers, health_factors_wad, strict=True)):
            for debt in debts:
                offered = None if funds is None else funds.get(debt, 0)
                for collateral in collaterals:
                    side = sides[collateral]
                    if not owed[debt][row] or not flags[row] >> 2 * side.id + 1 & 1:
                        continue
                    claim = Claim(
                        owed=owed[debt][row],
                        held=supplied[collateral][row],
                        offered=offered,
                        health_factor_wad=factor,
                        total_debt_usd_e8=totals[row],
                        debt=sides[debt].priced,
                        collateral=side.priced,
                        bonus_bps=bonuses.get(modes[row], {}).get(side.address, side.bonus_bps),
                        fee_bps=side.fee_bps,
                    )
                    if done := rules.liquidation(claim):
                        amounts = done.covered, done.covered, done.seized, done.asks
                        found.append(LiquidationQuote(borrower, collateral, debt, *amounts))
        return found

    def liquidate(self, liquidator: bytes, quote: LiquidationQuote) -> LiquidationResult:
        """Repay the quoted part of the borrower's debt and take the collateral."""
        seized, repaid = self.asset(quote.collateral).address, self.asset(quote.debt).address
        receipt, done = self.market.account(liquidator).send_liquidation(quote.borrower, seized, repaid, quote.asks)
        deficit_e8 = self.deficit_e8(receipt, quote.borrower)
        return LiquidationResult(done.covered, done.covered, done.seized, deficit_e8=deficit_e8)

    def deficit_e8(self, receipt: Receipt, borrower: bytes) -> int:
        """Return the value of the borrower's debts that a liquidation burnt without being repaid; 0 before V3.3."""
        if not self.market.generation.deficits:
            return 0
        total, rules = 0, self.rules
        for event in self.market.pool.events(receipt, "DeficitCreated"):
            if event.args.user == borrower:
                symbol = Erc20(self.fork, event.args.debtAsset).symbol
                total += rules.debt_usd_e8(event.args.amount, self.price_e8(symbol), int(10 ** self.decimals(symbol)))
        return total

    def _asset_states(self, assets: tuple[str, ...]) -> dict[str, AssetState]:
        key = "asset states", self.market.pool.address, assets
        return self.fork.read_once(key, lambda: {each: AssetState.of(self, each) for each in assets})

    def _balances(self, token: Erc20, holders: Accounts) -> list[int]:
        return self._column(token.contract, "balanceOf", holders)

    def _explained(self, error: CallReverted, holder: bytes, arguments: tuple[object, ...]) -> CallReverted:
        """Return the error of a supply with its cause."""
        return explain(self.market.account(holder), error, "supply", arguments)

    def _emodes(self, borrowers: Accounts) -> list[int]:
        return self._column(self.market.pool, "getUserEMode", borrowers)

    def _column(self, contract: Contract, function: str, accounts: Accounts) -> list[int]:
        calldata = contract[function].encode(bytes(20))
        return self.fork.call_words(contract.address, calldata, {4: accounts}, returns=1)[0].ints()

    def _mode_bonuses(self, mode: int) -> dict[bytes, int]:
        bonus = self.market.emode(mode).liquidation_bonus_bps
        return dict.fromkeys(self.market.emode_collateral(mode), bonus)


def _accounts(addresses: Sequence[bytes]) -> Accounts:
    words = known_address_words(tuple(addresses)) if len(addresses) > FEW_CALLS else None
    return list(addresses) if words is None else words


class AssetState(NamedTuple):
    """Current data of an asset needed for a liquidation."""

    address: bytes
    id: int
    priced: Priced
    bonus_bps: int
    fee_bps: int

    @classmethod
    def of(cls, lending: AaveLending, symbol: str) -> AssetState:
        """Read the data of `symbol`."""
        asset = lending.asset(symbol)
        terms = Configuration.of(lending.market.configuration_word(asset.address))
        return cls(
            asset.address,
            asset.id,
            Priced(lending.price_e8(symbol), int(10**asset.decimals)),
            terms.liquidation_bonus_bps,
            terms.liquidation_protocol_fee_bps,
        )


def _health(data: AccountData, rules: RulesV30) -> Health:
    collateral, debt, _, threshold_bps, ltv_bps, factor_wad = data
    limit = rules.limit_usd_e8(collateral, threshold_bps)
    return _HEALTH((collateral, debt, limit, rules.borrow_limit_usd_e8(collateral, ltv_bps), limit, factor_wad))

"""Aave V3 and SparkLend as a `LendingMarket`: liquidated by paying a debt, up to the close factor, for collateral."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mayavi.agents.lending import Health, Healths, Prize, Taken, saturated
from mayavi.errors import BadArgument, BadInteger
from mayavi.evm.fleet import Words
from mayavi.evm.units import RAY
from mayavi.protocols.aave_reserve import Configuration
from mayavi.protocols.aave_v3 import CLOSE_FACTOR_BPS, FULL_CLOSE_BELOW_WAD, AaveV3
from mayavi.protocols.tokens import Erc20, undone_on_failure

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt
    from mayavi.protocols.aave_account import AaveAccount

_ALL_BPS = 10_000


class AaveLendingAccount:
    """An `AaveAccount`, or one on Spark, as a `LendingAccount`."""

    def __init__(self, account: AaveAccount) -> None:
        self.account = account
        self.address = account.address

    def supply(self, asset: str, amount: int) -> Receipt:
        """Put up `amount` as collateral."""
        return self.account.supply(asset, amount)

    def withdraw(self, asset: str, amount: int | None = None) -> Receipt:
        """Take collateral back: `amount`, or all."""
        return self.account.withdraw(asset, amount)

    def borrow(self, asset: str, amount: int) -> Receipt:
        """Borrow `amount` at the variable rate."""
        return self.account.borrow(asset, amount)

    def repay(self, asset: str, amount: int | None = None) -> Receipt:
        """Pay back `amount` of the debt, or all of it."""
        return self.account.repay(asset, amount)

    def supplied(self, asset: str) -> int:
        """How much of `asset` it has put up."""
        return self.account.supplied(asset)

    def debt(self, asset: str) -> int:
        """How much of `asset` it owes."""
        return self.account.debt(asset)

    def health(self) -> Health:
        """How it stands."""
        data = self.account.data()
        return _health(
            data.collateral_usd_e8,
            data.debt_usd_e8,
            data.liquidation_threshold_bps,
            data.ltv_bps,
            data.health_factor_wad,
        )


class AaveLending:
    """An Aave V3 market, or SparkLend, for agents. Its prizes are the pool's own arithmetic, to the unit."""

    def __init__(self, market: AaveV3) -> None:
        self.market = market
        self.name = market.prefix
        self._decimals: dict[str, int] = {}
        self.quote = "USD"

    @property
    def fork(self) -> Fork:
        """The chain it is on."""
        return self.market.fork

    def account(self, address: bytes) -> AaveLendingAccount:
        """The account at `address`."""
        return AaveLendingAccount(self.market.account(address))

    def healths(self, addresses: Sequence[bytes]) -> Healths:
        """How many accounts stand, read at once."""
        data = self.market.account_data(addresses)
        limit, most = _limits(data.collateral_usd_e8, data.liquidation_threshold_bps, data.ltv_bps)
        return Healths(
            collateral_value_e8=data.collateral_usd_e8,
            debt_value_e8=data.debt_usd_e8,
            limit_e8=limit,
            borrow_limit_e8=most,
            withdraw_limit_e8=limit,
            health_factor_wad=data.health_factor_wad,
            factors=saturated(data.health_factor_wad),
            liquidatable=data.liquidatable,
        )

    def price_e8(self, asset: str) -> int:
        """What one whole `asset` is worth, in dollars."""
        return self.market.price_usd_e8(asset)

    def decimals(self, asset: str) -> int:
        """Decimal places of the smallest unit of `asset`; a token's never change."""
        found = self._decimals.get(asset)
        if found is None:
            found = self._decimals[asset] = self.market.token(asset).decimals
        return found

    def loan_of(self, asset: str, value_e8: int) -> int:
        """The largest loan valued at no more than `value_e8`: debts are kept in shares, which round to the nearest."""
        unit, price = int(10 ** self.decimals(asset)), self.price_e8(asset)
        most = ((value_e8 + 1) * unit - 1) // price
        index: int = self.market.pool.getReserveNormalizedVariableDebt(self.market.address_of(asset))
        amount = most
        while amount > 0 and _owed(amount, index) > most:
            amount -= 1
        return amount

    def supply_for(self, asset: str, amounts: Sequence[int], holders: Sequence[bytes], payer: bytes) -> None:
        """Put up collateral for many accounts out of the balance of `payer`."""
        token, pool = self.market.token(asset), self.market.pool
        with undone_on_failure(self.fork):
            token.require(payer, sum(amounts))
            token.approve(pool.address, sum(amounts), sender=payer)
            for amount, holder in zip(amounts, holders, strict=True):
                pool.supply(token.address, amount, holder, 0, sender=payer)

    # -- liquidation --------------------------------------------------------------------------------------------------

    def prizes(
        self,
        borrowers: Sequence[bytes],
        health_factors_wad: Sequence[int],
        collaterals: Sequence[str],
        debts: Sequence[str],
        funds: dict[str, int] | None = None,
    ) -> list[Prize]:
        """The most that liquidations of each of `borrowers` may take now: half of a debt, all of it below 0.95."""
        if not borrowers:
            return []
        sides = {asset: _Side.of(self.market, asset) for asset in {*collaterals, *debts}}
        flags = self._column(self.market.pool.address, "getUserConfiguration", borrowers)
        modes = self._column(self.market.pool.address, "getUserEMode", borrowers)
        bonuses = {mode: self._mode_bonuses(mode) for mode in set(modes) if mode}
        supplied = {asset: self._column(sides[asset].a_token, "balanceOf", borrowers) for asset in collaterals}
        owed = {asset: self._column(sides[asset].debt_token, "balanceOf", borrowers) for asset in debts}
        found = []
        for row, (borrower, factor) in enumerate(zip(borrowers, health_factors_wad, strict=True)):
            share = CLOSE_FACTOR_BPS if factor > FULL_CLOSE_BELOW_WAD else _ALL_BPS
            for debt in debts:
                most = (owed[debt][row] * share + _ALL_BPS // 2) // _ALL_BPS
                most = most if funds is None else min(most, funds.get(debt, 0))
                for collateral in collaterals:
                    side, held = sides[collateral], supplied[collateral][row]
                    if not most or not held or not flags[row] >> 2 * side.id + 1 & 1:
                        continue
                    bonus = bonuses.get(modes[row], {}).get(side.address, side.bonus_bps)
                    cover, seized = _seized(most, held, sides[debt], side, bonus)
                    if cover and seized:
                        found.append(Prize(borrower, collateral, debt, cover, cover, seized, most))
        return found

    def liquidate(self, liquidator: bytes, prize: Prize) -> Taken:
        """Repay what `prize` says of the borrower's debt, and take the collateral for it."""
        account = self.market.account(liquidator)
        done = account.liquidate(prize.borrower, prize.collateral, prize.debt, prize.asks)
        return Taken(done.covered, done.covered, done.seized)

    def _column(self, place: bytes, function: str, accounts: Sequence[bytes]) -> list[int]:
        contract = self.market.pool if place == self.market.pool.address else Erc20(self.fork, place).contract
        calldata = contract[function].encode(bytes(20))
        return self.fork.call_words(place, calldata, {4: list(accounts)}, returns=1)[0].ints()

    def _mode_bonuses(self, mode: int) -> dict[bytes, int]:
        bonus = self.market.emode(mode).liquidation_bonus_bps
        return dict.fromkeys(self.market.emode_collateral(mode), bonus)


class _Side(NamedTuple):
    """What a liquidation needs to know of an asset."""

    address: bytes
    id: int
    a_token: bytes
    debt_token: bytes
    price: int
    unit: int
    bonus_bps: int
    fee_bps: int

    @classmethod
    def of(cls, market: AaveV3, asset: str) -> _Side:
        address = market.address_of(asset)
        data = market.reserve_data(address)
        configuration = Configuration.of(data.configuration)
        return cls(
            address,
            data.id,
            data.aToken,
            data.variableDebtToken,
            market.price_usd_e8(address),
            10**configuration.decimals,
            configuration.liquidation_bonus_bps,
            configuration.liquidation_protocol_fee_bps,
        )


def _seized(cover: int, held: int, debt: _Side, collateral: _Side, bonus_bps: int) -> tuple[int, int]:
    """What is repaid and what the liquidator gets, as the pool computes it; percentages round to the nearest."""
    if not bonus_bps:
        return 0, 0
    wanted = _percent(debt.price * cover * collateral.unit // (collateral.price * debt.unit), bonus_bps)
    if wanted > held:
        wanted = held
        cover = _per_percent(collateral.price * held * debt.unit // (debt.price * collateral.unit), bonus_bps)
    fee = _percent(wanted - _per_percent(wanted, bonus_bps), collateral.fee_bps)
    return cover, wanted - fee


def _percent(value: int, bps: int) -> int:
    return (value * bps + _ALL_BPS // 2) // _ALL_BPS


def _per_percent(value: int, bps: int) -> int:
    return (value * _ALL_BPS + bps // 2) // bps


def _owed(amount: int, index_ray: int) -> int:
    """What a loan of `amount` is right after it: shares at this index, and back."""
    shares = (amount * RAY + index_ray // 2) // index_ray
    return (shares * index_ray + RAY // 2) // RAY


def _health(collateral: int, debt: int, threshold_bps: int, ltv_bps: int, factor: int) -> Health:
    # The pool asks for collateral of debt / ltv, rounded to the nearest: the largest debt that passes.
    most = max(0, (collateral + 1) * ltv_bps - 1 - ltv_bps // 2) // _ALL_BPS
    limit = _percent(collateral, threshold_bps)
    return Health(collateral, debt, limit, most, limit, factor)


def _limits(collateral: Words, threshold_bps: Words, ltv_bps: Words) -> tuple[Words, Words]:
    """The two limits of `_health` for many accounts at once, to the unit: no product is larger than its result."""
    try:
        values, threshold, most = (each.uint64().astype(np.int64) for each in (collateral, threshold_bps, ltv_bps))
    except BadInteger:
        values = np.array([-1])
    if ((values < 0) | (values >= 2**62)).any():  # beyond 46 billion dollars
        rows = zip(collateral.ints(), threshold_bps.ints(), ltv_bps.ints(), strict=True)
        slow = [_health(value, 0, over, ltv, 0) for value, over, ltv in rows]
        return Words.of([each.limit_e8 for each in slow]), Words.of([each.borrow_limit_e8 for each in slow])
    whole, rest = np.divmod(values, _ALL_BPS)
    limit = whole * threshold + (rest * threshold + _ALL_BPS // 2) // _ALL_BPS
    whole, rest = np.divmod(values + 1, _ALL_BPS)
    borrowable = np.maximum(0, whole * most + (rest * most - 1 - most // 2) // _ALL_BPS)
    return Words.of(limit), Words.of(borrowable)


def require_aave(market: object, what: str) -> AaveLending:
    """`market`, which must run Aave's code; `BadArgument` with what asked for it otherwise."""
    if not isinstance(market, AaveLending):
        name = getattr(market, "name", market)
        raise BadArgument(f"{what} is taken from Aave, and {name} is none", "use AaveV3 or Spark, or leave it away")
    return market

"""State of an account on an Aave V3 market: balances, debts, health, position and liquidation prices."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from mayavi.errors import CallReverted
from mayavi.evm.abi.interface import Function
from mayavi.evm.address import ZERO_ADDRESS, AddressLike
from mayavi.protocols.aave.account_data import SIZE, AccountData
from mayavi.protocols.aave.reserve import fraction
from mayavi.protocols.aave.reverts import explain_missing_prices
from mayavi.protocols.aave.risk import Holding, liquidation_price
from mayavi.protocols.health import NO_DEBT
from mayavi.protocols.tokens import Erc20

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.protocols.aave.market import AaveV3

_ACCOUNT_DATA = Function.parse("getUserAccountData(address)").selector + bytes(12)  # the address to follow


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


class _Line(NamedTuple):
    """Raw data of an account in one reserve."""

    token: Erc20
    supplied: int
    debt: int
    used_as_collateral: bool
    holding: Holding
    own_price: bool


class AccountState:
    """Reads of an account: balances, debts, health, and the whole position."""

    market: AaveV3
    address: bytes

    @property
    def _fork(self) -> Fork:
        return self.market.fork

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


def _index(lines: Sequence[_Line], asset: bytes) -> int | None:
    return next((at for at, line in enumerate(lines) if line.token.address == asset), None)


def _has_liquidation_price(line: _Line) -> bool:
    return line.used_as_collateral and line.own_price and line.supplied > 0

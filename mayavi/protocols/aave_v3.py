"""Aave V3: supply, borrow, and read what a position and a reserve look like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mayavi.evm.address import AddressLike, to_address

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt

_POOL = [
    "supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode)",
    "borrow(address asset, uint256 amount, uint256 interestRateMode, uint16 referralCode, address onBehalfOf)",
    "getUserAccountData(address user) view returns (uint256 collateral, uint256 debt, uint256 available,"
    " uint256 threshold, uint256 ltv, uint256 healthFactor)",
    "getReserveData(address asset) view returns (((uint256), uint128, uint128, uint128, uint128, uint128, uint40,"
    " uint16, address, address, address, address, uint128, uint128, uint128))",
]
_ORACLE = ["getAssetPrice(address asset) view returns (uint256)"]
_TOKEN = ["approve(address spender, uint256 amount)", "balanceOf(address owner) view returns (uint256)"]
_VARIABLE_RATE = 2


class Position(NamedTuple):
    """An account as the pool sees it. Without debt the health factor is the largest integer there is."""

    collateral_usd_e8: int
    debt_usd_e8: int
    available_usd_e8: int
    liquidation_threshold_bps: int
    ltv_bps: int
    health_factor_wad: int


class Rates(NamedTuple):
    """A reserve's yearly rates, in ray: what suppliers earn and what borrowers at the variable rate pay."""

    supply_ray: int
    borrow_ray: int


class AaveV3:
    """The Aave V3 market of the chain that `fork` stands on. Assets are names of `fork.labels` or addresses."""

    def __init__(self, fork: Fork) -> None:
        self.fork = fork
        self.pool = fork.contract("AaveV3.Pool", _POOL)
        self.oracle = fork.contract("AaveV3.Oracle", _ORACLE)

    def supply(self, asset: AddressLike, amount: int, user: AddressLike) -> Receipt:
        """Approve and supply `amount` of `asset` from `user`'s balance; it becomes collateral where Aave allows."""
        token = self.fork.contract(asset, _TOKEN)
        token.approve(self.pool.address, amount, sender=user)
        receipt: Receipt = self.pool.supply(token.address, amount, to_address(user), 0, sender=user)
        return receipt

    def borrow(self, asset: AddressLike, amount: int, user: AddressLike) -> Receipt:
        """Borrow `amount` of `asset` at the variable rate."""
        token = self.fork.address_of(asset)
        receipt: Receipt = self.pool.borrow(token, amount, _VARIABLE_RATE, 0, to_address(user), sender=user)
        return receipt

    def position(self, user: AddressLike) -> Position:
        """What `user` holds and owes, all reserves together, at the oracle's prices."""
        return Position(*self.pool.getUserAccountData(to_address(user)))

    def debt(self, asset: AddressLike, user: AddressLike) -> int:
        """What `user` owes of `asset` at the variable rate, interest up to this block included."""
        variable_debt_token = self._reserve(asset)[10]
        owed: int = self.fork.contract(variable_debt_token, _TOKEN).balanceOf(to_address(user))
        return owed

    def rates(self, asset: AddressLike) -> Rates:
        """The rates that have run since somebody last touched the reserve of `asset`."""
        reserve = self._reserve(asset)
        return Rates(supply_ray=reserve[2], borrow_ray=reserve[4])

    def price_usd_e8(self, asset: AddressLike) -> int:
        """The price of one whole `asset` that the pool works with."""
        price: int = self.oracle.getAssetPrice(self.fork.address_of(asset))
        return price

    def _reserve(self, asset: AddressLike) -> tuple[Any, ...]:
        reserve: tuple[Any, ...] = self.pool.getReserveData(self.fork.address_of(asset))
        return reserve

"""Change the parameters of an Aave V3 market the way its governance does: through the PoolConfigurator.

The market's own administrator sends the transactions, so the protocol checks every value and refuses as on chain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from mayavi.errors import BadArgument, CallReverted, StateError
from mayavi.evm.address import ZERO_ADDRESS, AddressLike
from mayavi.evm.hashing import keccak_text
from mayavi.evm.units import format_units
from mayavi.protocols.revert_context import with_context
from mayavi.protocols.tokens import atomic

if TYPE_CHECKING:
    from mayavi.evm.abi.contract import Contract
    from mayavi.protocols.aave.market import AaveV3

_PROVIDER = [
    "getPoolConfigurator() view returns (address)",
    "getACLAdmin() view returns (address)",
    "getACLManager() view returns (address)",
]
_ACL = ["isPoolAdmin(address admin) view returns (bool)", "addPoolAdmin(address admin)"]
_CONFIGURATOR = [
    "configureReserveAsCollateral(address asset, uint256 ltv, uint256 threshold, uint256 bonus)",
    "setReserveFactor(address asset, uint256 factor)",
    "setLiquidationProtocolFee(address asset, uint256 fee)",
    "setSupplyCap(address asset, uint256 cap)",
    "setBorrowCap(address asset, uint256 cap)",
    "setDebtCeiling(address asset, uint256 ceiling)",
    "setReserveBorrowing(address asset, bool enabled)",
    "setReserveFreeze(address asset, bool freeze)",
    "setReservePause(address asset, bool paused)",
]
# Up to V3.1 a category may have a price source; since V3.2 it has none.
_EMODE_WITH_SOURCE = [
    "setEModeCategory(uint8 id, uint16 ltv, uint16 threshold, uint16 bonus, address source, string label)"
]
_EMODE = ["setEModeCategory(uint8 id, uint16 ltv, uint16 threshold, uint16 bonus, string label)"]
# Up to V3.1 an asset is in one mode at most; since V3.2 a mode lists its collateral.
_JOIN_ONE = ["setAssetEModeCategory(address asset, uint8 id)"]
_JOIN = ["setAssetCollateralInEMode(address asset, uint8 id, bool allowed)"]
_SOURCES = [
    "getSourceOfAsset(address asset) view returns (address)",
    "setAssetSources(address[] assets, address[] sources)",
]
_COLLATERAL = ("ltv_bps", "liquidation_threshold_bps", "liquidation_bonus_bps")
_SETTERS = {
    "reserve_factor_bps": "setReserveFactor",
    "liquidation_protocol_fee_bps": "setLiquidationProtocolFee",
    "supply_cap": "setSupplyCap",
    "borrow_cap": "setBorrowCap",
    "debt_ceiling_usd_e2": "setDebtCeiling",
    "borrowing": "setReserveBorrowing",
    "frozen": "setReserveFreeze",
    "paused": "setReservePause",
}
_LOW_FEED = keccak_text("mayavi.low_price_feed")[-20:]

Cause = tuple[str, str | None]
"""Rule that values break, and a hint."""
Values = Mapping[str, int]
"""Values by parameter. Rates and factors are in basis points; caps are in whole tokens, 0 for none."""


class AaveConfigurator:
    """Administration of an Aave V3 or Spark market.

        AaveConfigurator(market).set_reserve("WETH", {"liquidation_threshold_bps": 8_100})

    A refused value raises `CallReverted` with the market's reason and the values involved; nothing has changed then.
    """

    def __init__(self, market: AaveV3) -> None:
        self.market, self.fork = market, market.fork

    @cached_property
    def _provider(self) -> Contract:
        return self.fork.contract(self.market.pool.ADDRESSES_PROVIDER(), _PROVIDER)

    @cached_property
    def admin(self) -> bytes:
        """Administrator of the market; as on chain, it may make itself an administrator of the pool."""
        admin: bytes = self._provider.getACLAdmin()
        acl = self.fork.contract(self._provider.getACLManager(), _ACL)
        if not acl.isPoolAdmin(admin):
            acl.addPoolAdmin(admin, sender=admin)
        return admin

    @property
    def address(self) -> bytes:
        """The market's PoolConfigurator."""
        place: bytes = self._provider.getPoolConfigurator()
        return place

    def _contract(self, abi: Sequence[str]) -> Contract:
        return self.fork.contract(self.address, abi)

    # -- reserves -----------------------------------------------------------------------------------------------------

    def reserve_values(self, asset: AddressLike) -> dict[str, int]:
        """Return the current values of all parameters that `set_reserve` takes."""
        own = self.market.configuration(self.market.reserve_data(self.market.address_of(asset)))
        unit = int(10**own.decimals)
        ceiling = {"debt_ceiling_usd_e2": own.debt_ceiling_usd_e2 or 0} if self.market.generation.isolation else {}
        return {
            **{name: getattr(own, name) for name in _COLLATERAL},
            "reserve_factor_bps": own.reserve_factor_bps,
            "liquidation_protocol_fee_bps": own.liquidation_protocol_fee_bps,
            "supply_cap": (own.supply_cap or 0) // unit,
            "borrow_cap": (own.borrow_cap or 0) // unit,
            **ceiling,
            "borrowing": int(own.borrowing),
            "frozen": int(own.frozen),
            "paused": int(own.paused),
        }

    def set_reserve(self, asset: AddressLike, values: Values) -> None:
        """Set parameters of a reserve, all or none; those not named keep their values."""
        address, symbol = self.market.address_of(asset), self.market.token(asset).symbol
        before = self.reserve_values(address)
        _check_names(values, before)
        wanted, contract = before | dict(values), self._contract(_CONFIGURATOR)
        with atomic(self.fork):
            if any(name in values for name in _COLLATERAL):
                chosen = [wanted[name] for name in _COLLATERAL]
                with self._explained(f"the collateral parameters of {symbol}", lambda: _mismatch(wanted)):
                    contract.configureReserveAsCollateral(address, *chosen, sender=self.admin)
            for name, function in _SETTERS.items():
                if name in values:
                    value = bool(values[name]) if name in ("borrowing", "frozen", "paused") else values[name]
                    with self._explained(f"{name} = {values[name]:,} of {symbol}", lambda: None):
                        contract[function](address, value, sender=self.admin)

    # -- efficiency modes ---------------------------------------------------------------------------------------------

    def emode_values(self, category: int) -> dict[str, int]:
        """Return the current values of an efficiency mode; raise `UnknownName` if it is not configured."""
        mode = self.market.emode(category)
        return {name: getattr(mode, name) for name in _COLLATERAL}

    def set_emode(self, category: int, values: Values) -> None:
        """Set parameters of an efficiency mode; those not named keep their values."""
        before, mode, generation = self.emode_values(category), self.market.emode(category), self.market.generation
        if not generation.isolation:
            raise BadArgument(
                f"efficiency modes of version {generation.version} have a setting that is not known here",
                "change the mode with the market's PoolConfigurator",
            )
        _check_names(values, before)
        wanted = before | dict(values)
        numbers = [wanted[name] for name in _COLLATERAL]
        text = f"eMode {category} ({mode.label})"
        with (
            atomic(self.fork),
            self._explained(text, lambda: _mismatch(wanted) or self._above_members(wanted, mode.assets)),
        ):
            if not generation.emode_bitmaps:
                source = mode.price_source or ZERO_ADDRESS
                contract = self._contract(_EMODE_WITH_SOURCE)
                contract.setEModeCategory(category, *numbers, source, mode.label, sender=self.admin)
            else:
                self._contract(_EMODE).setEModeCategory(category, *numbers, mode.label, sender=self.admin)

    def join_emode(self, asset: AddressLike, category: int) -> None:
        """Make `asset` collateral of an efficiency mode. Up to V3.1 it leaves the mode it was in."""
        address, symbol = self.market.address_of(asset), self.market.token(asset).symbol
        values, text = self.emode_values(category), f"{symbol} in eMode {category}"
        with atomic(self.fork), self._explained(text, lambda: self._above_members(values, [symbol])):
            if self.market.generation.emode_bitmaps:
                self._contract(_JOIN).setAssetCollateralInEMode(address, category, True, sender=self.admin)
            else:
                self._contract(_JOIN_ONE).setAssetEModeCategory(address, category, sender=self.admin)

    def _above_members(self, wanted: Values, members: Iterable[str]) -> Cause | None:
        for symbol in members:
            own = self.reserve_values(symbol)
            for name in _COLLATERAL[:2]:
                if wanted[name] <= own[name]:
                    text = (
                        f"a {_word(name)} of {_percent(wanted[name])} is not above {symbol}'s own {_percent(own[name])}"
                    )
                    return text, "set a higher one, or lower that of the reserve"
        return None

    # -- price sources ------------------------------------------------------------------------------------------------

    @contextmanager
    def priced_near_zero(self, assets: Sequence[AddressLike]) -> Iterator[None]:
        """Context in which the market's oracle values `assets` at a hundred-millionth of a dollar.

        The administrator points the oracle at another price source and, at the end, back at the old ones; price feeds
        are not touched.
        """
        if not self.fork.code(_LOW_FEED):
            from mayavi.worlds.artifacts import ArtifactStore

            initcode = ArtifactStore().get("PriceFeed").initcode(["low", 8, 1, 1, self.fork.timestamp, self.admin])
            self.fork.create_at(_LOW_FEED, initcode)
        oracle = self.fork.contract(self.market.oracle.address, _SOURCES)
        places = [self.market.address_of(asset) for asset in assets]
        prices = [self.market.price_usd_e8(place) for place in places]
        sources = [oracle.getSourceOfAsset(place) for place in places]
        oracle.setAssetSources(places, [_LOW_FEED] * len(places), sender=self.admin)
        try:
            yield
        finally:
            oracle.setAssetSources(places, sources, sender=self.admin)
        if [self.market.price_usd_e8(place) for place in places] != prices:
            raise StateError(f"the prices of {self.market.title} are not what they were before")

    @contextmanager
    def _explained(self, what: str, cause: Callable[[], Cause | None]) -> Iterator[None]:
        try:
            yield
        except CallReverted as error:
            meaning, hint = cause() or ("", None)
            raise with_context(error, hint, what=what, meaning=meaning) from None


def _check_names(values: Values, known: Mapping[str, int]) -> None:
    for name in values:
        if name not in known:
            raise BadArgument(f"'{name}' is not a parameter here", f"there are: {', '.join(known)}")


def _mismatch(wanted: Values) -> Cause | None:
    """Return which rule of Aave the three collateral parameters break, if any."""
    ltv, threshold, bonus = (wanted[name] for name in _COLLATERAL)
    if ltv > threshold:
        text = f"a liquidation threshold of {_percent(threshold)} is below the loan to value of {_percent(ltv)}"
        return text, "set both, the loan to value at most at the threshold"
    if threshold and bonus <= 10_000:
        return "a reserve that is collateral needs a liquidation bonus above zero", None
    if threshold * bonus > 10_000 * 10_000:
        bonus_text = _percent(bonus - 10_000)
        text = f"a threshold of {_percent(threshold)} with a bonus of {bonus_text} would seize more than there is"
        return text, "lower one of them: threshold × (1 + bonus) is at most 100 %"
    if not threshold and bonus:
        return "without a threshold the bonus has to be zero, and nothing may be supplied", None
    return None


def _word(name: str) -> str:
    return name.removesuffix("_bps").replace("_", " ").replace("ltv", "loan to value")


def _percent(bps: int) -> str:
    return f"{format_units(bps, 2)} %"

"""Change the parameters of a replica's Compound V3 market.

On chain the Configurator deploys a new implementation with the new configuration, and the market's proxy changes over
to it: the code changes, the storage stays. A replica has no proxy. There the constructor of the same code runs with the
new configuration, which it checks as on chain, and its code replaces that of the market.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mayavi.errors import BadArgument, CallReverted, UsageError
from mayavi.protocols.compound.market import YEAR_SECONDS
from mayavi.protocols.revert_context import with_context
from mayavi.protocols.tokens import atomic

if TYPE_CHECKING:
    from mayavi.protocols.compound.market import CompoundV3

_IMPLEMENTATION_SLOT = 0x360894A13BA1A3210667C828492DB98DCA3E2076CC3735A920A3CA505D382BBC  # EIP-1967
_ADDRESSES = ("governor", "pauseGuardian", "baseToken", "baseTokenPriceFeed", "extensionDelegate")
_KINKS = ("supplyKink", "borrowKink")
_RATES = ("SlopeLow", "SlopeHigh", "Base")
_NUMBERS = (
    "storeFrontPriceFactor",
    "trackingIndexScale",
    "baseTrackingSupplySpeed",
    "baseTrackingBorrowSpeed",
    "baseMinForRewards",
    "baseBorrowMin",
    "targetReserves",
)
_ABI = [
    "name() view returns (string)",
    "symbol() view returns (string)",
    *(f"{name}() view returns (address)" for name in _ADDRESSES),
    *(f"{name}() view returns (uint256)" for name in (*_KINKS, *_NUMBERS)),
    *(
        f"{side}PerSecondInterestRate{part}() view returns (uint256)"
        for side in ("supply", "borrow")
        for part in _RATES
    ),
]
_MARKET = {
    "store_front_price_factor_wad": "storeFrontPriceFactor",
    "minimum_borrow": "baseBorrowMin",
    "target_reserves": "targetReserves",
}
_ASSET = (
    "borrow_collateral_factor_wad",
    "liquidate_collateral_factor_wad",
    "liquidation_factor_wad",
    "supply_cap",
)

Values = Mapping[str, int]
"""Values by parameter; factors have 18 decimals, amounts are in smallest units."""


class CometConfigurator:
    """Configuration of a Compound V3 market on a replica.

    ```python
    CometConfigurator(market).set_asset("WETH", {"liquidate_collateral_factor_wad": 88 * 10**16})
    ```
    """

    def __init__(self, market: CompoundV3) -> None:
        self.market, self.fork = market, market.fork
        if self.fork.storage(market.address, _IMPLEMENTATION_SLOT):
            raise UsageError(
                f"{market.symbol} of this world is a proxy of the real chain, whose parameters are not changed here",
                "use a replica of the chain",
            )
        self._contract = self.fork.contract(market.address, _ABI)

    def market_values(self) -> dict[str, int]:
        """Return the current values of the parameters that `set_market` takes."""
        return {name: int(self._contract[function]()) for name, function in _MARKET.items()}

    def asset_values(self, asset: str) -> dict[str, int]:
        """Return the current values of the parameters that `set_asset` takes."""
        found = self.market.asset(asset)
        return {name: int(getattr(found, name)) for name in _ASSET}

    def set_market(self, values: Values) -> None:
        """Set parameters of the whole market."""
        _check_names(values, self.market_values())
        self._upgrade({_MARKET[name]: value for name, value in values.items()}, "", {})

    def set_asset(self, asset: str, values: Values) -> None:
        """Set parameters of one collateral asset."""
        _check_names(values, self.asset_values(asset))
        self._upgrade({}, self.market.asset(asset).symbol, values)

    def _upgrade(self, numbers: Values, asset: str, values: Values) -> None:
        from mayavi.worlds.artifacts import ArtifactStore

        own = self._contract
        arguments = self._configuration(numbers, asset, values), own["name"](), own["symbol"]()
        initcode = ArtifactStore().get("Comet").initcode(arguments)
        with atomic(self.fork):
            try:
                implementation = self.fork.deploy(initcode, sender=own.governor())
            except CallReverted as error:
                raise with_context(error, None, what=f"a new configuration of {self.market.symbol}") from None
            self.fork.set_code(self.market.address, self.fork.code(implementation))

    def _configuration(self, numbers: Values, asset: str, values: Values) -> tuple[object, ...]:
        own = self._contract

        def curve(side: str) -> list[int]:
            # The contract stores rates per second, rounded down: a year of them gives the same again.
            yearly = [int(own[f"{side}PerSecondInterestRate{part}"]()) * YEAR_SECONDS for part in _RATES]
            return [int(own[f"{side}Kink"]()), *yearly]

        return (
            *(own[name]() for name in _ADDRESSES),
            *curve("supply"),
            *curve("borrow"),
            *(numbers.get(name, int(own[name]())) for name in _NUMBERS),
            [self._asset_configuration(each, values if each.symbol == asset else {}) for each in self.market.assets],
        )

    def _asset_configuration(self, asset: Any, values: Values) -> tuple[object, ...]:
        chosen = (values.get(name, int(getattr(asset, name))) for name in _ASSET)
        return (asset.address, asset.price_feed, asset.decimals, *chosen)


def _check_names(values: Values, known: Mapping[str, int]) -> None:
    for name in values:
        if name not in known:
            raise BadArgument(f"'{name}' is not a parameter here", f"there are: {', '.join(known)}")

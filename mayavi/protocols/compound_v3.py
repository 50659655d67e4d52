"""Compound V3: markets that lend one base token against collateral, each a single contract («Comet»).

    comet = CompoundV3(fork)                        # the chain's USDC market; CompoundV3(fork, "cWETHv3") another
    bob = comet.account(address)
    bob.supply("WETH", 10**18)
    bob.borrow(1_000 * 10**6)
    print(bob.health_factor, comet.rates().borrow_rate)

Amounts are integers in a token's smallest unit, factors and ratios have 18 decimals (`_wad`). Prices and values have 8
(`_e8`), in the currency of the market's own price feeds, `quote`: US dollars, but ETH where the base token is WETH.
Rewards in COMP are left out: they are paid by another contract, CometRewards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from mayavi.errors import UnknownName
from mayavi.evm.address import AddressLike, checksum
from mayavi.evm.arguments import word
from mayavi.evm.units import from_units
from mayavi.protocols.tokens import Erc20, spending, undone_on_failure

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt
    from mayavi.protocols.compound_account import AccountArrays, CompoundV3Account

WAD = 10**18
PRICE_SCALE = 10**8
INDEX_SCALE = 10**15
YEAR_SECONDS = 31_536_000
PREFIX = "CompoundV3."

_INFO = (
    "(uint8 offset, address asset, address priceFeed, uint64 scale, uint64 borrowCollateralFactor,"
    " uint64 liquidateCollateralFactor, uint64 liquidationFactor, uint128 supplyCap)"
)
_COMET = [
    "symbol() view returns (string)",
    "baseToken() view returns (address)",
    "baseTokenPriceFeed() view returns (address)",
    "baseScale() view returns (uint256)",
    "baseBorrowMin() view returns (uint256)",
    "numAssets() view returns (uint8)",
    f"getAssetInfo(uint8 i) view returns ({_INFO} info)",
    "getPrice(address priceFeed) view returns (uint256)",
    "getUtilization() view returns (uint256)",
    "getSupplyRate(uint256 utilization) view returns (uint64)",
    "getBorrowRate(uint256 utilization) view returns (uint64)",
    "getReserves() view returns (int256)",
    "targetReserves() view returns (uint256)",
    "storeFrontPriceFactor() view returns (uint256)",
    "getCollateralReserves(address asset) view returns (uint256)",
    "totalSupply() view returns (uint256)",
    "totalBorrow() view returns (uint256)",
    "totalsBasic() view returns ((uint64 baseSupplyIndex, uint64 baseBorrowIndex, uint64 trackingSupplyIndex,"
    " uint64 trackingBorrowIndex, uint104 totalSupplyBase, uint104 totalBorrowBase, uint40 lastAccrualTime,"
    " uint8 pauseFlags) totals)",
    "totalsCollateral(address asset) view returns (uint128 totalSupplyAsset, uint128 reserved)",
    *(f"is{what}Paused() view returns (bool)" for what in ("Supply", "Transfer", "Withdraw", "Absorb", "Buy")),
    "quoteCollateral(address asset, uint256 baseAmount) view returns (uint256)",
    "userBasic(address account) view returns (int104 principal, uint64 trackingIndex, uint64 trackingAccrued,"
    " uint16 assetsIn, uint8 reserved)",
    "userCollateral(address account, address asset) view returns (uint128 balance, uint128 reserved)",
    "balanceOf(address account) view returns (uint256)",
    "borrowBalanceOf(address account) view returns (uint256)",
    "isLiquidatable(address account) view returns (bool)",
    "isBorrowCollateralized(address account) view returns (bool)",
    "supply(address asset, uint256 amount)",
    "withdraw(address asset, uint256 amount)",
    "absorb(address absorber, address[] accounts)",
    "buyCollateral(address asset, uint256 minAmount, uint256 baseAmount, address recipient)",
    "accrueAccount(address account)",
    "event BuyCollateral(address indexed buyer, address indexed asset, uint256 baseAmount, uint256 collateralAmount)",
]


class CollateralAsset(NamedTuple):
    """A token the market takes as collateral. `supplied` is what all accounts together have put up."""

    symbol: str
    address: bytes
    price_feed: bytes
    decimals: int
    borrow_factor_wad: int
    """The share of its value that can be borrowed."""
    liquidate_factor_wad: int
    """The share of its value that debt may reach before the account can be absorbed."""
    liquidation_factor_wad: int
    """The share of its value that an absorbed account is credited with."""
    supply_cap: int
    supplied: int

    def value_e8(self, amount: int, price_e8: int) -> int:
        """What `amount` is worth, rounded as the contract does."""
        scale: int = 10**self.decimals
        return amount * price_e8 // scale


class Rates(NamedTuple):
    """What lending earns and borrowing costs now: exact per second, for people per year (`Decimal`, not compounded)."""

    utilisation_wad: int
    supply_per_second_wad: int
    borrow_per_second_wad: int

    @property
    def utilisation(self) -> Decimal:
        """The share of what is lent that is borrowed."""
        return from_units(self.utilisation_wad, 18)

    @property
    def supply_rate(self) -> Decimal:
        """What lenders earn a year."""
        return from_units(self.supply_per_second_wad * YEAR_SECONDS, 18)

    @property
    def borrow_rate(self) -> Decimal:
        """What borrowers pay a year."""
        return from_units(self.borrow_per_second_wad * YEAR_SECONDS, 18)


class Totals(NamedTuple):
    """All accounts together: `supplied` and `borrowed` with interest up to this block, the rest as last accrued."""

    supplied: int
    borrowed: int
    supply_principal: int
    borrow_principal: int
    supply_index: int
    """How many base tokens a principal of 10**15 lent is worth."""
    borrow_index: int
    last_accrual: int


class Pauses(NamedTuple):
    """Which actions the market's guardian has stopped."""

    supply: bool
    transfer: bool
    withdraw: bool
    absorb: bool
    buy: bool


class Purchase(NamedTuple):
    """Collateral bought from the market: how much it was."""

    amount: int
    receipt: Receipt


class CompoundV3:
    """A Compound V3 market of the chain that `fork` stands on: `market` is its symbol or its address.

    Keeps no state: everything is read when it is asked for. Assets are the symbols of this market, other names of
    `fork.labels` or addresses; an asset the market does not have is an `UnknownName`.
    """

    def __init__(self, fork: Fork, market: AddressLike = "cUSDCv3") -> None:
        self.fork = fork
        self.contract = fork.contract(_market_address(fork, market), _COMET)
        self.address = self.contract.address

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def symbol(self) -> str:
        """Its name in `fork.labels` without the prefix, else the symbol it gives itself: `cUSDCv3`."""
        name = self.fork.name(self.address)
        return name.removeprefix(PREFIX) if not name.startswith("0x") else str(self.contract.symbol())

    @property
    def base(self) -> Erc20:
        """The token that is lent and borrowed."""
        return Erc20(self.fork, self.contract.baseToken())

    @property
    def minimum_borrow(self) -> int:
        """The smallest debt an account may have after it borrowed."""
        return int(self.contract.baseBorrowMin())

    @property
    def quote(self) -> str:
        """What prices and values are counted in: `ETH` where the base token is WETH at a price of one, else `USD`."""
        return "ETH" if self.base.symbol == "WETH" and self.price_e8() == PRICE_SCALE else "USD"

    @property
    def assets(self) -> list[CollateralAsset]:
        """The collateral this market takes, in its own order."""
        return [self._asset(self.contract.getAssetInfo(number)) for number in range(self.contract.numAssets())]

    def asset(self, name: AddressLike) -> CollateralAsset:
        """One collateral asset; `UnknownName` with the nearest names where the market does not take it."""
        assets = self.assets
        found: CollateralAsset | None = _named(self.fork, name, {each.address: each for each in assets})
        if found is not None:
            return found
        known = [each.symbol for each in assets]
        more = f"{self.symbol} takes {', '.join(known)} as collateral and lends {self.base.symbol}"
        raise UnknownName.of("collateral asset", _spelled(name), known, more)

    def is_base(self, name: AddressLike) -> bool:
        """Whether `name` is the base token."""
        base = self.base
        return _named(self.fork, name, {base.address: base}) is not None

    # -- how it stands ------------------------------------------------------------------------------------------------

    def price_e8(self, asset: AddressLike | None = None) -> int:
        """The price of one whole `asset`, or of the base token, in `quote`."""
        if asset is None or self.is_base(asset):
            return int(self.contract.getPrice(self.contract.baseTokenPriceFeed()))
        return int(self.contract.getPrice(self.asset(asset).price_feed))

    def rates(self) -> Rates:
        """Utilisation, and the rates that follow from it."""
        utilisation = self.contract.getUtilization()
        return Rates(utilisation, self.contract.getSupplyRate(utilisation), self.contract.getBorrowRate(utilisation))

    def totals(self) -> Totals:
        """What is lent and borrowed, and the indexes."""
        basic = self.contract.totalsBasic()
        return Totals(
            supplied=self.contract.totalSupply(),
            borrowed=self.contract.totalBorrow(),
            supply_principal=basic.totalSupplyBase,
            borrow_principal=basic.totalBorrowBase,
            supply_index=basic.baseSupplyIndex,
            borrow_index=basic.baseBorrowIndex,
            last_accrual=basic.lastAccrualTime,
        )

    @property
    def reserves(self) -> int:
        """Base tokens that belong to the market itself; negative where debts have gone bad."""
        return int(self.contract.getReserves())

    @property
    def target_reserves(self) -> int:
        """The reserves at which it stops selling the collateral it has absorbed."""
        return int(self.contract.targetReserves())

    def collateral_reserves(self, asset: AddressLike) -> int:
        """Absorbed collateral that is for sale."""
        return int(self.contract.getCollateralReserves(self.asset(asset).address))

    @property
    def pauses(self) -> Pauses:
        """Which actions are stopped."""
        comet = self.contract
        return Pauses(
            comet.isSupplyPaused(),
            comet.isTransferPaused(),
            comet.isWithdrawPaused(),
            comet.isAbsorbPaused(),
            comet.isBuyPaused(),
        )

    # -- accounts -----------------------------------------------------------------------------------------------------

    def account(self, address: AddressLike) -> CompoundV3Account:
        """An account of this market, to act for and to look at."""
        from mayavi.protocols.compound_account import CompoundV3Account

        return CompoundV3Account(self, address)

    def account_data(self, accounts: Iterable[AddressLike]) -> AccountArrays:
        """What many accounts hold and owe, and whether they can be absorbed, as arrays in the order of `accounts`."""
        from mayavi.protocols.compound_account import account_arrays

        return account_arrays(self, accounts)

    # -- liquidation --------------------------------------------------------------------------------------------------

    def absorb(self, absorber: AddressLike, accounts: AddressLike | Sequence[AddressLike]) -> Receipt:
        """Let `absorber` liquidate `accounts`, all or none: the market takes over their collateral and their debt.

        An account that is not `liquidatable` makes it revert with NotLiquidatable.
        """
        chosen = [accounts] if isinstance(accounts, str | bytes) else list(accounts)
        sender = self.fork.address_of(absorber)
        with undone_on_failure(self.fork):
            places = [self.fork.address_of(each) for each in chosen]
            receipt: Receipt = self.contract.absorb(sender, places, sender=sender)
        return receipt

    def quote_collateral(self, asset: AddressLike, base_amount: int) -> int:
        """How much of absorbed `asset` the market gives for `base_amount`, whether or not it has so much."""
        return int(self.contract.quoteCollateral(self.asset(asset).address, word(base_amount)))

    def buy_collateral(
        self,
        asset: AddressLike,
        min_amount: int,
        base_amount: int,
        recipient: AddressLike | None = None,
        *,
        sender: AddressLike,
    ) -> Purchase:
        """Pay `base_amount` for absorbed `asset`, at least `min_amount` of it, which goes to `recipient` or `sender`.

        Reverts with NotForSale while reserves are at their target, with InsufficientReserves where the market has less.
        """
        place, buyer = self.asset(asset).address, self.fork.address_of(sender)
        receiver = buyer if recipient is None else self.fork.address_of(recipient)
        with spending(self.fork, self.base.address, self.address, word(base_amount), buyer):
            receipt = self.contract.buyCollateral(place, word(min_amount), base_amount, receiver, sender=buyer)
        return Purchase(self.contract.events(receipt, "BuyCollateral")[0].args.collateralAmount, receipt)

    def _asset(self, info: Any) -> CollateralAsset:
        return CollateralAsset(
            symbol=Erc20(self.fork, info.asset).symbol,
            address=info.asset,
            price_feed=info.priceFeed,
            decimals=len(str(info.scale)) - 1,
            borrow_factor_wad=info.borrowCollateralFactor,
            liquidate_factor_wad=info.liquidateCollateralFactor,
            liquidation_factor_wad=info.liquidationFactor,
            supply_cap=info.supplyCap,
            supplied=self.contract.totalsCollateral(info.asset).totalSupplyAsset,
        )

    def __repr__(self) -> str:
        return f"<Compound V3 market {self.symbol} at {checksum(self.address)}>"


def markets_of(fork: Fork) -> list[str]:
    """The markets that have a name on `fork`: `cUSDCv3` …"""
    names = (label.removeprefix(PREFIX) for label in fork.labels if label.startswith(PREFIX))
    return [name for name in names if "." not in name]


def _market_address(fork: Fork, market: AddressLike) -> bytes:
    if not isinstance(market, str) or market.startswith(("0x", "0X")):
        return fork.address_of(market)
    for label in (market, PREFIX + market):
        if label in fork.labels and label.removeprefix(PREFIX) in markets_of(fork):
            return fork.address_of(label)
    known = markets_of(fork)
    more = f"Compound markets here: {', '.join(known)}" if known else "this chain has no Compound market by name"
    raise UnknownName.of("Compound market", market.removeprefix(PREFIX), known, more)


def _named(fork: Fork, name: AddressLike, candidates: dict[bytes, Any]) -> Any:
    """The candidate of that symbol or address, if any: a token's own symbol counts where it has no label."""
    for candidate in candidates.values():
        if candidate.symbol == name:
            return candidate
    if isinstance(name, str) and not name.startswith(("0x", "0X")) and name not in fork.labels:
        return None
    return candidates.get(fork.address_of(name))


def _spelled(name: AddressLike) -> str:
    return name if isinstance(name, str) else checksum(name)

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

from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from mayavi.errors import ActionRefused, CallReverted, UnknownName
from mayavi.evm.address import AddressLike, checksum
from mayavi.evm.arguments import word
from mayavi.evm.units import from_units
from mayavi.protocols.arguments import address_on, as_list, chain_name, require_contract, require_fork
from mayavi.protocols.compound.abi import COMET
from mayavi.protocols.compound.account import AccountArrays, CompoundV3Account, account_arrays
from mayavi.protocols.compound.collateral import Accounts, CollateralAsset
from mayavi.protocols.revert_context import reason_text, with_context
from mayavi.protocols.tokens import Erc20, atomic, spending
from mayavi.worlds.missing import hint_for_missing

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt

PRICE_SCALE = 10**8
INDEX_SCALE = 10**15
YEAR_SECONDS = 31_536_000
PREFIX = "CompoundV3."


class Rates(NamedTuple):
    """Current rates: exact per second, and per year as `Decimal`, not compounded."""

    utilisation_wad: int
    supply_per_second_wad: int
    borrow_per_second_wad: int

    @property
    def utilisation(self) -> Decimal:
        """Share of lent tokens that is borrowed."""
        return from_units(self.utilisation_wad, 18)

    @property
    def supply_rate(self) -> Decimal:
        """Rate earned by lenders, per year."""
        return from_units(self.supply_per_second_wad * YEAR_SECONDS, 18)

    @property
    def borrow_rate(self) -> Decimal:
        """Rate paid by borrowers, per year."""
        return from_units(self.borrow_per_second_wad * YEAR_SECONDS, 18)


class Totals(NamedTuple):
    """Totals of the market: `supplied` and `borrowed` with interest up to this block, the rest as last accrued."""

    supplied: int
    borrowed: int
    supply_principal: int
    borrow_principal: int
    supply_index: int
    """Base tokens that a lent principal of 10**15 is worth."""
    borrow_index: int
    last_accrual: int


class Pauses(NamedTuple):
    """Actions paused by the market's guardian."""

    supply: bool
    transfer: bool
    withdraw: bool
    absorb: bool
    buy: bool


class Purchase(NamedTuple):
    """Collateral bought from the market."""

    amount: int
    receipt: Receipt


class CompoundV3:
    """Compound V3 market on the fork's chain, by symbol or address.

    Keeps no state: every value is read when asked for. Assets are symbols of this market, other labels of the fork, or
    addresses; an asset the market does not list raises `UnknownName`.
    """

    def __init__(self, fork: Fork, market: AddressLike = "cUSDCv3") -> None:
        require_fork(fork, "CompoundV3")
        self.fork = fork
        self.contract = fork.contract(_market_address(fork, market), COMET)
        self.address = self.contract.address
        require_contract(fork, self.address, "Compound V3 market", self.contract.baseToken, self.contract.numAssets)

    # -- contracts and assets -----------------------------------------------------------------------------------------

    @property
    def symbol(self) -> str:
        """Label of the market without the prefix, else its own symbol: `cUSDCv3`."""
        name = self.fork.name(self.address)
        return name.removeprefix(PREFIX) if not name.startswith("0x") else str(self.contract.symbol())

    @property
    def base(self) -> Erc20:
        """Base token, which is lent and borrowed."""
        return Erc20(self.fork, self.contract.baseToken())

    @property
    def minimum_borrow(self) -> int:
        """Smallest debt allowed after a borrow."""
        return int(self.contract.baseBorrowMin())

    @property
    def quote(self) -> str:
        """Currency of prices and values: `ETH` if the base token is WETH at a price of one, else `USD`."""
        return "ETH" if self.base.symbol == "WETH" and self.price_e8() == PRICE_SCALE else "USD"

    @property
    def assets(self) -> list[CollateralAsset]:
        """Collateral assets, in the market's order."""
        return [self._asset(self.contract.getAssetInfo(number)) for number in range(self.contract.numAssets())]

    def asset(self, name: AddressLike) -> CollateralAsset:
        """Return a collateral asset; raise `UnknownName` with the nearest names if it is not listed."""
        if (labelled := self._labelled_asset(name)) is not None:
            return labelled
        assets = self.assets
        found: CollateralAsset | None = _find_asset(self.fork, name, {each.address: each for each in assets})
        if found is not None:
            return found
        known = [each.symbol for each in assets]
        more = f"{self.symbol} takes {', '.join(known)} as collateral and lends {self.base.symbol}"
        raise UnknownName.of("collateral asset", _literal(name), known, more)

    def is_base(self, name: AddressLike) -> bool:
        """Whether `name` is the base token."""
        base = self.base
        return _find_asset(self.fork, name, {base.address: base}) is not None

    # -- state --------------------------------------------------------------------------------------------------------

    def price_e8(self, asset: AddressLike | None = None) -> int:
        """Return the price of one whole `asset`, or of the base token, in `quote`."""
        if asset is None or self.is_base(asset):
            return int(self.contract.getPrice(self.contract.baseTokenPriceFeed()))
        return int(self.contract.getPrice(self.asset(asset).price_feed))

    def rates(self) -> Rates:
        """Return utilisation and rates."""
        utilisation = self.contract.getUtilization()
        return Rates(utilisation, self.contract.getSupplyRate(utilisation), self.contract.getBorrowRate(utilisation))

    def totals(self) -> Totals:
        """Return lent and borrowed totals and the indexes."""
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
        """Base tokens owned by the market itself; negative after bad debt."""
        return int(self.contract.getReserves())

    @property
    def target_reserves(self) -> int:
        """Reserves at which the market stops selling absorbed collateral."""
        return int(self.contract.targetReserves())

    def collateral_reserves(self, asset: AddressLike) -> int:
        """Return the absorbed collateral for sale."""
        return int(self.contract.getCollateralReserves(self.asset(asset).address))

    @property
    def pauses(self) -> Pauses:
        """Paused actions."""
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
        """Return an account of this market."""
        return CompoundV3Account(self, address)

    def account_data(self, accounts: Accounts) -> AccountArrays:
        """Return balances, debts and liquidatability of many accounts as arrays, in the given order."""
        return account_arrays(self, accounts)

    # -- liquidation --------------------------------------------------------------------------------------------------

    def absorb(self, accounts: Accounts, *, sender: AddressLike) -> Receipt:
        """Liquidate one account or several, all or none: the market takes over collateral and debt.

        Reverts with NotLiquidatable if an account is not `liquidatable`.
        """
        places = [address_on(self.fork, each) for each in as_list(accounts, "the accounts to absorb")]
        if not places:
            raise ActionRefused("there is no account to absorb", "give one, or a list of them")
        absorber = address_on(self.fork, sender)
        with atomic(self.fork):
            try:
                receipt: Receipt = self.contract.absorb(absorber, places, sender=absorber)
            except CallReverted as error:
                healthy = [self.fork.name(place) for place in places if not self.account(place).liquidatable]
                hint = (
                    f"not liquidatable now: {', '.join(healthy)}" if reason_text(error) == "NotLiquidatable" else None
                )
                raise with_context(error, hint) from None
        return receipt

    def quote_collateral(self, asset: AddressLike, base_amount: int) -> int:
        """Return how much absorbed `asset` the market would give for `base_amount`, in stock or not."""
        return int(self.contract.quoteCollateral(self.asset(asset).address, word(base_amount)))

    def buy_collateral(
        self,
        asset: AddressLike,
        base_amount: int,
        min_amount: int = 0,
        *,
        sender: AddressLike,
        recipient: AddressLike | None = None,
    ) -> Purchase:
        """Buy at least `min_amount` of absorbed `asset` for `base_amount`, sent to `recipient` (default: `sender`).

        Reverts with NotForSale while reserves are at their target, with InsufficientReserves if the stock is too small.
        """
        found, buyer = self.asset(asset), address_on(self.fork, sender)
        if not word(base_amount):
            raise ActionRefused(f"a payment of 0 {self.base.symbol} buys nothing", "give an amount above zero")
        if not self.collateral_reserves(found.address):
            raise ActionRefused(
                f"none of {found.symbol} is for sale in {self.symbol}",
                "it sells what it has absorbed; `collateral_reserves` says how much that is",
            )
        receiver = buyer if recipient is None else address_on(self.fork, recipient)
        with spending(self.fork, self.base.address, self.address, base_amount, buyer):
            try:
                buy = self.contract.buyCollateral
                receipt = buy(found.address, word(min_amount), base_amount, receiver, sender=buyer)
            except CallReverted as error:
                raise self._explain_purchase(error, found, base_amount, min_amount) from None
        return Purchase(self.contract.events(receipt, "BuyCollateral")[0].args.collateralAmount, receipt)

    def _explain_purchase(
        self, error: CallReverted, asset: CollateralAsset, base_amount: int, min_amount: int
    ) -> CallReverted:
        """Explain a failed purchase with the figures that decide it."""
        token, base, name, hint = Erc20(self.fork, asset.address), self.base, reason_text(error), None
        if name == "NotForSale":
            hint = (
                f"it sells only while its reserves, {base.text(self.reserves)}, are below their target,"
                f" {base.text(self.target_reserves)}"
            )
        elif name in {"TooMuchSlippage", "InsufficientReserves"}:
            offered, there = self.quote_collateral(asset.address, base_amount), self.collateral_reserves(asset.address)
            hint = f"it gives {token.text(offered)} for that now, has {token.text(there)}"
            hint += f", and {token.text(min_amount)} were the least to take"
        return with_context(
            error, hint, what=f"a purchase of {asset.symbol} for {base.text(base_amount)} from {self.symbol}"
        )

    def _labelled_asset(self, name: AddressLike) -> CollateralAsset | None:
        """Return the collateral asset with that label or address without reading the others; None if there is none."""
        if isinstance(name, str) and not name.startswith(("0x", "0X")) and name not in self.fork.labels:
            return None
        try:
            return self._asset(self.contract.getAssetInfoByAddress(address_on(self.fork, name)))
        except CallReverted:
            return None

    def _asset(self, info: Any) -> CollateralAsset:
        return CollateralAsset(
            symbol=Erc20(self.fork, info.asset).symbol,
            address=info.asset,
            price_feed=info.priceFeed,
            decimals=len(str(info.scale)) - 1,
            borrow_collateral_factor_wad=info.borrowCollateralFactor,
            liquidate_collateral_factor_wad=info.liquidateCollateralFactor,
            liquidation_factor_wad=info.liquidationFactor,
            supply_cap=info.supplyCap,
            supplied=self.contract.totalsCollateral(info.asset).totalSupplyAsset,
        )

    def __repr__(self) -> str:
        return f"<Compound V3 market {self.symbol} at {checksum(self.address)}>"


def markets_of(fork: Fork) -> list[str]:
    """Return the symbols of the labelled markets on `fork`: `cUSDCv3` …"""
    names = (label.removeprefix(PREFIX) for label in fork.labels if label.startswith(PREFIX))
    return [name for name in names if "." not in name]


def _market_address(fork: Fork, market: AddressLike) -> bytes:
    if not isinstance(market, str) or market.startswith(("0x", "0X")):
        return address_on(fork, market)
    for label in (market, PREFIX + market):
        if label in fork.labels and label.removeprefix(PREFIX) in markets_of(fork):
            return fork.address_of(label)
    known = markets_of(fork)
    if not known:
        hint = hint_for_missing(fork, _known_markets(fork))
        raise UnknownName(f"no Compound V3 market is known on {chain_name(fork)}", hint)
    raise UnknownName.of("Compound market", market.removeprefix(PREFIX), known, _known_markets(fork))


def _known_markets(fork: Fork) -> str:
    known = ", ".join(markets_of(fork))
    return f"Compound markets here: {known}" if known else 'give the address of one: CompoundV3(fork, "0x…")'


def _find_asset(fork: Fork, name: AddressLike, candidates: dict[bytes, Any]) -> Any:
    """Return the candidate with that symbol or address, if any; unlabelled tokens go by their own symbol."""
    for candidate in candidates.values():
        if candidate.symbol == name:
            return candidate
    if isinstance(name, str) and not name.startswith(("0x", "0X")) and name not in fork.labels:
        return None
    found: Any = candidates.get(address_on(fork, name))
    return found


def _literal(name: AddressLike) -> str:
    return name if isinstance(name, str) else checksum(getattr(name, "address", name))

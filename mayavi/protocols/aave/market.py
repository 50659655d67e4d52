"""Aave V3 market: reserves, rates, prices, parameters and accounts.

    market = AaveV3(fork)
    alice = market.account("0x00000000000000000000000000000000000a11ce")
    alice.supply("WETH", 10**18)
    alice.borrow("USDC", 1_000 * 10**6)
    print(alice.health_factor, market.reserve("USDC").variable_borrow_rate)

The adapter reads the revision of the pool's code and follows its rules: `market.generation` says which. Functions that
a pool does not have are not called, so the same code reads a replica and a fork of today's chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from mayavi.errors import BadArgument, CallReverted, UnknownName
from mayavi.evm.address import ZERO_ADDRESS, Addresses, AddressLike, are_addresses, checksum
from mayavi.evm.fork.calls import FEW_CALLS
from mayavi.protocols.aave.account import AaveAccount
from mayavi.protocols.aave.account_data import AccountData, AccountsData
from mayavi.protocols.aave.pool_abi import POOL_ABI
from mayavi.protocols.aave.reserve import Configuration, EMode, Reserve
from mayavi.protocols.aave.reverts import explain_missing_prices
from mayavi.protocols.aave.rules.generation import Generation
from mayavi.protocols.arguments import address_on, require_contract, require_fork
from mayavi.protocols.tokens import Erc20
from mayavi.worlds.missing import hint_for_missing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mayavi.evm.abi.contract import BoundFunction, Contract
    from mayavi.evm.fork import Fork
    from mayavi.protocols.aave.rules.v30 import RulesV30

_PROVIDER = ["getPriceOracle() view returns (address)", "getAddress(bytes32 id) view returns (address)"]
_UMBRELLA = b"UMBRELLA".ljust(32, b"\0")
_ORACLE = [
    "getAssetPrice(address asset) view returns (uint256)",
    "getSourceOfAsset(address asset) view returns (address)",
]
_EMPTY_EMODES = 8  # unused numbers in a row that end the search for categories


class FlashLoanPremiums(NamedTuple):
    """Premium of a flash loan (`total_bps`, of the loan) and the treasury's share (`protocol_bps`, of the premium).

    Suppliers receive the rest of the premium.
    """

    total_bps: int
    protocol_bps: int


class AaveV3:
    """Aave V3 market of the fork's chain, or the market of another `pool` contract.

    Assets are symbols or addresses; an asset without a reserve raises `UnknownName` with the nearest names. The
    adapter holds no state but the fork: every call reads current values.
    """

    prefix: ClassVar[str] = "AaveV3"
    """Prefix of this market's contract names in `fork.labels`."""
    title: ClassVar[str] = "Aave V3"
    pool_abi: ClassVar[list[str]] = POOL_ABI
    unknown_hint: ClassVar[str] = "give the address of its pool, or open a fork of a chain that has one"
    token_words: ClassVar[tuple[int, int]] = (8, 10)
    """Positions of the aToken and of the variable debt token in the output of `getReserveData`, in words."""
    rate_words: ClassVar[tuple[int, int]] = (2, 4)
    """Positions of the supply rate and of the variable borrow rate in it."""

    def __init__(self, fork: Fork, pool: AddressLike | None = None) -> None:
        require_fork(fork, type(self).__name__)
        if pool is None and f"{self.prefix}.Pool" not in fork.labels:
            raise UnknownName(
                f"no {self.title} market is known on chain {fork.chain_id}",
                hint_for_missing(fork, self.unknown_hint),
            )
        place = f"{self.prefix}.Pool" if pool is None else pool
        self.fork = fork
        self.pool: Contract = fork.contract(place, self.pool_abi)
        self._oracle: Contract | None = None
        self._tokens: dict[bytes, tuple[Erc20, Erc20]] | None = None
        require_contract(fork, place, f"pool of {self.title}", *self._identifying_reads())

    def _identifying_reads(self) -> tuple[BoundFunction, ...]:
        """Functions that only a pool of this version answers: V2 pools lack the first, oracles the second."""
        return self.pool.ADDRESSES_PROVIDER, self.pool.FLASHLOAN_PREMIUM_TOTAL

    @cached_property
    def generation(self) -> Generation:
        """Version of the pool's code, by its revision."""
        return Generation(self.pool.POOL_REVISION())

    @cached_property
    def rules(self) -> RulesV30:
        """Arithmetic and liquidation rules of the pool's code."""
        return self.generation.rules

    def account(self, address: AddressLike) -> AaveAccount:
        """Return the account at `address`. It needs no registration."""
        return AaveAccount(self, address)

    # -- reserves -----------------------------------------------------------------------------------------------------

    def reserves(self) -> list[Reserve]:
        """Return every reserve, in listing order."""
        oracle, listed = self.oracle, self.pool.getReservesList()
        with explain_missing_prices(self):
            return [self._reserve(address, self.reserve_data(address), oracle) for address in listed]

    def reserve(self, asset: AddressLike) -> Reserve:
        """Return the current state of the reserve of `asset`."""
        address = self.address_of(asset)
        with explain_missing_prices(self, address):
            return self._reserve(address, self.reserve_data(address), self.oracle)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Symbols of all reserves."""
        return tuple(Erc20(self.fork, address).symbol for address in self.pool.getReservesList())

    def address_of(self, asset: AddressLike) -> bytes:
        """Return the address of a reserve asset; raise `UnknownName` with the nearest names for any other."""
        if self._tokens and type(asset) is bytes and asset in self._tokens:
            return asset
        if not isinstance(asset, str) or asset[:2] in ("0x", "0X") or asset in self.fork.labels:
            address = self.fork.address_of(asset)
            if (self._tokens and address in self._tokens) or self._is_reserve(address):
                return address
        listed: list[bytes] = self.pool.getReservesList()
        symbols = {Erc20(self.fork, address).symbol: address for address in listed}
        if isinstance(asset, str) and asset in symbols:  # a reserve that `fork.labels` does not contain yet
            return symbols[asset]
        name = asset if isinstance(asset, str) else self.fork.name(asset)
        raise UnknownName.of(f"asset of {self.title}", name, symbols, f"there are: {', '.join(symbols)}")

    def token(self, asset: AddressLike) -> Erc20:
        """Return the underlying token of `asset`."""
        return Erc20(self.fork, self.address_of(asset))

    def a_token(self, asset: AddressLike) -> Erc20:
        """Return the aToken of `asset`, the receipt for supplied tokens."""
        return self._tokens_of_reserve(asset)[0]

    def variable_debt_token(self, asset: AddressLike) -> Erc20:
        """Return the variable debt token of `asset`."""
        return self._tokens_of_reserve(asset)[1]

    def _tokens_of_reserve(self, asset: AddressLike) -> tuple[Erc20, Erc20]:
        """Return the aToken and the variable debt token."""
        address = self.address_of(asset)
        known = None if self._tokens is None else self._tokens.get(address)
        if known is None:
            words = self._reserve_words(address)
            places = [words[32 * word + 12 : 32 * word + 32] for word in self.token_words]
            known = Erc20(self.fork, places[0]), Erc20(self.fork, places[1])
            if self._tokens is not None and any(places[0]):
                self._tokens[address] = known
        return known

    def remember_tokens(self) -> None:
        """Read the tokens of a reserve once from now on: right as long as no reserve is dropped and listed again."""
        self._tokens = {}

    def _is_reserve(self, address: bytes) -> bool:
        return any(self._reserve_words(address)[32 * self.token_words[0] :][:32])

    def _reserve_words(self, address: bytes) -> bytes:
        """Return the output of `getReserveData`: decoding all of it is slow."""
        try:
            return self.fork.call(self.pool.address, self.pool.getReserveData.encode(address))
        except CallReverted:
            self.reserve_data(address)  # raises a detailed error
            raise

    def reserve_data(self, address: bytes) -> Any:
        """Return the pool's `getReserveData` of a reserve; all fields are zero for any other address."""
        return self.pool.getReserveData(address)

    def configuration_word(self, address: bytes) -> int:
        """Return `reserve_data(address).configuration`, its first word, without decoding the rest."""
        return int.from_bytes(self._reserve_words(address)[:32])

    def configuration(self, data: Any) -> Configuration:
        """Return the parameters in `reserve_data`, without those that the pool's code does not know."""
        return Configuration.of(data.configuration, self.generation)

    def available(self, address: bytes, a_token: bytes) -> int:
        """Return how much of a reserve can be withdrawn or borrowed."""
        if self.generation.virtual_balance:
            counted: int = self.pool.getVirtualUnderlyingBalance(address)
            return counted
        return Erc20(self.fork, address).balance_of(a_token)

    # -- prices and parameters ----------------------------------------------------------------------------------------

    @property
    def oracle(self) -> Contract:
        """Current price oracle of the pool."""
        place: bytes = self._provider.getPriceOracle()
        if self._oracle is None or self._oracle.address != place:
            self._oracle = self.fork.contract(place, _ORACLE)
        return self._oracle

    @cached_property
    def _provider(self) -> Contract:
        """Addresses provider of the pool, an immutable of the pool's code."""
        return self.fork.contract(self.pool.ADDRESSES_PROVIDER(), _PROVIDER)

    def price_usd_e8(self, asset: AddressLike) -> int:
        """Return the pool's price of one whole `asset`, in USD with 8 decimals."""
        address = self.address_of(asset)
        with explain_missing_prices(self, address):
            price: int = self.oracle.getAssetPrice(address)
        return price

    @property
    def flash_loan_premiums(self) -> FlashLoanPremiums:
        """Premiums of flash loans."""
        return FlashLoanPremiums(self.pool.FLASHLOAN_PREMIUM_TOTAL(), self.pool.FLASHLOAN_PREMIUM_TO_PROTOCOL())

    def emode(self, category: int) -> EMode:
        """Return an efficiency mode by number; raise `UnknownName` if it is not configured."""
        found = self._emode(category)
        if found is None:
            known = ", ".join(f"{each.id} ({each.label})" for each in self.emodes()) or "none"
            raise UnknownName(f"unknown eMode category {category} of {self.title}", f"there are: {known}")
        return found

    def emodes(self) -> list[EMode]:
        """Return all efficiency modes. Tries numbers from 1 until eight unused ones in a row."""
        found: list[EMode] = []
        category = empty = 0
        while empty < _EMPTY_EMODES and category < 255:
            category += 1
            each = self._emode(category)
            empty = 0 if each else empty + 1
            found += [each] if each else []
        return found

    def emode_collateral(self, category: int) -> list[bytes]:
        """Return the collateral assets of an eMode. Up to V3.1 each asset names its mode; later a mode lists them."""
        if self.generation.emode_bitmaps:
            return self._in_bitmap(self.pool.getEModeCategoryCollateralBitmap(category))
        reserves = [(address, self.reserve_data(address)) for address in self.pool.getReservesList()]
        return [each for each, data in reserves if Configuration.of(data.configuration).emode == category]

    def emode_borrowable(self, category: int) -> list[bytes]:
        """Return the assets that can be borrowed in an eMode; up to V3.1 they are those of its collateral."""
        if self.generation.emode_bitmaps:
            return self._in_bitmap(self.pool.getEModeCategoryBorrowableBitmap(category))
        return self.emode_collateral(category)

    def emode_ltvzero(self, category: int) -> list[bytes]:
        """Return the collateral of an eMode that has no borrowing power there; none before V3.6."""
        if self.generation.ltvzero_bitmaps:
            return self._in_bitmap(self.pool.getEModeCategoryLtvzeroBitmap(category))
        return []

    def borrowing_power_bps(self, asset: AddressLike, category: int = 0) -> int:
        """Return the loan to value of `asset` for accounts in eMode `category`; 0 is none."""
        address = self.address_of(asset)
        if category and address in self.emode_collateral(category):
            return 0 if address in self.emode_ltvzero(category) else self.emode(category).ltv_bps
        return self.configuration(self.reserve_data(address)).ltv_bps

    def liquidation_bonus_bps(self, asset: AddressLike, category: int = 0) -> int:
        """Return the liquidation bonus of `asset` for accounts in eMode `category`, counted from 100 %."""
        address = self.address_of(asset)
        if category and address in self.emode_collateral(category):
            return self.emode(category).liquidation_bonus_bps
        return self.configuration(self.reserve_data(address)).liquidation_bonus_bps

    def _in_bitmap(self, bitmap: int) -> list[bytes]:
        return [each for each in self.pool.getReservesList() if bitmap >> self.reserve_data(each).id & 1]

    # -- deficits -----------------------------------------------------------------------------------------------------

    def deficit(self, asset: AddressLike) -> int | None:
        """Return the debt in `asset` that was burnt without being repaid; None up to V3.2, which burns none."""
        if not self.generation.deficits:
            return None
        deficit: int = self.pool.getReserveDeficit(self.address_of(asset))
        return deficit

    def deficits(self) -> dict[str, int]:
        """Return the deficits of all reserves that have one, by symbol."""
        if not self.generation.deficits:
            return {}
        found = {each: self.pool.getReserveDeficit(each) for each in self.pool.getReservesList()}
        return {Erc20(self.fork, address).symbol: amount for address, amount in found.items() if amount}

    @property
    def umbrella(self) -> bytes | None:
        """Account that may cover deficits with its aTokens; None if none is registered at the provider."""
        place: bytes = self._provider.getAddress(_UMBRELLA)
        return None if place == ZERO_ADDRESS else place

    # -- many accounts ------------------------------------------------------------------------------------------------

    def account_data(self, accounts: Sequence[AddressLike | AaveAccount]) -> AccountsData:
        """Return `AaveAccount.data` of many accounts in one kernel call, and the same object while nothing changes."""
        if isinstance(accounts, str | bytes | bytearray) or hasattr(accounts, "address"):
            raise BadArgument(
                "account_data takes a list of accounts, not a single one",
                "give a list, `account_data([…])`, or use `market.account(…).data()`",
            )
        places: tuple[Any, ...] = accounts if type(accounts) is Addresses else tuple(accounts)
        if type(places) is tuple and {*map(type, places)} != {bytes}:
            places = tuple([address_on(self.fork, each) for each in places])
        return self.fork.read_once(("account data", self.pool.address, places), lambda: self._read_accounts(places))

    def _read_accounts(self, accounts: tuple[bytes, ...]) -> AccountsData:
        places: tuple[bytes, ...] | NDArray[np.uint8] | None = accounts if are_addresses(accounts[:FEW_CALLS]) else None
        if len(accounts) > FEW_CALLS:
            from mayavi.evm.words import known_address_words  # NumPy, which few accounts do not need

            places = known_address_words(accounts)
        if places is None:
            places = tuple([self.fork.address_of(each) for each in accounts])  # raises for an invalid one
        calldata, count = self.pool.getUserAccountData.encode(ZERO_ADDRESS), len(AccountData._fields)
        with explain_missing_prices(self):
            columns = self.fork.call_words(self.pool.address, calldata, {4: places}, returns=count)
        return AccountsData(*columns)

    def _reserve(self, address: bytes, data: Any, oracle: Contract) -> Reserve:
        fork, token, generation = self.fork, Erc20(self.fork, address), self.generation
        stable = None if data.stableDebtToken == ZERO_ADDRESS else data.stableDebtToken
        borrowed = Erc20(fork, data.variableDebtToken).total_supply + (
            Erc20(fork, stable).total_supply if stable else 0
        )
        return Reserve(
            symbol=token.symbol,
            address=address,
            id=data.id,
            configuration=self.configuration(data),
            a_token=data.aToken,
            variable_debt_token=data.variableDebtToken,
            stable_debt_token=stable,
            rate_strategy=data.rateStrategy,
            price_usd_e8=oracle.getAssetPrice(address),
            supply_rate_ray=data.liquidityRate,
            variable_borrow_rate_ray=data.variableBorrowRate,
            liquidity_index_ray=data.liquidityIndex,
            variable_borrow_index_ray=data.variableBorrowIndex,
            normalised_income_ray=self.pool.getReserveNormalizedIncome(address),
            normalised_variable_debt_ray=self.pool.getReserveNormalizedVariableDebt(address),
            last_update=data.lastUpdate,
            supplied=Erc20(fork, data.aToken).total_supply,
            borrowed=borrowed,
            available=self.available(address, data.aToken),
            accrued_to_treasury_scaled=data.accruedToTreasury,
            isolated_debt_usd_e2=data.isolatedDebt if generation.isolation else None,
            deficit=self.pool.getReserveDeficit(address) if generation.deficits else None,
        )

    def _emode(self, category: int) -> EMode | None:
        data = self.pool.getEModeCategoryData(category)
        if not data.threshold:
            return None
        return EMode(
            id=category,
            label=data.label,
            ltv_bps=data.ltv,
            liquidation_threshold_bps=data.threshold,
            liquidation_bonus_bps=data.bonus,
            price_source=None if data.priceSource == ZERO_ADDRESS else data.priceSource,
            assets=self._symbols(self.emode_collateral(category)),
            borrowable=self._symbols(self.emode_borrowable(category)),
            ltvzero=self._symbols(self.emode_ltvzero(category)),
        )

    def _symbols(self, addresses: Sequence[bytes]) -> tuple[str, ...]:
        return tuple(Erc20(self.fork, address).symbol for address in addresses)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {checksum(self.pool.address)} on chain {self.fork.chain_id}>"

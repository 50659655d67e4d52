"""Aave V2 market: reserves, prices and accounts.

    market = AaveV2(fork)
    alice = market.account("0x00000000000000000000000000000000000a11ce")
    alice.supply("USDC", 1_000 * 10**6)
    alice.borrow("CRV", 100 * 10**18)

The interface is that of `AaveV3`. V2 has no efficiency modes, no caps and no protocol fee on liquidations, and one
liquidation repays at most half of a debt at any health factor.
"""

from __future__ import annotations

from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

from mayavi.errors import BadArgument, CallReverted
from mayavi.evm.address import ZERO_ADDRESS, AddressLike
from mayavi.protocols.aave.account import AaveAccount
from mayavi.protocols.aave.market import AaveV3, FlashLoanPremiums
from mayavi.protocols.aave.reserve import EMode
from mayavi.protocols.aave.rules.generation import Generation
from mayavi.protocols.aave_v2.reverts import name_error
from mayavi.protocols.aave_v2.rules import RulesV2

if TYPE_CHECKING:
    from mayavi.evm.abi.contract import BoundFunction, Contract
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt

_POOL = [
    "deposit(address asset, uint256 amount, address onBehalfOf, uint16 referralCode)",
    "withdraw(address asset, uint256 amount, address to)",
    "borrow(address asset, uint256 amount, uint256 interestRateMode, uint16 referralCode, address onBehalfOf)",
    "repay(address asset, uint256 amount, uint256 rateMode, address onBehalfOf)",
    "setUserUseReserveAsCollateral(address asset, bool useAsCollateral)",
    "liquidationCall(address collateral, address debt, address user, uint256 debtToCover, bool receiveAToken)",
    "getUserAccountData(address user) view returns (uint256 collateral, uint256 debt, uint256 available,"
    " uint256 threshold, uint256 ltv, uint256 healthFactor)",
    "getReserveData(address asset) view returns ((uint256 configuration, uint128 liquidityIndex,"
    " uint128 variableBorrowIndex, uint128 liquidityRate, uint128 variableBorrowRate, uint128 stableBorrowRate,"
    " uint40 lastUpdate, address aToken, address stableDebtToken, address variableDebtToken, address rateStrategy,"
    " uint8 id) data)",
    "getReserveNormalizedIncome(address asset) view returns (uint256)",
    "getReserveNormalizedVariableDebt(address asset) view returns (uint256)",
    "getReservesList() view returns (address[])",
    "getUserConfiguration(address user) view returns (uint256)",
    "FLASHLOAN_PREMIUM_TOTAL() view returns (uint256)",
    "getAddressesProvider() view returns (address)",
    "event LiquidationCall(address indexed collateral, address indexed debt, address indexed user, uint256 covered,"
    " uint256 seized, address liquidator, bool receiveAToken)",
]
_PROVIDER = ["getPriceOracle() view returns (address)"]
_ORACLE = ["WETH() view returns (address)"]
_NAMES = {"supply": "deposit"}


_ONLY_IN_V3 = {"accruedToTreasury": 0, "unbacked": 0, "isolatedDebt": 0}


class AaveV2Account(AaveAccount):
    """Account on Aave V2, made by `AaveV2(fork).account(address)`."""

    @property
    def emode(self) -> int:
        """V2 has no efficiency modes: 0."""
        return 0

    def set_emode(self, category: int) -> Receipt:
        """Refuse: V2 has no efficiency modes."""
        raise BadArgument(f"Aave V2 has no eMode {category}", "leave it out, or use Aave V3")

    def _function(self, name: str) -> BoundFunction:
        return self.market.pool[_NAMES.get(name, name)]

    def _send(self, function: str, *arguments: Any) -> Receipt:
        try:
            receipt: Receipt = self._function(function)(*arguments, sender=self.address)
        except CallReverted as error:
            raise name_error(error) from None
        return receipt


class AaveV2(AaveV3):
    """Aave V2 market of the fork, or the market of another `pool` contract; see `AaveV3`.

    Its oracle must answer in US dollars with eight decimals. The market of the real Ethereum answers in ETH and is
    refused.
    """

    prefix: ClassVar[str] = "AaveV2"
    title: ClassVar[str] = "Aave V2"
    pool_abi: ClassVar[list[str]] = _POOL
    unknown_hint: ClassVar[str] = "a scenario creates one with the key `aave_v2`; or give the address of its pool"
    token_words: ClassVar[tuple[int, int]] = (7, 9)
    rate_words: ClassVar[tuple[int, int]] = (3, 4)

    def __init__(self, fork: Fork, pool: AddressLike | None = None) -> None:
        super().__init__(fork, pool)
        quoted = fork.contract(self.oracle.address, _ORACLE)
        if quoted.WETH() != ZERO_ADDRESS:
            raise BadArgument(
                f"the {self.title} market at {fork.name(self.pool.address)} has prices in ETH",
                "this adapter reads markets with prices in US dollars, such as those that a scenario creates",
            )

    def _identifying_reads(self) -> tuple[BoundFunction, ...]:
        """Functions that only a pool of this version answers."""
        return (self.pool.getAddressesProvider,)

    @cached_property
    def generation(self) -> Generation:
        """Before V3.0: V2 has nothing that later versions added."""
        return Generation(0)

    @cached_property
    def rules(self) -> RulesV2:
        """Arithmetic of V3.0, which V2 shares, and V2's liquidations."""
        return RulesV2()

    def account(self, address: AddressLike) -> AaveV2Account:
        """Return the account at `address`. It needs no registration."""
        return AaveV2Account(self, address)

    def reserve_data(self, address: bytes) -> Any:
        """Return the pool's `getReserveData` of a reserve; all fields are zero for any other address."""
        return SimpleNamespace(**_ONLY_IN_V3, **self.pool.getReserveData(address)._asdict())

    @cached_property
    def _provider(self) -> Contract:
        return self.fork.contract(self.pool.getAddressesProvider(), _PROVIDER)

    @property
    def flash_loan_premiums(self) -> FlashLoanPremiums:
        """Premiums of flash loans, all of which suppliers receive."""
        return FlashLoanPremiums(self.pool.FLASHLOAN_PREMIUM_TOTAL(), 0)

    def emodes(self) -> list[EMode]:
        """V2 has no efficiency modes: none."""
        return []

    def _emode(self, category: int) -> EMode | None:
        del category
        return None

    def emode_collateral(self, category: int) -> list[bytes]:
        """V2 has no efficiency modes: none."""
        del category
        return []

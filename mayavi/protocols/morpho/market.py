"""A market of Morpho Blue: its state, rates, price and accounts, as of this block, interest included."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from mayavi.errors import CallReverted, StateError
from mayavi.evm.address import ZERO_ADDRESS, AddressLike
from mayavi.evm.units import WAD, from_units
from mayavi.protocols.arguments import address_on
from mayavi.protocols.morpho.abi import IRM, ORACLE
from mayavi.protocols.morpho.account import AccountArrays, Accounts, MorphoAccount, account_arrays
from mayavi.protocols.morpho.mathematics import PRICE_SCALE, MarketState, incentive_factor_wad
from mayavi.protocols.revert_context import with_context
from mayavi.protocols.tokens import Erc20
from mayavi.worlds.tables.morpho_market import PREFIX, MarketName, MarketParameters

if TYPE_CHECKING:
    from mayavi.evm.receipt import Receipt
    from mayavi.protocols.morpho.blue import MorphoBlue

YEAR_SECONDS = 31_536_000
_DOLLARS = frozenset({"DAI", "GHO", "FRAX", "LUSD", "crvUSD"})


class Rates(NamedTuple):
    """Current rates: exact per second, and per year as `Decimal`, not compounded."""

    utilisation_wad: int
    borrow_per_second_wad: int
    """Average rate since the last accrual, which the next one charges."""
    supply_per_second_wad: int
    at_target_per_second_wad: int
    """Rate at a utilisation of 90 %, which moves with time; zero before the first interaction."""

    @property
    def borrow_rate(self) -> Decimal:
        """Rate paid by borrowers, per year."""
        return from_units(self.borrow_per_second_wad * YEAR_SECONDS, 18)

    @property
    def supply_rate(self) -> Decimal:
        """Rate earned by suppliers after the fee, per year."""
        return from_units(self.supply_per_second_wad * YEAR_SECONDS, 18)


class MorphoMarket:
    """Market of Morpho Blue: `MorphoBlue(fork).market(name)` opens one."""

    def __init__(self, blue: MorphoBlue, parameters: MarketParameters) -> None:
        self.blue, self.fork, self.parameters = blue, blue.fork, parameters
        self.id = parameters.id
        self.loan = Erc20(self.fork, parameters.loan_token)
        self.collateral = Erc20(self.fork, parameters.collateral_token)
        self.lltv_wad = parameters.lltv_wad

    # -- names --------------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name by its tokens and LLTV, `wstETH/USDC.86`; that of a market without collateral is `USDC.idle`."""
        if self.parameters.collateral_token == ZERO_ADDRESS:
            return f"{self.loan.symbol}.idle"
        return str(MarketName(self.collateral.symbol, self.loan.symbol, self.lltv_wad))

    @property
    def symbol(self) -> str:
        """Name with the protocol: `Morpho.wstETH/USDC.86`."""
        return PREFIX + self.name

    @property
    def address(self) -> bytes:
        """Address of Morpho Blue, which holds the tokens of all markets."""
        return self.blue.address

    @property
    def quote(self) -> str:
        """Currency of values with 8 decimals: a dollar or an ether for each loan token.

        Raises `StateError` for markets that lend something else.
        """
        symbol = self.loan.symbol
        if symbol == "WETH":
            return "ETH"
        if "USD" in symbol.upper() or symbol in _DOLLARS:
            return "USD"
        raise StateError(
            f"{self.name} lends {symbol}, whose value in dollars Morpho does not know",
            "agents use markets that lend dollars or WETH; the adapter gives amounts in units of the loan token",
        )

    # -- state --------------------------------------------------------------------------------------------------------

    def stored_state(self) -> MarketState:
        """Return the totals as last accrued."""
        return MarketState(*self.blue.contract.market(self.id))

    def state(self) -> MarketState:
        """Return the totals with interest up to this block."""
        stored = self.stored_state()
        if self.fork.timestamp <= stored.last_update or not stored.borrow_assets:
            # Without debt no interest accrues, whatever the rate.
            return stored._replace(last_update=max(stored.last_update, self.fork.timestamp))
        return stored.accrued(self._borrow_rate(stored), self.fork.timestamp)

    def rates(self) -> Rates:
        """Return utilisation and rates."""
        stored, state = self.stored_state(), self.state()
        rate = self._borrow_rate(stored)
        lent = rate * state.utilisation_wad // WAD * (WAD - state.fee_wad) // WAD
        at_target = 0
        if self.parameters.irm != ZERO_ADDRESS:
            try:
                at_target = int(self.fork.contract(self.parameters.irm, IRM).rateAtTarget(self.id))
            except CallReverted:
                at_target = 0  # another model
        return Rates(state.utilisation_wad, rate, lent, at_target)

    def _borrow_rate(self, stored: MarketState) -> int:
        if self.parameters.irm == ZERO_ADDRESS:
            return 0
        return int(self.fork.contract(self.parameters.irm, IRM).borrowRateView(self.parameters, stored))

    @property
    def incentive_factor_wad(self) -> int:
        """Value of collateral that a liquidator takes for each unit of debt it repays."""
        return incentive_factor_wad(self.lltv_wad)

    @property
    def price_e36(self) -> int:
        """Price of the market's oracle: units of the loan token for a unit of collateral, times 10**36."""
        try:
            return int(self.fork.contract(self.parameters.oracle, ORACLE).price())
        except CallReverted as error:
            raise with_context(error, what=f"the oracle of {self.name}") from None

    @property
    def price(self) -> Decimal:
        """Price of a whole collateral token in whole loan tokens."""
        return from_units(self.price_e36, 36 + self.loan.decimals - self.collateral.decimals)

    def price_e8(self, price_e36: int | None = None) -> int:
        """Return the price of a whole collateral token in `quote`, with 8 decimals."""
        price = self.price_e36 if price_e36 is None else price_e36
        return int(price * 10 ** (self.collateral.decimals + 8) // (PRICE_SCALE * 10**self.loan.decimals))

    def value_e8(self, amount: int) -> int:
        """Return an amount of the loan token in `quote`, with 8 decimals."""
        return int(amount * 10**8 // 10**self.loan.decimals)

    # -- accounts -----------------------------------------------------------------------------------------------------

    def account(self, address: AddressLike) -> MorphoAccount:
        """Return an account of this market."""
        return MorphoAccount(self, address)

    def account_data(self, accounts: Accounts) -> AccountArrays:
        """Return positions and health of many accounts as arrays, in the given order."""
        return account_arrays(self, accounts)

    def accrue(self, *, sender: AddressLike) -> Receipt:
        """Accrue interest up to this block. Any account may; every other action does it too."""
        receipt: Receipt = self.blue.contract.accrueInterest(self.parameters, sender=address_on(self.fork, sender))
        return receipt

    def __eq__(self, other: object) -> bool:
        """Whether id and fork are equal; a copy of a fork is another fork."""
        return isinstance(other, MorphoMarket) and other.fork is self.fork and other.id == self.id

    def __hash__(self) -> int:
        return hash((id(self.fork), self.id))

    def __repr__(self) -> str:
        return f"<Morpho market {self.name}, 0x{self.id.hex()}>"

"""Common interface of lending markets for agents: Aave V3 and V2, SparkLend, Compound V3, Morpho.

Borrowers and liquidators are written against `LendingMarket` and `LendingAccount`; the differences between protocols
are in `aave.py`, `aave_v2.py`, `compound.py` and `morpho.py`. Values have 8 decimals, in the market's quote currency:
USD, but ETH for markets of Compound and Morpho that lend WETH.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from mayavi.evm.address import Addresses
from mayavi.evm.units import WAD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mayavi.agents.base import World
    from mayavi.evm.fleet import Words
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt


class Health(NamedTuple):
    """Health of an account. It can be liquidated below a health factor of one; `NO_DEBT` without debt."""

    collateral_value_e8: int
    debt_value_e8: int
    limit_e8: int
    """Value of debt at which the health factor is one."""
    borrow_limit_e8: int
    """Value of debt up to which the account may borrow."""
    withdraw_limit_e8: int
    """Value of debt up to which the account may withdraw collateral."""
    health_factor_wad: int

    @property
    def liquidatable(self) -> bool:
        """Whether the health factor is below one."""
        return self.health_factor_wad < WAD

    def debt_value_at(self, target_wad: int) -> int:
        """Return the largest debt value with a health factor of at least `target_wad`."""
        return self.limit_e8 * WAD // target_wad


class Healths:
    """Health of many accounts: `healths[row]` is the `Health` of one.

    Rows are computed on access; values compared for all accounts are arrays.
    """

    def __init__(
        self, health_factor_wad: Words, row: Callable[[int], Health], collateral_value_e8: Words | None = None
    ) -> None:
        self.health_factor_wad = health_factor_wad
        """Exact: `.ints()`, `[row]`."""
        self.collateral_value_e8 = collateral_value_e8
        """Exact; None where it takes another read."""
        self._row = row

    @cached_property
    def factors(self) -> NDArray[np.uint64]:
        """Health factors as uint64: exact up to 18, above that 2**64 - 1."""
        return self.health_factor_wad.saturated()

    @cached_property
    def liquidatable(self) -> NDArray[np.bool_]:
        """Whether each health factor is below one."""
        return self.factors < np.uint64(WAD)

    def __len__(self) -> int:
        return len(self.health_factor_wad)

    def __getitem__(self, row: int) -> Health:
        return self._row(row)


class LiquidationQuote(NamedTuple):
    """Quote of a liquidation at the current state, in smallest units.

    `cover` is the debt removed, `pays` the liquidator's payment and `seized` the collateral received. On Aave the
    liquidator repays the debt; on Compound the market takes the debt over and sells the collateral for `pays`.
    """

    borrower: bytes
    collateral: str
    debt: str
    cover: int
    pays: int
    seized: int
    asks: int
    """Amount to request: more than `cover` if the collateral is insufficient and all of it is wanted."""


class LiquidationResult(NamedTuple):
    """Result of liquidations of an account, with the fields of its quote and their number."""

    covered: int
    paid: int
    seized: int
    times: int = 1
    deficit_e8: int = 0
    """Value of debts that the market burnt without being repaid, because no collateral was left."""
    bad_debt: int = 0
    """Debt that no collateral was left for, and that the market's suppliers lost: Morpho realises it at once."""


class LendingAccount(Protocol):
    """Account on a lending market. Actions approve what they need; a failed one leaves the fork unchanged."""

    @property
    def address(self) -> bytes:
        """Address of the account."""

    def supply(self, asset: str, amount: int) -> Receipt:
        """Supply `amount` of its balance as collateral."""

    def withdraw(self, asset: str, amount: int | None = None) -> Receipt:
        """Withdraw `amount` of collateral, or all."""

    def borrow(self, asset: str, amount: int) -> Receipt:
        """Borrow `amount`."""

    def repay(self, asset: str, amount: int | None = None) -> Receipt:
        """Repay `amount` of the debt, or all of it."""

    def supplied(self, asset: str) -> int:
        """Return the collateral in `asset`."""

    def debt(self, asset: str) -> int:
        """Return the debt in `asset`, with interest up to now."""

    def health(self) -> Health:
        """Return the account's health."""


class LendingMarket(Protocol):
    """Market that lends against collateral; `lending_market(fork, name)` opens one."""

    @property
    def fork(self) -> Fork:
        """Chain of the market."""

    @property
    def name(self) -> str:
        """Name: `AaveV3`, `Spark`, `CompoundV3.cUSDCv3` …"""

    @property
    def quote(self) -> str:
        """Currency of values: `USD` or `ETH`."""

    def account(self, address: bytes) -> LendingAccount:
        """Return the account at `address`."""

    def healths(self, addresses: Sequence[bytes]) -> Healths:
        """Return the health of many accounts in one read."""

    def price_e8(self, asset: str) -> int:
        """Return the market's price of one whole `asset`."""

    def decimals(self, asset: str) -> int:
        """Return the decimal places of `asset`."""

    def loan_of(self, asset: str, value_e8: int) -> int:
        """Return the largest loan of `asset` that the market, with its own rounding, values at most at `value_e8`.

        Zero if that is below the smallest debt the market allows.
        """

    def supply_for(self, asset: str, amounts: Sequence[int], holders: Sequence[bytes], payer: bytes) -> None:
        """Supply collateral for many accounts from the balance of `payer`, which approves the sum once."""

    def quote_liquidations(
        self,
        borrowers: Sequence[bytes],
        health_factors_wad: Sequence[int],
        collaterals: Sequence[str],
        debts: Sequence[str],
        funds: dict[str, int] | None = None,
    ) -> list[LiquidationQuote]:
        """Quote the liquidation of each of `borrowers` now, one quote per pair of assets they have.

        Each quote is the largest that the market allows and `funds`, by debt asset, can pay for.
        """

    def liquidate(self, liquidator: bytes, quote: LiquidationQuote) -> LiquidationResult:
        """Liquidate as quoted. Fails with the market's reason if another liquidator was faster."""


def least_repayment(market: LendingMarket, asset: str) -> int:
    """Return the smallest repayment of `asset` that `market` takes; 1 where it does not say."""
    found = getattr(market, "least_repayment", None)
    return 1 if found is None else int(found(asset))


def addresses_of(world: World, accounts: Iterable[str]) -> Addresses:
    """Return the addresses of `accounts`; equal lists give the same object, a cheap dictionary key."""
    return _shared(tuple([world.address(account) for account in accounts]))


@lru_cache(maxsize=64)
def _shared(addresses: tuple[bytes, ...]) -> Addresses:
    return Addresses(addresses)


def read_healths(world: World, market: LendingMarket, addresses: tuple[bytes, ...]) -> Healths:
    """Return the health of `addresses`, read once per block and shared between agents."""
    return world.observe(("healths", market.name, addresses), lambda: market.healths(addresses))


def read_liquidatable(world: World, market: LendingMarket, addresses: tuple[bytes, ...]) -> dict[bytes, int]:
    """Return the health factor of each liquidatable account; read once for all agents that watch the same accounts."""

    def read() -> dict[bytes, int]:
        healths = read_healths(world, market, addresses)
        rows = np.flatnonzero(healths.liquidatable)
        factors = healths.factors[rows].tolist()  # exact: those that can be liquidated are below 2**64
        return dict(zip([addresses[row] for row in rows.tolist()], factors, strict=True))

    return world.observe(("liquidatable", market.name, addresses), read)


def read_seizable(world: World, market: LendingMarket, addresses: tuple[bytes, ...]) -> dict[bytes, int]:
    """Return the accounts of `read_liquidatable` that still have collateral; all, if the market does not report it."""

    def read() -> dict[bytes, int]:
        factors, healths = read_liquidatable(world, market, addresses), read_healths(world, market, addresses)
        if not factors or healths.collateral_value_e8 is None:
            return factors
        rows = np.flatnonzero(healths.liquidatable)
        seizable = rows[healths.collateral_value_e8.words[rows].any(axis=1)]
        return {addresses[row]: factors[addresses[row]] for row in seizable.tolist()}

    return world.observe(("seizable", market.name, addresses), read)

"""Lending markets as agents see them: Aave V3, SparkLend and Compound V3 behind one face.

An agent that borrows or liquidates is written once, against `LendingMarket` and `LendingAccount`; what differs between
the protocols is in `aave_lending.py` and `compound_lending.py`. Values have eight decimals and are counted in what the
market counts in, which is dollars but for Compound's markets of WETH.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from mayavi.errors import UnknownName
from mayavi.evm.units import WAD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mayavi.agents.base import World
    from mayavi.evm.fleet import Words
    from mayavi.evm.fork import Fork
    from mayavi.evm.receipt import Receipt

_LARGEST = np.uint64(2**64 - 1)


class Health(NamedTuple):
    """How an account stands. Below a health factor of one it can be liquidated; `NO_DEBT` where it owes nothing."""

    collateral_value_e8: int
    debt_value_e8: int
    limit_e8: int
    """The debt's value at which the health factor is one."""
    borrow_limit_e8: int
    """The debt's value up to which it may borrow."""
    withdraw_limit_e8: int
    """The debt's value up to which it may withdraw collateral."""
    health_factor_wad: int

    @property
    def liquidatable(self) -> bool:
        """Whether the health factor is below one."""
        return self.health_factor_wad < WAD

    def debt_value_at(self, target_wad: int) -> int:
        """The largest debt value that leaves a health factor of `target_wad` with this collateral."""
        return self.limit_e8 * WAD // target_wad


class Healths:
    """Many accounts at once, one row each: `healths[row]` is the `Health` of one.

    A row is worked out when it is asked for; what is compared for all of them is there as arrays.
    """

    def __init__(self, health_factor_wad: Words, row: Callable[[int], Health]) -> None:
        self.health_factor_wad = health_factor_wad
        """Exact: `.ints()`, `[row]`."""
        self.factors: NDArray[np.uint64] = _saturated(health_factor_wad)
        """The same as 64-bit integers: exact up to a health factor of 18, above that 2**64 - 1."""
        self.liquidatable: NDArray[np.bool_] = self.factors < np.uint64(WAD)
        self._row = row

    def __len__(self) -> int:
        return len(self.factors)

    def __getitem__(self, row: int) -> Health:
        return self._row(row)


class Prize(NamedTuple):
    """What a liquidation would do now, in smallest units.

    `cover` is how much debt disappears, `pays` what the liquidator gives for it and `seized` what it gets. On Aave the
    liquidator pays the debt itself; on Compound the market takes the debt over, and sells the collateral for `pays`.
    """

    borrower: bytes
    collateral: str
    debt: str
    cover: int
    pays: int
    seized: int
    asks: int
    """What to ask the market for: more than `cover` where the collateral does not suffice, and all of it is wanted."""


class Taken(NamedTuple):
    """What a liquidation did: as in `Prize`, and how often the account was liquidated for it."""

    covered: int
    paid: int
    seized: int
    times: int = 1


class LendingAccount(Protocol):
    """An account on a market. Actions approve what they need and leave everything as it was when they fail."""

    @property
    def address(self) -> bytes:
        """Where it is."""

    def supply(self, asset: str, amount: int) -> Receipt:
        """Put up `amount` of its balance as collateral."""

    def withdraw(self, asset: str, amount: int | None = None) -> Receipt:
        """Take collateral back: `amount`, or all."""

    def borrow(self, asset: str, amount: int) -> Receipt:
        """Borrow `amount`."""

    def repay(self, asset: str, amount: int | None = None) -> Receipt:
        """Pay back `amount` of the debt, or all of it."""

    def supplied(self, asset: str) -> int:
        """How much of `asset` it has put up."""

    def debt(self, asset: str) -> int:
        """How much of `asset` it owes, interest up to now included."""

    def health(self) -> Health:
        """How it stands."""


class LendingMarket(Protocol):
    """A market that lends against collateral; `lending_market(fork, name)` opens one."""

    @property
    def fork(self) -> Fork:
        """The chain it is on."""

    @property
    def name(self) -> str:
        """`AaveV3`, `Spark`, `CompoundV3.cUSDCv3` …"""

    @property
    def quote(self) -> str:
        """What values are counted in: `USD` or `ETH`."""

    def account(self, address: bytes) -> LendingAccount:
        """The account at `address`."""

    def healths(self, addresses: Sequence[bytes]) -> Healths:
        """How many accounts stand, read at once."""

    def price_e8(self, asset: str) -> int:
        """What one whole `asset` is worth to the market."""

    def decimals(self, asset: str) -> int:
        """Decimal places of the smallest unit of `asset`."""

    def loan_of(self, asset: str, value_e8: int) -> int:
        """The largest loan of `asset` that the market, with its own rounding, values at no more than `value_e8`.

        Zero where that is below the smallest debt the market allows.
        """

    def supply_for(self, asset: str, amounts: Sequence[int], holders: Sequence[bytes], payer: bytes) -> None:
        """Put up collateral for many accounts out of the balance of `payer`, which approves the sum once."""

    def prizes(
        self,
        borrowers: Sequence[bytes],
        health_factors_wad: Sequence[int],
        collaterals: Sequence[str],
        debts: Sequence[str],
        funds: dict[str, int] | None = None,
    ) -> list[Prize]:
        """What liquidating each of `borrowers` would do now: one prize for each pair of assets they have.

        A prize is the largest the market allows, and that `funds`, by debt asset, can pay for.
        """

    def liquidate(self, liquidator: bytes, prize: Prize) -> Taken:
        """Liquidate as `prize` says. Fails with the market's reason where somebody was faster."""


_ALIASES = {"aave": "AaveV3", "spark": "Spark", "compound": "CompoundV3.cUSDCv3"}


def lending_market(fork: Fork, name: str) -> LendingMarket:
    """The market of that name: `AaveV3`, `Spark`, or a Compound market such as `cUSDCv3`.

    `aave`, `spark` and `compound` will do too. A name that is none is an `UnknownName` with the nearest.
    """
    from mayavi.agents.lending.aave import AaveLending
    from mayavi.agents.lending.compound import CompoundLending
    from mayavi.protocols.aave.market import AaveV3
    from mayavi.protocols.aave.spark import SparkLend
    from mayavi.protocols.compound.market import PREFIX, CompoundV3, markets_of

    wanted = _ALIASES.get(name, name)
    if wanted == AaveV3.prefix:
        return AaveLending(AaveV3(fork))
    if wanted == SparkLend.prefix:
        return AaveLending(SparkLend(fork))
    if wanted.removeprefix(PREFIX) in markets_of(fork):
        return CompoundLending(CompoundV3(fork, wanted.removeprefix(PREFIX)))
    known = [prefix for prefix in (AaveV3.prefix, SparkLend.prefix) if f"{prefix}.Pool" in fork.labels]
    known += [PREFIX + each for each in markets_of(fork)]
    raise UnknownName.of("lending market", name, known, f"this chain has {', '.join(known)}")


def watched(world: World, market: LendingMarket, addresses: tuple[bytes, ...]) -> Healths:
    """How `addresses` stand, read once a block for all who ask for the same accounts."""
    return world.observe(("healths", market.name, addresses), lambda: market.healths(addresses))


def _saturated(words: Words) -> NDArray[np.uint64]:
    """Words as 64-bit integers, those that do not fit as the largest there is."""
    limbs = words.limbs()
    return np.where(limbs[:, :3].any(axis=1), _LARGEST, limbs[:, 3])

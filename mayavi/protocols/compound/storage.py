"""Compound V3 debt and collateral inside a kernel program, computed from storage.

A program calls no views: four words of the market and its arithmetic, which always rounds down, give the same integers.
"""

from __future__ import annotations

from typing import NamedTuple

from mayavi.errors import StateError
from mayavi.evm.fleet import Program, Word
from mayavi.evm.fork.token_balance import slot_behind
from mayavi.evm.units import WAD
from mayavi.protocols.compound.market import INDEX_SCALE, CompoundV3

_RATES = [
    "borrowKink() view returns (uint256)",
    "borrowPerSecondInterestRateBase() view returns (uint256)",
    "borrowPerSecondInterestRateSlopeLow() view returns (uint256)",
    "borrowPerSecondInterestRateSlopeHigh() view returns (uint256)",
]
_INDEX_BITS = 64
_TOTAL_BITS = 104
_TIME_BITS = 40
_COLLATERAL_BITS = 128


class Owed(NamedTuple):
    """Debt of an account, and its growth per second."""

    debt: Word
    rate_per_second_wad: Word


class CompoundBooks:
    """One account of a market with one collateral. Raises `StateError` if the storage layout is not known."""

    def __init__(self, market: CompoundV3, account: bytes, collateral: bytes) -> None:
        comet, fork = market.contract, market.fork
        self._market = market.address
        self._indexes, self._totals = _market_slots(market)
        self._basic = slot_behind(fork, comet.address, comet.userBasic.encode(account))
        self._held = slot_behind(fork, comet.address, comet.userCollateral.encode(account, collateral))
        rates = fork.contract(comet.address, _RATES)
        self.kink_wad: int = rates.borrowKink()
        """Utilisation above which the borrow rate rises steeply."""
        self._base: int = rates.borrowPerSecondInterestRateBase()
        self._slopes: tuple[int, int] = (
            rates.borrowPerSecondInterestRateSlopeLow(),
            rates.borrowPerSecondInterestRateSlopeHigh(),
        )

    def collateral(self, program: Program) -> Word:
        """Return the account's collateral."""
        return program.bits(program.load(*self._held), 0, _COLLATERAL_BITS)

    def owed(self, program: Program) -> Owed:
        """Return the account's debt in the program's current block."""
        indexes, totals = program.load(self._market, self._indexes), program.load(self._market, self._totals)
        supply_index = program.bits(indexes, 0, _INDEX_BITS)
        borrow_index = program.bits(indexes, _INDEX_BITS, _INDEX_BITS)
        supplied = program.multiply_divide(program.bits(totals, 0, _TOTAL_BITS), supply_index, INDEX_SCALE)
        borrowed = program.multiply_divide(program.bits(totals, _TOTAL_BITS, _TOTAL_BITS), borrow_index, INDEX_SCALE)
        rate = self._rate(program, program.multiply_divide(borrowed, WAD, supplied))
        elapsed = program.subtract(program.time()[1], program.bits(totals, 2 * _TOTAL_BITS, _TIME_BITS))
        growth = program.multiply_divide(borrow_index, program.multiply(rate, elapsed), WAD)
        basic = program.load(*self._basic)  # the principal is signed: negative is debt
        owes = program.bits(basic, _TOTAL_BITS - 1, 1)
        principal = program.subtract(2**_TOTAL_BITS, program.bits(basic, 0, _TOTAL_BITS))
        debt = program.multiply_divide(principal, program.add(borrow_index, growth), INDEX_SCALE)
        return Owed(program.either(owes, debt, 0), rate)

    def _rate(self, program: Program, utilisation: Word) -> Word:
        low = program.multiply_divide(program.minimum(utilisation, self.kink_wad), self._slopes[0], WAD)
        high = program.multiply_divide(program.subtract(utilisation, self.kink_wad), self._slopes[1], WAD)
        return program.add(program.add(low, high), self._base)


def _market_slots(market: CompoundV3) -> tuple[int, int]:
    """Find the slots of indexes and totals by matching the result of `totalsBasic`."""
    comet, fork = market.contract, market.fork
    basic = comet.totalsBasic()
    indexes = basic.baseBorrowIndex << _INDEX_BITS | basic.baseSupplyIndex
    totals = basic.lastAccrualTime << 2 * _TOTAL_BITS | basic.totalBorrowBase << _TOTAL_BITS | basic.totalSupplyBase
    touched = dict(fork.touched(comet.address, comet.totalsBasic.encode())).get(comet.address, [])
    words = {slot: fork.storage(comet.address, slot) for slot in touched}
    found = (
        [slot for slot, word in words.items() if word & 2 ** (2 * _INDEX_BITS) - 1 == indexes],
        [slot for slot, word in words.items() if word & 2 ** (2 * _TOTAL_BITS + _TIME_BITS) - 1 == totals],
    )
    if any(len(each) != 1 for each in found):
        raise StateError(
            f"the storage layout of {market.symbol} is not known",
            "use the replica, or a market with the storage layout of 2022",
        )
    return found[0][0], found[1][0]

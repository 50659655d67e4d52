"""Aave V3 read from its storage: what the pool's views compute, worked out from the slots they read.

A view of the pool costs as much as many a transaction. What it computes for one collateral and one debt is a few
multiplications of what lies in five slots, so a program does them itself, rounding as Aave's library does: halves up.
"""

from __future__ import annotations

from typing import NamedTuple

from mayavi.evm.fleet import Program, Word
from mayavi.evm.hashing import keccak256
from mayavi.evm.units import RAY
from mayavi.gym_env.slots import slot_behind
from mayavi.markets.process import SECONDS_PER_YEAR
from mayavi.protocols.aave_v3 import AaveV3

_MAPPING_SLOTS = 256
_SCALED = ["scaledBalanceOf(address) view returns (uint256)"]
_LOW = 0, 128  # the lower half of a word, and the upper
_HIGH = 128, 128
_UPDATED = 128, 40


class Index(NamedTuple):
    """What a scaled balance is multiplied by in a block, and the rate behind it."""

    index_ray: Word
    rate_ray: Word


class AaveBooks:
    """Where a pool keeps a reserve, and a token the scaled balance of an account."""

    def __init__(self, market: AaveV3, asset: bytes, token: bytes, holder: bytes) -> None:
        self.pool, self.token = market.pool.address, token
        self.reserve = _reserve_place(market, asset)
        self.balance = slot_behind(
            market.fork, token, market.fork.contract(token, _SCALED).scaledBalanceOf.encode(holder)
        )

    @property
    def found(self) -> bool:
        """Whether both are where they are known to be."""
        return self.reserve is not None and self.balance is not None

    def scaled(self, program: Program) -> Word:
        """The account's scaled balance."""
        return program.bits(program.load(self.token, self.balance or 0), *_LOW)

    def income(self, program: Program, now: Word) -> Index:
        """The normalised income: interest since the last change is simple."""
        place, elapsed = self.reserve or 0, self._elapsed(program, now)
        word = program.load(self.pool, place + 1)
        rate = program.bits(word, *_HIGH)
        growth = program.add(RAY, program.divide(program.multiply(rate, elapsed), SECONDS_PER_YEAR))
        return Index(ray_mul(program, growth, program.bits(word, *_LOW)), rate)

    def variable_debt(self, program: Program, now: Word) -> Index:
        """The normalised variable debt: interest since the last change is compounded, to the third power."""
        place, elapsed = self.reserve or 0, self._elapsed(program, now)
        word = program.load(self.pool, place + 2)
        rate = program.bits(word, *_HIGH)
        pairs = program.multiply(elapsed, program.subtract(elapsed, 1))
        triples = program.multiply(pairs, program.subtract(elapsed, 2))
        squared = program.divide(ray_mul(program, rate, rate), SECONDS_PER_YEAR**2)
        cubed = program.divide(ray_mul(program, squared, rate), SECONDS_PER_YEAR)
        growth = program.add(RAY, program.divide(program.multiply(rate, elapsed), SECONDS_PER_YEAR))
        growth = program.add(growth, program.divide(program.multiply(pairs, squared), 2))
        growth = program.add(growth, program.divide(program.multiply(triples, cubed), 6))
        return Index(ray_mul(program, growth, program.bits(word, *_LOW)), rate)

    def _elapsed(self, program: Program, now: Word) -> Word:
        word = program.load(self.pool, (self.reserve or 0) + 3)
        return program.subtract(now, program.bits(word, *_UPDATED))


def ray_mul(program: Program, a: Word, b: Word) -> Word:
    """`a * b` in rays, halves up."""
    return program.divide(program.add(program.multiply(a, b), RAY // 2), RAY)


def _reserve_place(market: AaveV3, asset: bytes) -> int | None:
    """The first slot of a reserve: where configuration, indexes, rates and time are as the pool tells them."""
    data, fork, pool = market.reserve_data(asset), market.fork, market.pool.address
    words = [
        data.configuration,
        data.liquidityRate << 128 | data.liquidityIndex,
        data.variableBorrowRate << 128 | data.variableBorrowIndex,
    ]
    touched = set(dict(fork.touched(pool, market.pool.getReserveData.encode(asset))).get(pool, ()))
    for mapping in range(_MAPPING_SLOTS):
        place = int.from_bytes(keccak256(asset.rjust(32, b"\0") + mapping.to_bytes(32, "big")), "big")
        if place not in touched or [fork.storage(pool, place + at) for at in range(3)] != words:
            continue
        if fork.storage(pool, place + 3) >> 128 & 2**40 - 1 == data.lastUpdate:
            return place
    return None

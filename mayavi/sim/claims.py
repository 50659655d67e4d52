"""Claims for `Books`: deposits minus debts of accounts in lending markets and pools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from mayavi.protocols.aave.market import AaveV3
from mayavi.protocols.compound.market import CompoundV3
from mayavi.protocols.curve.pool import CurveStableSwap
from mayavi.protocols.tokens import Erc20
from mayavi.sim.accounting import Claim

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork


def aave_claims(market: AaveV3, assets: Sequence[str]) -> list[Claim]:
    """Claims on an Aave V3 or Spark market: supplied less owed, for each of `assets`."""

    def reader(supplied: bytes, owed: bytes) -> Callable[[Fork, Sequence[bytes]], Iterable[int]]:
        def read(fork: Fork, holders: Sequence[bytes]) -> Iterable[int]:
            return [
                own - debt
                for own, debt in zip(_balances(fork, supplied, holders), _balances(fork, owed, holders), strict=True)
            ]

        return read

    data = {asset: market.reserve_data(market.address_of(asset)) for asset in assets}
    return [
        Claim(market.prefix, market.address_of(asset), reader(each.aToken, each.variableDebtToken))
        for asset, each in data.items()
    ]


def compound_claims(market: CompoundV3, assets: Sequence[str] = ()) -> list[Claim]:
    """Claims on a Compound V3 market: base token lent less borrowed, and collateral in `assets`."""
    name, place = f"CompoundV3.{market.symbol}", market.address

    def base(fork: Fork, holders: Sequence[bytes]) -> Iterable[int]:
        comet = CompoundV3(fork, place).contract
        lent = fork.call_many(place, [comet.balanceOf.encode(each) for each in holders])
        owed = fork.call_many(place, [comet.borrowBalanceOf.encode(each) for each in holders])
        return [int.from_bytes(own) - int.from_bytes(debt) for own, debt in zip(lent, owed, strict=True)]

    def collateral(asset: bytes) -> Callable[[Fork, Sequence[bytes]], Iterable[int]]:
        def read(fork: Fork, holders: Sequence[bytes]) -> Iterable[int]:
            function = CompoundV3(fork, place).contract.userCollateral
            outputs = fork.call_many(place, [function.encode(each, asset) for each in holders])
            return [int.from_bytes(output[:32]) for output in outputs]

        return read

    found = [Claim(name, market.base.address, base)]
    return found + [Claim(name, each, collateral(each)) for each in (market.asset(one).address for one in assets)]


def curve_claims(pool: CurveStableSwap) -> list[Claim]:
    """Claims on a Curve pool: each coin's share of an account's LP tokens, rounded down as in a withdrawal."""
    shares, place = pool.lp_token.address, pool.address

    def part(index: int) -> Callable[[Fork, Sequence[bytes]], Iterable[int]]:
        def read(fork: Fork, holders: Sequence[bytes]) -> Iterable[int]:
            there = CurveStableSwap(fork, place, lp_token=shares)
            held, supply = there.balances[index], there.lp_supply
            return [own * held // supply if supply else 0 for own in _balances(fork, shares, holders)]

        return read

    return [Claim(pool.name, coin.address, part(index)) for index, coin in enumerate(pool.coins)]


def _balances(fork: Fork, token: bytes, holders: Sequence[bytes]) -> list[int]:
    function = Erc20(fork, token).contract.balanceOf
    return [int.from_bytes(output) for output in fork.call_many(token, [function.encode(each) for each in holders])]

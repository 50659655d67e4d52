"""Population of borrowers with several collaterals and debts, drawn from distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from mayavi.agents.base import World
from mayavi.agents.lending.behaviours import Behaviour, Passive
from mayavi.agents.lending.position_holders import PositionHolders
from mayavi.agents.lending.position_opening import OpeningPosition, borrow_all, supply_all
from mayavi.agents.quantities import Number, as_wad, to_fraction, units_of
from mayavi.errors import BadArgument
from mayavi.evm.units import WAD
from mayavi.markets.distributions import Distribution, Spec, distribution_of
from mayavi.protocols.uniswap.route import RouteLike


class MixedBorrowers(PositionHolders):
    """`members` borrowers with the same mix of collaterals and debts; member `i` acts as the account `<name>-<i>`.

    Each draws the value of its collateral in dollars from `size` and its health factor at opening from `target`.
    `collateral` and `debt` map assets to their shares of that value. The streams of random numbers are those of
    `BorrowerPopulation`.

        MixedBorrowers("crowd", members=50, collateral={"WETH": "0.6", "WBTC": "0.4"}, debt={"USDC": 1},
                       size=LogNormal(20_000, 1), target=Uniform(1.1, 2))
    """

    def __init__(
        self,
        name: str,
        *,
        members: int,
        collateral: Mapping[str, Number],
        debt: Mapping[str, Number],
        size: Spec | Distribution,
        target: Spec | Distribution,
        emode: int = 0,
        market: str = "AaveV3",
        behaviours: Sequence[tuple[Behaviour, float]] = ((Passive(), 1.0),),
        routes: Mapping[tuple[str, str], RouteLike] | None = None,
        cash_share: Number = 0,
        amounts: Mapping[str, int] | None = None,
    ) -> None:
        """`amounts` fixes the collateral of every member, in smallest units; then `size` and its shares are unused."""
        if type(members) is not int or members < 1:
            raise BadArgument(f"a population cannot have {members!r} members", "give a whole number above zero")
        self.collateral = {asset: to_fraction(share, "a share") for asset, share in sorted(collateral.items())}
        self.debt = {asset: to_fraction(share, "a share") for asset, share in sorted(debt.items())}
        fixed = dict(sorted((amounts or {}).items()))
        empty = [OpeningPosition(str(number), fixed, {}, emode) for number in range(members)]
        super().__init__(
            name, positions=empty, market=market, behaviours=behaviours, routes=routes, cash_share=cash_share
        )
        self.size, self.target = distribution_of(size), distribution_of(target)

    def _open(self, world: World) -> None:
        """Draw sizes and health factors, supply, and borrow up to the health factors."""
        lending = self.loan.lending
        sizes = self._drawn(world, "collateral", self.size)
        targets = [as_wad(each) for each in self._drawn(world, "target", self.target)]
        prices = {asset: Fraction(lending.price_e8(asset), 10**8) for asset in self.collateral}
        if not self.positions[0].collateral:
            self.positions = tuple(
                replace(position, collateral=self._amounts(to_fraction(size), prices))
                for position, size in zip(self.positions, sizes, strict=True)
            )
        supply_all(lending, self._openings(), payer=world.address(self.name))
        healths = lending.healths(self.addresses)
        opened = []
        for row, (address, position) in enumerate(self._openings()):
            health = healths[row]
            value = health.debt_value_at(targets[row])
            if value > health.borrow_limit_e8:
                value = health.borrow_limit_e8
                self.loan.at_limit[address] = health.limit_e8 * WAD // value if value else 0
            loans = {asset: lending.loan_of(asset, int(value * share)) for asset, share in self.debt.items()}
            opened.append(replace(position, debt={asset: loan for asset, loan in loans.items() if loan}))
        self.positions = tuple(opened)
        borrow_all(lending, self._openings())

    def _amounts(self, size_usd: Fraction, prices: Mapping[str, Fraction]) -> dict[str, int]:
        lending = self.loan.lending
        return {
            asset: units_of(size_usd * share / prices[asset], lending.decimals(asset))
            for asset, share in self.collateral.items()
        }

    def _drawn(self, world: World, what: str, source: Distribution) -> list[float]:
        drawn = source.sample(len(self.positions), world.rng(f"{self.name}.{what}"))
        least = np.nextafter(1.0, 2.0) if what == "target" else np.nextafter(0.0, 1.0)
        if not np.all(drawn >= least):
            member = int(np.argmin(drawn))
            raise BadArgument(
                f"member {member} of '{self.name}' draws a {what} of {drawn[member]:.4f}",
                "bound the distribution above 1" if what == "target" else "bound the distribution above zero",
            )
        return [float(each) for each in drawn]

"""Stablecoin holders that sell into a Curve pool when the outside price loses its peg."""

from __future__ import annotations

import numpy as np

from mayavi.agents.base import Agent, Details, Intent, StepResult, World
from mayavi.agents.quantities import units_of
from mayavi.errors import ActionDeclined, BadArgument
from mayavi.markets.distributions import Distribution
from mayavi.protocols.curve.pool import CurveStableSwap
from mayavi.protocols.tokens import Erc20


class CurveHolders(Agent):
    """Population of `members` holders of `coin`; member `i` acts as the account `<name>-<i>`.

    Each holds an amount drawn from `amount`, in whole coins, and sells all of it for `wants` on `pool` in the first
    step in which the outside price of the coin is below its threshold, drawn from `flees_below` in USD. It waits while
    the pool quotes less than `patience` of the outside price.
    """

    def __init__(
        self,
        name: str,
        *,
        members: int,
        pool: str,
        coin: str,
        wants: str,
        amount: Distribution,
        flees_below: Distribution,
        patience: float = 0.98,
    ) -> None:
        super().__init__(name)
        if type(members) is not int or members < 1:
            raise BadArgument(f"the number of holders is {members!r}", "give a whole number above zero")
        self.members, self.pool, self.coin, self.wants = members, pool, coin, wants
        self.amount, self.flees_below, self.patience = amount, flees_below, patience

    @property
    def accounts(self) -> tuple[str, ...]:
        """Names of the members' accounts."""
        return tuple(f"{self.name}-{member}" for member in range(self.members))

    def prepare(self, world: World) -> None:
        """Draw the members and give them their coins."""
        decimals = Erc20(world.fork, self.coin).decimals
        drawn = self.amount.sample(self.members, world.rng(f"{self.name}.amount"))
        self.amounts = [units_of(float(each), decimals) for each in drawn]
        self.thresholds = np.asarray(self.flees_below.sample(self.members, world.rng(f"{self.name}.threshold")))
        self.addresses = tuple(world.address(account) for account in self.accounts)
        for address, amount in zip(self.addresses, self.amounts, strict=True):
            world.fork.deal(self.coin, address, amount)
        self._fled: set[int] = set()

    def step(self, world: World, step_idx: int) -> StepResult:
        """Return the sales of members whose threshold is reached."""
        del step_idx
        price = world.price_usd(self.coin)
        afraid = [at for at in np.flatnonzero(self.thresholds > price).tolist() if at not in self._fled]
        note = f"{self.coin} is at {price:.4f}, {len(afraid)} of {self.members} want to flee"
        afraid = [member for member in afraid if self.amounts[member]]
        if not afraid:
            return self.rests(note)
        paid = self._pool_prices(world, [self.amounts[member] for member in afraid])
        fleeing = [at for at, each in zip(afraid, paid, strict=True) if each >= self.patience * price]
        if not fleeing:
            return self.rests(f"{note}, but the pool pays {max(paid):.4f}")
        intents = tuple(self._intent(world, member, price) for member in fleeing)
        return StepResult(intents, note)

    def _intent(self, world: World, member: int, price: float) -> Intent:
        holder, amount = self.addresses[member], self.amounts[member]

        def run() -> Details:
            (paid,) = self._pool_prices(world, [amount])
            if paid < self.patience * price:
                raise ActionDeclined(
                    f"the pool pays {paid:.4f} {self.wants} for {self.coin}, which is at {price:.4f} outside",
                    "it waits",
                )
            received = (
                CurveStableSwap(world.fork, self.pool).exchange(self.coin, self.wants, amount, sender=holder).received
            )
            self._fled.add(member)
            return {"amount_in": amount, "amount_out": received}

        details: Details = {
            "token_in": self.coin,
            "token_out": self.wants,
            "outside_price_e8": round(price * 10**8),
            "threshold_e8": round(float(self.thresholds[member]) * 10**8),
        }
        return Intent("sell", run, details, self.accounts[member])

    def _pool_prices(self, world: World, amounts: list[int]) -> list[float]:
        """Return the pool's price per coin for each amount, each quoted alone."""
        units = [int(10 ** Erc20(world.fork, coin).decimals) for coin in (self.coin, self.wants)]
        outputs = CurveStableSwap(world.fork, self.pool).quote_many(self.coin, self.wants, amounts)
        return [got * units[0] / (sold * units[1]) for sold, got in zip(amounts, outputs, strict=True)]

"""Recipient of vesting tokens that sells them."""

from __future__ import annotations

from mayavi.agents.base import Agent, Details, Intent, StepResult, World
from mayavi.agents.trading.selling import SalePlan, SellsAtOnce, Tranche, price_is_met, sell
from mayavi.errors import BadArgument
from mayavi.protocols.tokens import Erc20
from mayavi.protocols.uniswap.route import RouteLike
from mayavi.protocols.vesting_wallet import VestingWallet


class VestingRecipientAgent(Agent):
    """Recipient of `amount` of `token` in an OpenZeppelin VestingWallet, released and sold over `route`.

    `prepare` deploys the wallet with the tokens in it. Vesting begins `start_seconds` later and takes
    `duration_seconds`; a duration of zero is a cliff. Each step it releases what has vested and sells what `plan` says:
    `SellsAtOnce`, `SellsOverSteps(k)` or `SellsAbove(price)`.

        VestingRecipientAgent("team", token="WBTC", amount=100 * 10**8, route=("WBTC", "WETH", 3000),
                              start_seconds=3_600, plan=SellsOverSteps(12))
    """

    def __init__(
        self,
        name: str,
        *,
        token: str,
        amount: int,
        route: RouteLike,
        start_seconds: int = 0,
        duration_seconds: int = 0,
        plan: SalePlan | None = None,
    ) -> None:
        super().__init__(name)
        if amount <= 0:
            raise BadArgument(f"an amount of {amount} {token} cannot vest", "give one above zero, in smallest units")
        if start_seconds < 0 or duration_seconds < 0:
            raise BadArgument(
                f"'{name}' vests from {start_seconds} s for {duration_seconds} s", "times are from zero on"
            )
        self.token, self.amount, self.route = token, amount, route
        self.start_seconds, self.duration_seconds = start_seconds, duration_seconds
        self.plan: SalePlan = SellsAtOnce() if plan is None else plan
        self.tranches: list[Tranche] = []
        """Released tranches, one per step, and how much of each was sold."""

    @property
    def accounts(self) -> tuple[str, ...]:
        """Names of its accounts: its own and its wallet's."""
        return self.name, f"{self.name}.wallet"

    def prepare(self, world: World) -> None:
        """Deploy the wallet with the tokens in it."""
        fork = world.fork
        self.address, place = (world.address(account) for account in self.accounts)
        start, duration = fork.timestamp + self.start_seconds, self.duration_seconds
        if not duration:  # cliff at `start`: a zero duration would divide by zero in that second
            start, duration = start - 1, 1
        self.wallet = VestingWallet.place(fork, place, beneficiary=self.address, start=start, duration=duration)
        fork.deal(self.token, place, self.amount)
        self.tranches = []

    def step(self, world: World, step_idx: int) -> StepResult:
        """Release vested tokens and sell what is due."""
        fork, intents = world.fork, []
        releasable = self.wallet.releasable(self.token)
        if releasable:
            vested: Details = {"token": self.token, "releasable": releasable}
            intents.append(Intent("release", lambda: self._release(step_idx), vested))
        due = self._due(step_idx) + (self.plan.due(Tranche(releasable, step_idx), step_idx) if releasable else 0)
        note = f"{releasable} vested, {due} due"
        if due and price_is_met(fork, self.route, due, self.plan.least_price):
            details: Details = {"token": self.token, "due": due}
            intents.append(Intent("sell", lambda: self._sell(world, step_idx), details))
        elif due:
            note += ", and the price is too low"
        return StepResult(tuple(intents), note)

    def _due(self, step: int) -> int:
        return sum(self.plan.due(tranche, step) for tranche in self.tranches)

    def _release(self, step: int) -> Details:
        released = self.wallet.release(self.token, sender=self.address)
        self.tranches.append(Tranche(released, step))
        return {
            "released": released,
            "left_in_wallet": Erc20(self.wallet.fork, self.token).balance_of(self.wallet.address),
        }

    def _sell(self, world: World, step: int) -> Details:
        due = self._due(step)
        facts = sell(world.fork, self.route, due, sender=self.address, least=self.plan.least_price)
        sold = facts["sold"]
        assert isinstance(sold, int)
        for tranche in self.tranches:  # the oldest first
            part = min(sold, self.plan.due(tranche, step))
            tranche.sold += part
            sold -= part
        return facts

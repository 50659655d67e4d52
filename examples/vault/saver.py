"""Saver: an agent that uses two contracts of the scenario, `gold` and `vault`."""

from __future__ import annotations

from decimal import Decimal

from mayavi import Contract
from mayavi.agents import Agent, StepResult, World
from mayavi.scenarios.setting_types import Distribution, OwnAgentSettings, Share

WAD = 10**18


class Saver(Agent):
    """Deposits its gold at once; withdraws all of it in a step with the chance `leaves`."""

    class Settings(OwnAgentSettings):
        """Keys of the agent in a scenario."""

        gold: Distribution
        """Gold it starts with; drawn for each agent."""
        leaves: Share = Decimal("0.1")
        """Chance to leave in each step."""

    def __init__(self, name: str, *, gold: float, leaves: Decimal) -> None:
        super().__init__(name)
        self.gold, self.leaves = gold, float(leaves)

    def prepare(self, world: World) -> None:
        """Take gold from the deployer, who has all of it, and let the vault collect it."""
        self.account = world.address(self.name)
        gold = world.fork.contract("gold")
        gold.transfer(self.account, int(self.gold * WAD), sender="Mayavi.Market")
        gold.approve(world.fork.address_of("vault"), 2**256 - 1, sender=self.account)

    def step(self, world: World, step_idx: int) -> StepResult:
        """Decide from the state; what is returned runs afterwards."""
        vault, gold = world.fork.contract("vault"), world.fork.contract("gold")
        shares, cash = vault.balanceOf(self.account), gold.balanceOf(self.account)
        if step_idx == 0:
            return self.does("deposit", lambda: self.deposit(vault, cash), details={"gold": cash})
        if shares and world.rng(self.name).random() < self.leaves:
            return self.does("leave", lambda: self.leave(vault, shares), details={"shares": shares})
        return self.rests("it saves")

    def deposit(self, vault: Contract, gold: int) -> dict[str, int]:
        """Deposit; the result is recorded with the action."""
        receipt = vault.deposit(gold, sender=self.account)
        (event,) = vault.events(receipt, "Deposit")
        return {"shares": event.args.shares}

    def leave(self, vault: Contract, shares: int) -> dict[str, int]:
        """Withdraw everything."""
        receipt = vault.withdraw(shares, sender=self.account)
        (event,) = vault.events(receipt, "Withdraw")
        return {"gold": event.args.assets}

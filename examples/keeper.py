"""Train an agent of your own in a scenario: a borrower that may sell collateral before it is liquidated.

    python examples/keeper.py                  # a minute or two of one core
    python examples/keeper.py 6144 200 1       # steps, episodes of the evaluation, seed

`Keeper` is the agent, which `keeper.yaml` names by its import path, `Settings` its keys there, and `build` makes one
from the other. The learner may choose the keeper's own action `deleverage`, and observes its own figure `cushion`. The
same from a shell: `mayavi train --env scenario:examples/keeper.yaml`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mayavi.agents import BorrowerAgent
from mayavi.agents.base import Agent, StepResult, World
from mayavi.agents.lending.behaviours import Move, Passive
from mayavi.rl.config import TrainConfig
from mayavi.rl.evaluation.evaluate import EvaluationSettings
from mayavi.rl.evaluation.models import evaluate_models
from mayavi.rl.models import open_model
from mayavi.rl.training.train import train
from mayavi.scenarios.build.agents.agent_set import AgentSet, BorrowerGroup
from mayavi.scenarios.setting_types import OwnAgentSettings, PositiveRatio, TokenAmount

SCENARIO = Path(__file__).with_name("keeper.yaml")


class Keeper(BorrowerAgent):
    """Borrower whose script does nothing, with an action of its own for a learner."""

    class Settings(OwnAgentSettings):
        """Keys of `kind: keeper:Keeper` in a scenario."""

        collateral: TokenAmount
        """Collateral: 10 WETH."""
        debt: str = "USDC"
        """Token it borrows."""
        health_factor: PositiveRatio = Decimal("1.25")
        """Health factor at which it opens its loan."""

    learner_actions = ("deleverage",)

    @classmethod
    def build(cls, agents: AgentSet, name: str, settings: Settings) -> list[Agent]:
        """Build a keeper, and let liquidators watch it."""
        token, amount = settings.collateral
        agents.borrower_groups[name] = BorrowerGroup("AaveV3", (name,), token, settings.debt)
        return [
            cls(
                name,
                collateral=token,
                collateral_amount=agents.units(token, amount or Decimal(0)),
                debt=settings.debt,
                target=settings.health_factor,
                behaviour=Passive(),
                route=(token, settings.debt, 500),
                cash_share=0,
            )
        ]

    def act(self, world: World, action: str, share_ppm: int) -> StepResult:
        """Raise the health factor by a share: withdraw collateral, sell it and repay, all or nothing."""
        health = self.loan.lending.account(self.address).health()
        target = health.health_factor_wad * (10**6 + share_ppm) // 10**6
        move = Move("repay", "the learner deleverages", target, sells_collateral=True)
        intent = self.loan.intent(self.name, self.address, move, health)
        return StepResult(() if intent is None else (intent,))

    def own_figures(self, world: World) -> Mapping[str, tuple[int, str]]:
        """Fall of the collateral's price that leads to a liquidation, as a share."""
        health = self.loan.lending.account(self.address).health()
        left = health.limit_e8 - health.debt_value_e8
        return {"cushion": (left * 10**18 // health.limit_e8 if health.limit_e8 else 0, "wad")}


def main(timesteps: int = 6_144, episodes: int = 200, seed: int = 0) -> dict[str, Any]:
    """Train a policy, and return its comparison with doing nothing on episodes that it has not seen."""
    with TemporaryDirectory() as folder:
        models = Path(folder)
        config = TrainConfig.of({
            "env": f"scenario:{SCENARIO}",
            "framework": "sb3",
            "timesteps": timesteps,
            "seed": seed,
            "gamma": 0.95,
            "learning_rate": 0.001,
            "reward_scale": 10.0,
        })  # fmt: skip
        done = train(config, models=models)
        print(f"{done.steps:,} steps in {done.seconds:.0f} s")
        settings = EvaluationSettings(episodes)
        document = evaluate_models([open_model(done.run_id, models)], ["noop"], settings, config={"split": "test"})
    for name in ("ppo", "noop"):
        print(f"{name:5} mean reward {document[name]['mean_reward']:.4f} in {episodes} episodes of the test split")
    (found,) = document["comparisons"]
    print(f"{found['verdict']}: {found['reason']}")
    return document


if __name__ == "__main__":
    main(*(int(each) for each in sys.argv[1:]))

"""Where a row environment exists for the same thing, the scenario environment gives the same integers.

First the simulations that prove the row environments, with their scripted borrower taken over by a learner. Then a
scenario in YAML, with the kinds of the library.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from mayavi.gym_env import make_rows
from mayavi.protocols.aave.market import AaveV3
from mayavi.scenario_env import ScenarioRows, Simulation, Simulations
from mayavi.scenario_env.config import ScenarioEnvConfig
from mayavi.sim.market_figures import AaveFigures
from tests.gym_env.lending.by_scheduler import PlayedBySimulation
from tests.gym_env.lending.starts import fixed_start, opening_amounts
from tests.states import state_of

SAME = {
    "own.supplied.WETH": "collateral",
    "own.owed.USDC": "debt",
    "own.collateral": "collateral_value_e8",
    "own.debt": "debt_value_e8",
    "own.health_factor": "health_factor_wad",
    "own.balance.USDC": "cash",
    "own.wealth": "net_wealth_e8",
    "AaveV3.WETH.price": "price_e8",
}
"""Figures of the learner and their names in the row environment."""
RATES = {"AaveV3.USDC.borrow_rate": "borrow_rate_wad", "AaveV3.WETH.supply_rate": "supply_rate_wad"}
LEARNER: dict[str, Any] = {
    "agent": "borrower",
    "observes": [*SAME, *RATES, "own.headroom"],
    "reward": "pnl",
    "tokens": ["USDC"],
}
DISCRETE = {
    "aave": ["repay 100% USDC", "borrow 25% USDC"],
    "aave-shock": ["repay 25% USDC", "repay 100% USDC", "borrow 25% USDC", "borrow 50% USDC"],
}
CONTINUOUS = [{"do": "borrow", "token": "USDC", "opposite": "repay USDC"}]
HORIZON = 5


def assert_same(rows: Any, mine: ScenarioRows) -> None:
    theirs, own = rows.exact(), mine.exact()
    assert {name: own[name][0] for name in SAME} == {name: theirs[other][0] for name, other in SAME.items()}
    assert {name: own[name][0] // 10**9 for name in RATES} == {name: theirs[other][0] for name, other in RATES.items()}
    for name in ("block", "timestamp"):
        assert own[name] == theirs[name][:1]


def sampled(env: Any, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    if env.config.actions == "discrete":
        return np.array([rng.integers(env.action_space.n)])
    return np.array([[rng.uniform(-1, 1) if rng.random() < 0.8 else rng.choice([-1.0, 1.0])]], dtype=np.float32)


def play_both(rows: Any, mine: ScenarioRows, episode: int, *, states: bool) -> bool:
    """Play an episode at random in row 0 of both and compare it step by step; whether it was liquidated."""
    rng = np.random.default_rng(episode)
    mine.begin([0], [episode])
    rows.begin([0], [episode])
    live = np.arange(rows.rows) == 0
    assert_same(rows, mine)
    for _ in range(HORIZON):
        action = sampled(mine, rng)
        stepped = rows.step(np.repeat(action, rows.rows, axis=0), live)
        mine.step(action)
        if stepped.terminated[0]:
            return True
        assert_same(rows, mine)
        assert mine.exact()["failed_actions"] == [0]
        if states:
            assert state_of(rows.fleet.fork(0)) == state_of(mine.episode(0).world.fork)
    return False


@pytest.mark.slow(0.3)
@pytest.mark.parametrize("name", ["aave", "aave-shock"])
@pytest.mark.parametrize("actions", ["discrete", "continuous"])
def test_a_learner_in_the_place_of_a_scripted_borrower_gives_the_integers_of_the_row_environment(
    name: str, actions: str
) -> None:
    rows = make_rows(name, 2, horizon=HORIZON, actions=actions, **_risky(name))

    def build(seed: int) -> Simulation:
        played = PlayedBySimulation(rows, seed)
        readers = [AaveFigures(AaveV3(played.fork), ["WETH", "USDC"])]
        return Simulation(played.world, played.scheduler, readers)

    learner = LEARNER | {"actions": DISCRETE[name] if actions == "discrete" else CONTINUOUS, "action_space": actions}
    mine = ScenarioRows(ScenarioEnvConfig(), episodes=Simulations(build, steps=HORIZON, learner=learner))
    ended = [play_both(rows, mine, episode, states=True) for episode in range(6)]
    assert any(ended) == (name == "aave-shock")


def _risky(name: str) -> dict[str, Any]:
    return {"health_factor": (1.02, 1.2), "volatility": (1.0, 3.0)} if name == "aave-shock" else {}


SCENARIO = """
chain: ethereum
steps: {steps}
step_blocks: {blocks}
prices:
  WETH: {{process: path, data: "{prices}"}}
agents:
  borrower: {{kind: borrower, collateral: {{WETH: {collateral}}}, debt: {{USDC: {debt}}}, cash: 100%}}
  liquidator: {{kind: liquidator, frictionless: true}}
blocks: {{borrower: [borrower], market: [prices], liquidation: [liquidator]}}
"""


def test_a_yaml_of_the_librarys_kinds_gives_the_integers_of_the_row_environment() -> None:
    rows = make_rows("aave-shock", 1, horizon=HORIZON, start="fixed", **_risky("aave-shock"))
    amounts = opening_amounts(rows.adapter, fixed_start(rows.adapter.unit))
    ended = []
    for episode in range(5):
        rows.begin([0], [episode])
        path = rows.columns["path_e8"][0].tolist()  # a step posts the price that the borrower sees next
        times = [
            f"{at * rows.step_seconds},{Decimal(price).scaleb(-8)}" for at, price in enumerate([*path[1:], path[-1]])
        ]
        text = SCENARIO.format(
            steps=HORIZON,
            blocks=rows.step_blocks,
            prices="\\n".join(["time,price", *times]),
            collateral=Decimal(amounts["supply"]).scaleb(-18),
            debt=Decimal(amounts["borrow"]).scaleb(-6),
        )
        learner = LEARNER | {"actions": DISCRETE["aave-shock"]}
        mine = ScenarioRows(ScenarioEnvConfig(scenario=f"name: same\n{text}", learner=learner))
        ended.append(play_both(rows, mine, episode, states=False))
    assert any(ended)

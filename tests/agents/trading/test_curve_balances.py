"""A Curve pool moved to recorded balances, to the unit."""

from __future__ import annotations

import json

from mayavi import Fork
from mayavi.scenarios.build.build import build
from mayavi.scenarios.loading import load_text

SCENARIO = """
name: pool
chain: ethereum
steps: 3
step_time: 1h
tokens: {stETH: {supply: 1_000_000}}
curve_pools: {steth: {balances: {WETH: 1000, stETH: 1000}, a: 50}}
agents:
  providers:
    kind: curve_balances
    pool: Curve.steth
    data: |
      time,WETH,stETH
      0,1000,2500
      7200,300.5,4000
"""


def test_the_pool_reaches_every_balance_of_the_record() -> None:
    scenario = load_text(SCENARIO)
    built = build(scenario.config, Fork.replica("ethereum"), seed=1)
    rows = [row for _ in range(3) for row in built.scheduler.tick()[0]]
    assert [(row.step, row.kind, row.status) for row in rows] == [
        (0, "rebalance", "success"),
        (2, "rebalance", "success"),
    ]
    details = [json.loads(row.details) for row in rows]
    assert details[0]["balance_stETH"] == str(2500 * 10**18)
    assert (details[1]["balance_WETH"], details[1]["balance_stETH"]) == (str(3005 * 10**17), str(4000 * 10**18))
    (price,) = [
        figure.value / 10**18
        for reader in built.snapshots.readers
        for figure in reader.read(built.world, lambda _: None)
        if figure.metric == "price_stETH"
    ]
    assert 0.5 < price < 0.95

"""Recorded liquidations: the amounts of the record, in its order, with both amounts in the rows."""

from __future__ import annotations

import json

from mayavi import Fork
from mayavi.agents.lending.position_holders import PositionHolders
from mayavi.agents.lending.position_opening import OpeningPosition
from mayavi.agents.liquidation.recorded_liquidations import RecordedLiquidation, RecordedLiquidationsAgent
from mayavi.protocols import AaveV3, PriceFeed
from mayavi.sim import AgentBlock, Scheduler, WorldState

CRV, USDC = 10**18, 10**6


def run(*calls: RecordedLiquidation, steps: int = 3):
    fork = Fork.replica("ethereum")
    position = OpeningPosition("a", {"WETH": 10 * 10**18}, {"USDC": 20_000 * USDC})
    holders = PositionHolders("book", positions=[position], allow_unhealthy=True)
    replay = RecordedLiquidationsAgent("bots", market="AaveV3", calls=calls)
    world = WorldState(fork, [holders, replay], seed=1)
    feed = PriceFeed(fork, AaveV3(fork).oracle.getSourceOfAsset(AaveV3(fork).address_of("WETH")))
    feed.set_price("2400")  # 10 WETH at 83 %: a health factor of 0.996
    scheduler = Scheduler(world, [AgentBlock("market", [holders, replay])], ordering="fifo")
    rows = [row for _ in range(steps) for row in scheduler.tick()[0]]
    return fork, rows


def test_a_call_repays_the_recorded_amount_at_its_step() -> None:
    fork, rows = run(RecordedLiquidation(1, "x", "book-a", "WETH", "USDC", 3_000 * USDC, 10**18))
    (row,) = rows
    details = json.loads(row.details)
    assert (row.step, row.kind, row.status, row.account) == (1, "liquidate", "success", "bots-x")
    assert details["covered"] == details["recorded_covered"] == str(3_000 * USDC)
    assert details["recorded_seized"] == str(10**18)
    # 3,000 / 2,400 WETH with a bonus of 5 %, of which a tenth goes to the treasury
    assert abs(int(details["seized"]) - 3_000 * 10**18 * 1045 // 2_400 // 1_000) < 10**15
    assert int(details["profit_e8"]) > 0
    del fork


def test_calls_of_a_step_keep_their_order_and_a_refused_one_is_a_failed_action() -> None:
    calls = [RecordedLiquidation(0, name, "book-a", "WETH", "USDC", 8_000 * USDC, None) for name in "abc"]
    _, rows = run(*calls)
    assert [row.account for row in rows] == ["bots-a", "bots-b", "bots-c"]
    assert [row.status for row in rows] == ["success", "failed", "failed"]  # healthy after the first
    assert "recorded_seized" not in json.loads(rows[0].details)

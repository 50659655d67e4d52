"""All agents in one run: listing order and threads change nothing, the seed does."""

from __future__ import annotations

from collections import Counter

import pytest

from mayavi.agents import (
    ArbitrageurAgent,
    BorrowerAgent,
    BorrowerPopulation,
    CurveBorrowerAgent,
    FeedPrices,
    KeepsBand,
    LiquidatorAgent,
    OracleShockAgent,
    Panics,
    Passive,
    RampShock,
    SellsOverSteps,
    VestingRecipientAgent,
)
from mayavi.agents.base import Agent
from mayavi.evm.units import gwei
from mayavi.markets.distributions import LogNormal, Uniform
from mayavi.protocols import Erc20
from mayavi.sim.agent_blocks import AgentBlock
from mayavi.sim.rows import ActionRow
from mayavi.sim.rows_digest import RowsDigest
from mayavi.sim.scheduler import Scheduler
from mayavi.sim.world_state import WorldState
from tests.agents.stage import DIRECT, ETH_FEED, WETH, replica

FEEDS = FeedPrices({"WETH": ETH_FEED, "USDC": "Chainlink.USDC/USD"})


def company() -> list[Agent]:
    crowd = BorrowerPopulation(
        "crowd",
        members=40,
        collateral="WETH",
        collateral_amount=LogNormal(5, 1),
        debt="USDC",
        target=Uniform(1.15, 2),
        behaviours=[(Passive(), 3), (KeepsBand("1.1"), 1), (Panics(below="1.15"), 1)],
        route=DIRECT,
    )
    return [
        OracleShockAgent("crash", feeds=[ETH_FEED], shock=RampShock(0, 4, "-0.35")),
        BorrowerAgent(
            "alice", collateral="WETH", collateral_amount=50 * WETH, debt="USDC", target=1.4, route=DIRECT, cash_share=0
        ),
        crowd,
        BorrowerAgent(
            "bob",
            market="cUSDCv3",
            collateral="WETH",
            collateral_amount=50 * WETH,
            debt="USDC",
            target=1.3,
            cash_share=0,
        ),
        *(
            LiquidatorAgent(
                name,
                watch=[*crowd.accounts, "alice"],
                collaterals=["WETH"],
                debts=["USDC"],
                routes={"WETH": DIRECT},
                capital={"USDC": 10**12},
            )
            for name in ("bot one", "bot two")
        ),
        ArbitrageurAgent("arb", pool=DIRECT, capital={"WETH": 50_000 * WETH, "USDC": 10**14}, reference=FEEDS),
        VestingRecipientAgent(
            "team", token="WBTC", amount=10**10, route=("WBTC", "WETH", 3_000), plan=SellsOverSteps(3)
        ),
        CurveBorrowerAgent("looper", collateral="USDC", amount=10**12, debt="DAI", pool="Curve.3pool", target="1.1"),
    ]


def played(agents: list[Agent], seed: int = 5, threads: int = 1) -> tuple[list[ActionRow], str]:
    world = WorldState(replica(), agents, seed=seed, threads=threads)
    scheduler = Scheduler(world, [AgentBlock("all", agents)], base_fee_wei=gwei(10), halt_on_exception=True)
    rows, digest = [], RowsDigest()
    supplies = {token: Erc20(world.fork, token) for token in ("WETH", "USDC", "DAI", "WBTC")}
    scheduler.begin()
    before = {name: token.total_supply for name, token in supplies.items()}
    for _ in range(7):
        actions, _ = scheduler.tick()
        rows += actions
        digest.add(actions)
    # Nobody makes money out of nothing: after `prepare` no token is dealt any more.
    assert {name: token.total_supply for name, token in supplies.items()} == before
    return rows, digest.hexdigest()


@pytest.mark.slow(1)
def test_places_in_the_list_and_threads_change_nothing_and_a_seed_does() -> None:
    rows, digest = played(company())
    assert played(company()[::-1])[1] == digest
    assert played(company(), threads=2)[1] == digest
    assert played(company(), seed=6)[1] != digest
    kinds = Counter((row.kind, row.status) for row in rows)
    for kind in ("shock_price", "liquidate", "arbitrage", "release", "sell"):
        assert kinds[kind, "success"], kinds
    assert kinds["liquidate", "failed"]
    assert not any(status == "raised" for _, status in kinds)
    for row in rows:
        assert row.status == "success" or row.reason


def test_the_record_says_whose_health_factor_it_was() -> None:
    rows, _ = played(company())
    for row in rows:
        if row.kind == "liquidate":
            assert '"borrower":' in row.details
            assert '"borrower_health_factor_wad":' in row.details
            if row.status == "success":
                assert all(f'"{fact}":' in row.details for fact in ("covered", "seized", "profit", "profit_e8"))
        elif row.kind in {"repay", "borrow", "deleverage", "exit"}:
            assert '"health_factor_wad":' in row.details
            if row.status == "success":
                assert '"health_factor_after_wad":' in row.details

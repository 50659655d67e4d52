"""What decides how much liquidators save: depth, their number, capital, latency, each in the direction theory says."""

from __future__ import annotations

from decimal import Decimal
from functools import cache

import pytest

from mayavi.scenarios.build.build import build
from mayavi.scenarios.build.chain.creation import Liquidity, provide
from mayavi.scenarios.build.chain.routes import pool_named
from mayavi.scenarios.loading import load_text
from tests.agents.stage import replica
from tests.scenarios.play import Played, play

CRASH = """\
name: crash
chain: ethereum
steps: 14
step_blocks: 5
prices: {WETH: {process: ramp, at: 1, steps: 10, size: -45%}}
agents:
  people:
    kind: borrower
    count: 30
    collateral: WETH
    debt: USDC
    size_usd: {lognormal: {median: 50_000, sigma: 1}}
    health_factor: {uniform: [1.05, 1.6]}
  bots: {kind: liquidator, capital: {USDC: 10_000_000}, priority_fee: 3 gwei}
  arb: {kind: arbitrageur, pool: WETH/USDC.500, capital: {WETH: 100_000, USDC: 200_000_000}, priority_fee: 5 gwei}
ordering: priority_fee
gas: {base_fee: 20 gwei}
"""


@cache
def crash(*overrides: str) -> Played:
    return play("", text=CRASH, overrides=overrides)


def bad_debt(*overrides: str) -> float:
    return crash(*overrides).kpis["bad_debt"] / 10**8


@pytest.mark.slow(2)
def test_slower_liquidators_leave_more_bad_debt() -> None:
    fast, slow, slowest = (bad_debt(f"agents.bots.latency_blocks={blocks}") for blocks in (0, 15, 60))
    assert fast < slow < slowest
    assert fast == 0
    assert crash("agents.bots.latency_blocks=60").kpis["limited.latency"] > 5
    assert crash("agents.bots.notices=100%").kpis["limited.latency"] == 0


@pytest.mark.slow
def test_less_capital_leaves_more_bad_debt_and_says_so() -> None:
    rich, poor = crash(), crash("agents.bots.capital={USDC: 300}")
    assert rich.kpis["bad_debt"] < poor.kpis["bad_debt"]
    assert rich.kpis["limited.capital"] == 0
    assert poor.kpis["limited.capital"] > 5


@pytest.mark.slow(2)
def test_more_liquidators_leave_less_bad_debt_where_each_can_do_little() -> None:
    few = ["agents.bots.most_a_block=1", "agents.bots.capital={USDC: 2_000}"]
    one, many = bad_debt(*few), bad_debt(*few, "agents.bots.count=8")
    assert many < one


@pytest.mark.slow(2)
def test_three_or_thirty_make_no_difference_where_one_could_do_it_all() -> None:
    assert bad_debt("agents.bots.count=3") == bad_debt("agents.bots.count=30") == 0


@pytest.mark.slow(1)
def test_a_deeper_pool_leaves_less_bad_debt_where_it_is_what_limits() -> None:
    text = CRASH.replace("{median: 50_000, sigma: 1}", "{median: 4_000_000, sigma: 0.3}")
    config = load_text(text.replace("USDC: 10_000_000", "USDC: 900_000_000")).config

    def left(extra: int) -> tuple[int, int]:
        fork = replica()
        if extra:
            amounts = {"WETH": Decimal(extra), "USDC": Decimal(extra) * 2_562}
            provide(fork, pool_named(fork, "WETH/USDC.500"), Liquidity("depth", "WETH", amounts, None, None))
        built = build(config, fork, 7)
        for _ in range(built.steps):
            built.scheduler.tick()
        kpis = {row.name: int(row.value) for row in built.kpis(built.world)}
        return kpis["bad_debt"], kpis["limited.depth"]

    (shallow, held_up), (deep, _) = left(0), left(100_000)
    assert deep < shallow // 10
    assert held_up > 10


@pytest.mark.slow(2)
def test_the_key_for_the_depth_of_pools_decides_as_a_deeper_pool_does() -> None:
    text = CRASH.replace("{median: 50_000, sigma: 1}", "{median: 4_000_000, sigma: 0.3}")
    text = text.replace("USDC: 10_000_000", "USDC: 900_000_000")
    half, usual, deep = (
        play("", text=text, overrides=[f"pool_depth={depth}"]).kpis["bad_debt"] for depth in ("50%", "1", "30")
    )
    assert half > usual > 10 * deep


@pytest.mark.slow(2)
def test_what_a_run_leaves_does_not_depend_on_the_length_of_its_steps() -> None:
    """The same market at steps of one, five and fifteen blocks; the price falls by two percent in the longest."""
    text = CRASH.replace("size: -45%", "size: -20%")

    def liquidated(blocks: int) -> tuple[float, float]:
        steps, ramp = 14 * 5 * 3 // blocks, 10 * 5 * 3 // blocks
        own = text.replace("steps: 14", f"steps: {steps}").replace("step_blocks: 5", f"step_blocks: {blocks}")
        played = play("", text=own.replace("steps: 10,", f"steps: {ramp},"))
        return played.kpis["bad_debt"] / 10**8, played.kpis["liquidated"] / 10**8

    found = [liquidated(blocks) for blocks in (3, 5, 15)]
    assert {bad for bad, _ in found} == {0.0}
    values = [value for _, value in found]
    assert max(values) < 1.15 * min(values)

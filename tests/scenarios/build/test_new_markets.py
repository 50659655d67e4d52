"""Markets that scenarios create: Aave V2 and Curve pools, and what is refused."""

from __future__ import annotations

import pytest

from mayavi import Fork
from mayavi.errors import BadScenario, MayaviError
from mayavi.protocols import AaveV2, CurveStableSwap
from mayavi.scenarios.build.build import build
from mayavi.scenarios.loading import load_text

RESERVE = "{ltv: 80%, liquidation_threshold: 85%, liquidation_bonus: 5%, supplied: 1000}"
SCENARIO = """
name: x
chain: ethereum
steps: 3
step_time: 1h
aave_v2: {{USDC: {reserve}, WETH: {{ltv: 70%, liquidation_threshold: 75%, liquidation_bonus: 5%}}}}
agents:
  borrowers: {{kind: borrower, protocol: aave_v2, collateral: 2 WETH, debt: 500 USDC}}
"""


def test_borrowers_and_liquidators_use_the_created_market() -> None:
    text = SCENARIO.format(reserve=RESERVE) + (
        "  bots: {kind: liquidator, protocol: aave_v2, frictionless: true}\n"
        "  fall: {kind: oracle_shock, asset: WETH, at: 1, size: -90%}\n"
    )
    built = build(load_text(text).config, Fork.replica("ethereum"), seed=1)
    rows = [row for _ in range(3) for row in built.scheduler.tick()[0]]
    assert "liquidate" in {row.kind for row in rows if row.status == "success"}
    kpis = {row.name: row.number for row in built.kpis(built.world)}
    assert kpis["liquidated_accounts"] == 1
    assert kpis["bad_debt"] > 0
    assert AaveV2(built.world.fork).reserve("USDC").borrowed > 0


def test_positions_beyond_the_limit_are_opened_at_a_low_price_that_is_put_back() -> None:
    text = SCENARIO.format(reserve=RESERVE).partition("agents:")[0] + (
        "agents:\n  positions:\n    kind: positions\n    protocol: aave_v2\n    allow_unhealthy: true\n    data: |\n"
        "      account,asset,collateral,debt\n      a,WETH,0.1,\n      a,USDC,,900\n"
    )
    fork = Fork.replica("ethereum")
    built = build(load_text(text).config, fork, seed=1)
    before = AaveV2(fork).price_usd_e8("USDC")
    built.scheduler.tick()
    assert AaveV2(fork).price_usd_e8("USDC") == before
    (holders,) = [agent for agent in built.world.agents if agent.name == "positions"]
    assert len(holders.beyond_limit) == 1


@pytest.mark.parametrize(
    ("reserve", "message"),
    [
        ("{ltv: 90%, liquidation_threshold: 85%, liquidation_bonus: 5%}", "above its liquidation threshold"),
        ("{ltv: 80%, liquidation_threshold: 85%}", "liquidation_bonus"),
        ("{ltv: 80%, liquidation_threshold: 85%, liquidation_bonus: 105%}", "6% rather than 106%"),
        ("{ltv: 80%, liquidation_threshold: 85%, liquidation_bonus: 5%, cap: 3}", "unknown key 'cap'"),
    ],
)
def test_bad_parameters_are_refused(reserve: str, message: str) -> None:
    with pytest.raises(BadScenario) as found:
        load_text(SCENARIO.format(reserve=reserve))
    assert message in found.value.message + (found.value.hint or "")


def test_without_the_market_a_borrower_is_told_how_to_create_one() -> None:
    text = SCENARIO.format(reserve=RESERVE).replace("aave_v2: {USDC", "watch: {assets: [USDC]}\n#")
    with pytest.raises(MayaviError) as found:
        build(load_text(text).config, Fork.replica("ethereum"), seed=1)
    assert "Aave V2" in found.value.message


def test_a_curve_pool_has_the_given_balances_and_a_name_of_its_own() -> None:
    text = (
        "name: x\nchain: ethereum\nsteps: 1\nstep_time: 1h\ncurve_pools:\n  mine: {{balances: {balances}, a: 100}}\n"
        "agents: {{b: {{kind: borrower, collateral: 1 WETH, debt: 100 USDC}}}}\n"
    )
    fork = Fork.replica("ethereum")
    build(load_text(text.format(balances="{USDC: 1000, DAI: 2000, USDT: 3000}")).config, fork, seed=1)
    pool = CurveStableSwap(fork, "Curve.mine")
    assert pool.balances == (1000 * 10**6, 2000 * 10**18, 3000 * 10**6)
    assert pool.a == 100
    taken = load_text(text.format(balances="{USDC: 1, DAI: 2}").replace("mine", "fraxusdc"))
    with pytest.raises(BadScenario, match="already"):
        build(taken.config, Fork.replica("ethereum"), seed=1)
    with pytest.raises(BadScenario, match="balances"):
        load_text(text.format(balances="{USDC: 1}"))

"""PT of Pendle as a reserve of Aave V3: listed by its configurator, on both generations."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from mayavi.errors import BadArgument, BadScenario, CallReverted
from mayavi.protocols import AaveV3, PendleMarket, PriceFeed
from mayavi.protocols.aave.configurator import AaveConfigurator
from mayavi.protocols.aave.listing import ReserveTerms, list_reserve
from mayavi.protocols.aave.rates import optimal_usage_ray
from mayavi.scenarios.build.build import Built, build, set_up
from mayavi.scenarios.loading import load_text
from mayavi.sim.rows import ActionRow
from tests.states import state_of

SCENARIO = """\
name: pt
chain: ethereum
steps: 4
step_blocks: 100
prices:
  WETH: {process: step, at: 2, size: -11%}
pendle_markets:
  PT: {asset: WETH, rate: 1.1547, growth: 3%, implied_rate: 3%, discount: 5%, liquidity: 10_000}
aave_v3:
  PT: {ltv: 75%, liquidation_threshold: 80%, liquidation_bonus: 8%, base_rate: 2%, supplied: 10}
parameters:
  aave_v3.PT: {supply_cap: 5_000, liquidation_protocol_fee: 10%}
agents:
  looper: {kind: borrower, collateral: 100 PT, debt: USDC, health_factor: 1.1, behaviour: hold}
  bot:
    kind: liquidator
    capital: {USDC: 5_000_000}
    notices: 100%
    routes:
      PT: {pendle: PT, then: {uniswap_v3: [wstETH, 100, WETH, 500, USDC]}}
"""


class Case(NamedTuple):
    version: str
    pt: str
    world: str

    @property
    def text(self) -> str:
        return SCENARIO.replace("PT", self.pt) + self.world


CASES = [
    Case("3.0", "PT-wstETH-11JUL2024", ""),
    Case("3.6", "PT-wstETH-25JUN2026", "world: ethereum@2025-12\n"),
]


def played(text: str) -> tuple[Built, list[ActionRow], dict[str, int]]:
    scenario = load_text(text)
    built = build(scenario.config, scenario.world().open(), 7)
    rows = [row for _ in range(built.steps) for row in built.scheduler.tick()[0]]
    return built, rows, {row.name: int(row.value) for row in built.kpis(built.world)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.version)
def test_a_pt_is_listed_with_what_the_scenario_says(case: Case) -> None:
    scenario = load_text(case.text)
    fork = scenario.world().open()
    before = AaveV3(fork).symbols
    set_up(scenario.config, fork)
    market = AaveV3(fork)
    assert market.generation.version == case.version
    assert market.symbols == (*before, case.pt)
    reserve = market.reserve(case.pt)
    values = AaveConfigurator(market).reserve_values(case.pt)
    expected = {"ltv_bps": 7_500, "liquidation_threshold_bps": 8_000, "liquidation_bonus_bps": 10_800}
    assert values | expected | {"supply_cap": 5_000, "liquidation_protocol_fee_bps": 1_000} == values
    assert not values["borrowing"]
    assert reserve.variable_borrow_rate_ray == 2 * 10**25  # of an unused curve: its base
    assert optimal_usage_ray(market, reserve) == 8 * 10**26
    assert reserve.price_usd_e8 == PriceFeed(fork, f"Pendle.{case.pt}/USD").answer
    assert reserve.supplied == reserve.available == 10 * 10**18
    for token, start in ((reserve.a_token, "a"), (reserve.variable_debt_token, "variableDebt")):
        assert fork.contract(token, ["symbol() view returns (string)"]).symbol() == f"{start}{case.pt}"
    assert fork.address_of(f"AaveV3.a{case.pt}") == reserve.a_token


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.version)
def test_a_borrower_is_liquidated_and_its_pt_leaves_through_pendle(case: Case) -> None:
    built, rows, kpis = played(case.text)
    assert not [row for row in rows if row.status == "raised"]
    done = [json.loads(row.details) for row in rows if (row.kind, row.status) == ("liquidate", "success")]
    assert done
    assert {each["collateral"] for each in done} == {case.pt}
    assert all(int(each["received"]) > int(each["paid"]) > 0 for each in done)
    scenario = load_text(case.text)
    fork = scenario.world().open()
    set_up(scenario.config, fork)
    name = f"Pendle.{case.pt.removeprefix('PT-')}"
    start, end = (PendleMarket(each, name).state.total_pt for each in (fork, built.world.fork))
    assert end - start == sum(int(each["seized"]) for each in done)
    assert kpis["bad_debt"] == kpis["liquidatable_accounts"] == 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.version)
def test_without_an_exit_a_pt_leaves_bad_debt(case: Case) -> None:
    thin = case.text.replace("liquidity: 10_000", "liquidity: 0.001").replace("size: -11%", "size: -40%")
    _, rows, kpis = played(thin)
    assert not [row for row in rows if row.kind == "liquidate" and row.status == "success"]
    assert kpis["limited.depth"] == kpis["liquidatable_accounts"] == 1
    assert kpis["bad_debt"] > 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.version)
def test_what_aave_refuses_changes_nothing(case: Case) -> None:
    scenario = load_text(case.text)
    fork = scenario.world().open()
    set_up(scenario.config, fork)
    market, before = AaveV3(fork), state_of(fork)
    with pytest.raises(BadArgument, match="lists WETH already"):
        list_reserve(market, "WETH", "Chainlink.ETH/USD", ReserveTerms(7_500, 8_000, 10_500))
    with pytest.raises(CallReverted, match="would seize more than there is"):
        list_reserve(market, "SY-wstETH", f"Pendle.{case.pt}/USD", ReserveTerms(9_000, 9_500, 10_800))
    assert state_of(fork) == before
    assert "SY-wstETH" not in market.symbols


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.version)
def test_a_pt_joins_an_emode_and_borrows_more_there(case: Case) -> None:
    text = case.text.replace("base_rate: 2%", "emodes: [1]").replace("debt: USDC", "debt: WETH, emode: 1")
    text = text[: text.index("  bot:")] + case.world
    built, rows, _ = played(text.replace("supplied: 10", "supplied: 0").replace("size: -11%", "size: 0%"))
    market = AaveV3(built.world.fork)
    assert market.address_of(case.pt) in market.emode_collateral(1)
    assert case.pt in market.emode(1).assets
    assert not [row for row in rows if row.status != "success"]
    looper = market.account(built.world.address("looper-0"))
    mode = market.emode(1)
    limit = looper.data().liquidation_threshold_bps
    assert (looper.emode, limit) == (1, mode.liquidation_threshold_bps)
    assert limit > AaveConfigurator(market).reserve_values(case.pt)["liquidation_threshold_bps"]


@pytest.mark.parametrize(
    ("case", "emodes", "message"),
    [
        (CASES[0], "[1, 2]", "on V3.0 it can be in one"),
        (CASES[0], "[200]", "unknown eMode category 200"),
        (CASES[1], "[200]", "unknown eMode category 200"),
        (CASES[1], "[0]", "at least 1"),
    ],
)
def test_an_emode_that_is_not_there_is_refused(case: Case, emodes: str, message: str) -> None:
    with pytest.raises(BadScenario) as caught:
        played(case.text.replace("base_rate: 2%", f"emodes: {emodes}"))
    assert message in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  PT: {ltv: 75%", "  WETH: {ltv: 75%", "lists WETH already"),
        ("  PT: {ltv: 75%", "  PT-wstETH-12JUL2024: {ltv: 75%", "PT-wstETH-12JUL2024"),
        ("  PT: {ltv: 75%", "  PT: {ltv: 85%", "above its liquidation threshold"),
        ("liquidation_threshold: 80%", "liquidation_threshold: 95%", "would seize more than there is"),
        ("supplied: 10}", "slope1: 0.00005}", "Aave V3 counts in hundredths of a percent"),
    ],
)
def test_what_does_not_fit_is_refused(old: str, new: str, message: str) -> None:
    assert old in SCENARIO
    text = SCENARIO.replace(old, new).replace("PT:", "PT-wstETH-11JUL2024:").replace(" PT,", " PT-wstETH-11JUL2024,")
    with pytest.raises(BadScenario) as caught:
        played(text.replace("aave_v3.PT:", "aave_v3.PT-wstETH-11JUL2024:"))
    assert message in f"{caught.value.message} {caught.value.hint}"

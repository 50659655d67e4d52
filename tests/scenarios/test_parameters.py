"""Protocol parameters of a scenario: from the start or at a step, and refused with the protocol's reason."""

from __future__ import annotations

import json

import pytest

from mayavi.errors import BadScenario, UsageError
from mayavi.protocols import AaveV3, CometConfigurator, CompoundV3, SparkLend
from mayavi.scenarios.loading import load_text
from tests.scenarios.play import play

SCENARIO = """\
name: mine
chain: ethereum
steps: 4
step_time: 5 minutes
agents:
  alice: {kind: borrower, collateral: {WETH: 10}, debt: {USDC: 19_000}}
  bot: {kind: liquidator, capital: {USDC: 5_000_000}}
"""
THRESHOLD = "parameters={aave_v3.WETH: {ltv: 60%, liquidation_threshold: 62%, liquidation_bonus: 7%}}"


def test_what_holds_from_the_start_holds_before_loans_are_opened() -> None:
    played = play("", text=SCENARIO.replace("19_000", "15_000"), overrides=[THRESHOLD])
    own = AaveV3(played.built.world.fork).reserve("WETH").configuration
    assert (own.ltv_bps, own.liquidation_threshold_bps, own.liquidation_bonus_bps) == (6_000, 6_200, 10_700)
    (factor,) = {row.number for row in played.snapshots if row.step == -1 and row.metric == "health_factor"}
    assert factor == pytest.approx(10 * 2562.92441874 * 0.62 / (15_000 * 0.99997427), rel=1e-6)
    assert [row for row in played.actions if row.agent == "governance"] == []
    with pytest.raises(UsageError, match=r"agents\.alice cannot borrow 19,000 USDC: 36 COLLATERAL_CANNOT_COVER"):
        play("", text=SCENARIO, overrides=[THRESHOLD])


@pytest.mark.parametrize("gas", ["", "gas: {base_fee: 20 gwei}\n"])
def test_a_change_at_a_step_is_an_action_that_agents_of_that_step_see(gas: str) -> None:
    changes = "parameters.aave_v3.WETH=[{at: 2, ltv: 60%, liquidation_threshold: 70%}, {at: 3, supply_cap: 7}]"
    played = play("", text=SCENARIO + gas, overrides=[changes])
    rows = [row for row in played.actions if row.agent == "governance"]
    assert [(row.step, row.kind, row.status, row.transactions) for row in rows] == [
        (2, "set_parameters", "success", 1),
        (3, "set_parameters", "success", 1),
    ]
    facts = json.loads(rows[0].details)
    assert facts == {
        "target": "aave_v3.WETH",
        "ltv_bps": "6000",
        "ltv_bps_before": "8050",
        "liquidation_threshold_bps": "7000",
        "liquidation_threshold_bps_before": "8300",
    }
    taken = [row for row in played.actions if row.kind == "liquidate" and row.status == "success"]
    assert {row.step for row in taken} == {2}  # in the same step, after the change
    assert int(rows[0].fee_wei) == 0  # governance pays no gas


def test_governance_can_be_placed_in_a_block_of_its_own() -> None:
    override = "parameters.aave_v3.WETH={at: 2, ltv: 60%, liquidation_threshold: 70%}"
    blocks = "blocks: {market: [alice, bot], votes: [governance]}\n"
    late = play("", text=SCENARIO + blocks, overrides=[override])
    assert {(row.step, row.block) for row in late.actions if row.agent == "governance"} == {(2, "votes")}
    first = play("", text=SCENARIO + "blocks: {market: [alice, bot]}\n", overrides=[override])
    assert {row.step for row in first.actions if row.kind == "liquidate"} == {2}
    assert {row.block for row in first.actions if row.agent == "governance"} == {"governance"}
    with pytest.raises(BadScenario, match="block 'votes' names 'governance', which is not an agent here"):
        load_text(SCENARIO + blocks)


def test_spark_efficiency_modes_and_comet_likewise() -> None:
    overrides = [
        "parameters.spark.DAI.reserve_factor=12.34%",
        "parameters.aave_v3.emode.1={ltv: 88%, liquidation_threshold: 91%}",
        "parameters.aave_v3.emode.ETH correlated.at=1",
        "parameters.aave_v3.emode.ETH correlated.liquidation_bonus=2%",
        "parameters.compound_v3.cUSDCv3.WETH.liquidate_collateral_factor=88.5%",
        "parameters.compound_v3.cUSDCv3.WETH.supply_cap=123_456.5",
        "parameters.compound_v3.cUSDCv3.minimum_borrow=77",
    ]
    played = play("", text=SCENARIO, overrides=overrides)
    fork = played.built.world.fork
    assert SparkLend(fork).reserve("DAI").configuration.reserve_factor_bps == 1_234
    assert AaveV3(fork).reserve("DAI").configuration.reserve_factor_bps != 1_234
    mode = AaveV3(fork).emode(1)
    assert (mode.ltv_bps, mode.liquidation_threshold_bps, mode.liquidation_bonus_bps) == (8_800, 9_100, 10_200)
    comet = CompoundV3(fork)
    assert comet.asset("WETH").liquidate_collateral_factor_wad == 885 * 10**15
    assert comet.asset("WETH").supply_cap == 1_234_565 * 10**17
    assert CometConfigurator(comet).market_values()["minimum_borrow"] == 77 * 10**6


@pytest.mark.parametrize("chain", ["arbitrum", "base"])
def test_other_chains(chain: str) -> None:
    text = SCENARIO.replace("ethereum", chain)
    played = play("", text=text, steps=1, overrides=["parameters.aave_v3.WETH.liquidation_bonus=3.21%"])
    assert AaveV3(played.built.world.fork).reserve("WETH").configuration.liquidation_bonus_bps == 10_321


@pytest.mark.parametrize(
    ("override", "message", "hint"),
    [
        ("aave_v3.WETH.liquidation_threshold=70%", "parameters.aave_v3.WETH: .* 70 % is below the loan", "set both"),
        ("aave_v3.WETH={at: 2, liquidation_threshold: 98%}", "aave_v3.WETH at step 2: .*seize more", "lower"),
        ("aave_v3.WET.ltv=3%", "parameters.aave_v3.WET: unknown reserve 'WET'", "did you mean 'WETH'"),
        ("spark.emode.9.ltv=3%", "parameters.spark.emode.9: unknown eMode '9'", "SparkLend has here"),
        ("compound_v3.cUSDv3.WETH.supply_cap=3", "unknown Compound market 'cUSDv3'", "did you mean 'cUSDCv3'"),
        ("compound_v3.cUSDCv3.WETHH.supply_cap=3", "unknown collateral asset 'WETHH'", "'WETH'"),
        ("compound_v3.cUSDCv3.WETH.liquidate_collateral_factor=9%", "reverted: BorrowCFTooLarge", ""),
    ],
)  # fmt: skip
def test_what_the_protocol_refuses_is_an_error_with_its_reason_before_the_run(
    override: str, message: str, hint: str
) -> None:
    with pytest.raises(BadScenario, match=message) as caught:
        play("", text=SCENARIO, overrides=[f"parameters.{override}"])
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("aave_v3.WETH.ltw=3%", "unknown key 'ltw' in parameters.aave_v3.WETH"),
        ("aave_v3.WETH.liquidation_bonus=106%", "such as 6% rather than 106%"),
        ("aave_v3.WETH.ltv=33.333%", "counts in hundredths of a percent"),
        ("aave_v3.WETH.ltv=133%", "from 0 to 1"),
        ("aave_v3.WETH.supply_cap=1.5", "Aave's caps are whole tokens"),
        ("aave_v3.WETH.supply_cap=-1", "must not be below zero"),
        ("aave_v3.WETH={at: 4, ltv: 1%}", "changes at step 4, and the last step is 3"),
        ("aave_v3.WETH={at: 2}", "parameters.aave_v3.WETH changes nothing"),
        ("aave_v3.WETH=[]", "parameters.aave_v3.WETH changes nothing"),
        ("aave_v3.emode.1.supply_cap=1", "'supply_cap' is not a parameter of aave_v3.emode.1"),
        ("compound_v3.cUSDCv3.ltv=1%", "'ltv' is not a parameter of compound_v3.cUSDCv3"),
        ("euler.WETH.ltv=1%", "'euler.WETH' names nothing that has parameters"),
        ("aave_v3.WETH=5", "parameters.aave_v3.WETH is '5', not a mapping of its parameters"),
        ("aave_v3.WETH.optimal_usage=70%", "'optimal_usage' is not a parameter of aave_v3.WETH"),
        ("compound_v3.cUSDCv3.WETH.haircut=1%", "'haircut' is not a parameter of compound_v3.cUSDCv3.WETH"),
    ],
)
def test_what_makes_no_sense_is_an_error_of_the_option(override: str, message: str) -> None:
    with pytest.raises(BadScenario) as caught:
        load_text(SCENARIO, overrides=[f"parameters.{override}"])
    assert caught.value.message.startswith(f"--set parameters.{override}: ")
    assert message in caught.value.message


def test_an_unknown_parameter_is_refused_with_those_that_exist() -> None:
    with pytest.raises(BadScenario) as caught:
        load_text(SCENARIO, overrides=["parameters.aave_v3.WETH.optimal_usage=70%"])
    assert "it has ltv, liquidation_threshold, liquidation_bonus" in str(caught.value.hint)


def test_an_agent_cannot_be_called_governance_where_parameters_change() -> None:
    text = SCENARIO.replace("  bot:", "  governance:")
    load_text(text)
    with pytest.raises(BadScenario, match="'governance' is the name of what changes parameters"):
        load_text(text, overrides=["parameters.aave_v3.WETH={at: 1, ltv: 1%}"])


def test_the_order_of_keys_has_no_effect() -> None:
    pairs = ["aave_v3.WETH: {at: 1, supply_cap: 9}", "aave_v3.DAI: {at: 1, supply_cap: 8}"]
    texts = [SCENARIO + f"parameters: {{{', '.join(each)}}}\n" for each in (pairs, pairs[::-1])]
    first, second = (play("", text=text, steps=2) for text in texts)
    assert first.actions == second.actions

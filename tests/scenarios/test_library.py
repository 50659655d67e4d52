"""Every scenario of the library on every chain it names: it loads, builds, runs, and its figures make sense."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mayavi import Fork
from mayavi.errors import BadScenario, ScenarioParked, UsageError
from mayavi.protocols.aave.market import AaveV3
from mayavi.scenarios import registry
from mayavi.scenarios.build.build import build
from mayavi.scenarios.loading import load_scenario, load_text
from mayavi.scenarios.models.config import CHAINS
from mayavi.sim.accounting import Books
from mayavi.sim.claims import aave_claims
from tests.scenarios.play import FEW, play

RUNNABLE = [(entry.name, chain) for entry in registry.entries() for chain in entry.chains]


def test_the_library_is_the_one_that_was_promised() -> None:
    promised = {
        *("vesting_cliff", "multi_cohort", "depeg_cascade", "aave_borrower", "spark_borrower"),
        *("compound_v3_borrower", "curve_depeg", "launch_replay", "svm_launch_replay"),
    }
    assert {entry.name for entry in registry.entries()} >= promised
    assert {name for name, chain in RUNNABLE if chain == "avalanche"} >= {"depeg_cascade", "aave_borrower"}
    assert [chain for name, chain in RUNNABLE if name == "compound_v3_borrower"] == [
        *("ethereum", "arbitrum", "polygon", "base")
    ]
    assert {path.stem for path in registry.LIBRARY.glob("*.yaml")} == set(registry.names())


@pytest.mark.parametrize("name", registry.names())
def test_a_file_names_itself_and_its_chains_as_the_registry_does(name: str) -> None:
    config = load_scenario(name).config
    assert config.name == name
    assert tuple(config.chains) == registry.entry(name).chains
    assert set(config.chains) <= set(CHAINS)
    assert config.title


@pytest.mark.parametrize("name", ["depeg_cascade", "steth_depeg", "compound_v3_borrower", "curve_depeg"])
def test_its_steps_are_short_enough_for_its_prices(name: str) -> None:
    config = load_scenario(name).config
    world = Fork.replica(config.chain).frozen()
    for seed in range(10):
        falls = build(config, world.copy(), seed).kpis.falls  # type: ignore[attr-defined]
        assert falls
        assert all(each.step_needed == 0 for each in falls.values()), seed


@pytest.mark.parametrize(("name", "chain"), RUNNABLE)
def test_it_runs_for_a_few_steps(name: str, chain: str) -> None:
    played = play(name, chain=chain, steps=4, overrides=FEW.get(name, []))
    assert played.actions, "nobody did anything"
    assert not played.broken
    assert any(row.status == "success" for row in played.actions)
    assert {row.step for row in played.snapshots} == {-1, 0, 1, 2, 3}
    assert all(json.loads(row.details) is not None for row in played.actions)


@pytest.mark.parametrize(("name", "chain"), RUNNABLE)
def test_its_text_says_all_of_it(name: str, chain: str) -> None:
    scenario = load_scenario(name, chain=chain, overrides=["steps=40"])
    again = load_text(scenario.text)
    assert again.config.model_dump() == scenario.config.model_dump()
    assert again.text == scenario.text
    assert "file:" not in scenario.text


def test_the_worked_example_is_the_default_of_aave_borrower() -> None:
    played = play("aave_borrower")
    assert played.built.steps == 4
    assert played.built.scheduler.step_blocks == 18_000
    (opened,) = played.details("open")
    assert (opened["collateral"], opened["supplied"]) == ("WETH", str(10**18))
    assert (opened["debt"], opened["borrowed"]) == ("USDC", str(1_700 * 10**6))
    reserve = AaveV3(played.built.world.fork).reserve("WETH")
    first = next(row for row in played.snapshots if (row.subject, row.metric) == ("AaveV3.WETH", "price"))
    health = int(first.value) * reserve.configuration.liquidation_threshold_bps / 10_000 / (1_700 * 10**8)
    assert int(opened["health_factor_after_wad"]) / 10**18 == pytest.approx(health, rel=1e-4)


def test_a_borrower_in_a_crash_deleverages_inside_its_band() -> None:
    played = play("aave_borrower", overrides=["prices.WETH={process: step, at: 2, size: -15%}"])
    kinds = [(row.step, row.kind) for row in played.actions if row.agent == "borrower"]
    assert (2, "repay") in kinds
    assert played.kpis["health_factor.borrower"] > 1.15 * 10**18


def test_a_compound_borrower_is_absorbed_when_its_collateral_has_fallen_far_enough() -> None:
    played = play("compound_v3_borrower")
    assert played.kpis["liquidations"] == 1
    assert played.kpis["debt"] == 0
    assert played.kpis["bad_debt"] == 0
    deeper = play("compound_v3_borrower", overrides=["prices.WETH={process: step, at: 2, size: -60%}"])
    assert deeper.kpis["bad_debt"] > 0  # the market itself has lost it


def test_a_cascade_leaves_figures_that_agree_with_each_other() -> None:
    played = play("depeg_cascade", steps=6)
    liquidations = played.details("liquidate")
    assert played.kpis["liquidations"] == len(liquidations) > 0
    assert played.kpis["liquidated"] == sum(int(each["covered_e8"]) for each in liquidations)
    assert played.kpis["liquidated_accounts"] == len({each["borrower"] for each in liquidations})
    pool, oracle = played.kpis["pool_change.WETH/USDC.500"], played.kpis["oracle_change.WETH"]
    assert abs(pool - oracle) < 0.01 * 10**18  # the arbitrageur keeps them together
    last = max(row.step for row in played.snapshots)
    bad = [row for row in played.snapshots if (row.subject, row.metric, row.step) == ("borrowers", "bad_debt", last)]
    assert played.kpis["bad_debt"] == int(bad[0].value)


def test_every_token_of_a_cascade_is_conserved_and_the_dollars_add_up() -> None:
    fork = Fork.replica("ethereum")
    books = Books(["WETH", "USDC"], claims=aave_claims(AaveV3(fork), ["WETH", "USDC"]))
    played = play("depeg_cascade", steps=5, overrides=["agents.borrowers.count=30"], hooks=[books])
    assert played.kpis["liquidations"] > 0
    books.verify()
    pnl = books.pnl(lambda chain, token: AaveV3(chain).price_usd_e8(token), native="WETH")
    assert pnl.balanced
    assert pnl.gas > 0


@pytest.mark.parametrize("name", ["vesting_cliff", "multi_cohort", "launch_replay"])
def test_a_token_of_the_scenarios_own_is_conserved_too(name: str) -> None:
    books = Books(["NOVA", "USDC", "WETH"])
    played = play(name, steps=20, hooks=[books])
    books.verify()
    from mayavi.protocols.tokens import Erc20

    assert Erc20(played.built.world.fork, "NOVA").total_supply == 100_000_000 * 10**18


@pytest.mark.slow(3)
def test_holders_flee_a_depegged_coin_and_press_its_price_down() -> None:
    played = play("curve_depeg")
    assert len(played.details("sell")) > 50
    sales = [row for row in played.actions if row.kind == "sell"]
    waiting = [row for row in sales if row.status == "declined"]
    assert waiting
    assert {row.status for row in sales} == {"success", "declined"}  # who waits for a better price has not failed
    assert not any(row.transactions or row.gas_used for row in waiting)
    failures = [row for row in played.actions if row.status == "failed"]
    tally = played.built.tally
    assert (tally.failed, sum(tally.decisions.counts().values())) == (len(failures), len(waiting))
    assert any("pays 0." in reason for reason in tally.decisions.counts())
    prices = [row.number for row in played.snapshots if (row.subject, row.metric) == ("Curve.3pool", "price_USDC")]
    assert prices[-1] < prices[0] - 0.01


@pytest.mark.slow(0.5)
@pytest.mark.parametrize("name", registry.names())
def test_another_seed_leads_elsewhere_and_the_same_one_does_not(name: str) -> None:
    def rows(seed: int) -> list[object]:
        played = play(name, steps=4, seed=seed, overrides=FEW.get(name, []))
        return [*played.actions, *played.snapshots]

    assert rows(1) == rows(1)
    assert rows(1) != rows(2)


def upside_down(value: object) -> object:
    """Every mapping of a document in the opposite order; lists as they are."""
    if isinstance(value, dict):
        return {key: upside_down(each) for key, each in reversed(value.items())}
    return value


@pytest.mark.parametrize("name", registry.names())
def test_where_anything_stands_in_the_file_changes_nothing(name: str) -> None:
    scenario = load_scenario(name, steps=4, overrides=FEW.get(name, []))
    document = json.loads(scenario.config.model_dump_json(exclude_none=True, exclude_defaults=True))
    from mayavi.settings.yaml_text import to_yaml

    files = [to_yaml(each) for each in (document, upside_down(document))]
    assert files[0] != files[1]
    runs = [play("", text=file) for file in files]
    assert runs[0].actions == runs[1].actions
    assert runs[0].snapshots == runs[1].snapshots
    assert runs[0].kpis == runs[1].kpis


def test_one_borrower_of_several_behaviours_draws_one_of_them() -> None:
    borrower = "{kind: borrower, collateral: 5 WETH, debt: USDC, health_factor: 1.2, behaviour: {hold: 1, panic: 1}}"
    crash = ["agents={lone: " + borrower + "}", "prices.WETH={process: step, at: 1, size: -10%}"]
    acted = {bool(play("depeg_cascade", steps=3, seed=seed, overrides=crash).details("exit")) for seed in range(8)}
    assert acted == {True, False}
    with pytest.raises(BadScenario, match=r"agents\.lone: one borrower cannot behave in 2 ways"):
        play(
            "depeg_cascade",
            overrides=["agents={lone: " + borrower.replace("USDC, health_factor: 1.2", "1_700 USDC") + "}"],
        )


def test_a_parked_scenario_says_why_and_what_to_do_instead() -> None:
    with pytest.raises(ScenarioParked, match="parked") as caught:
        load_scenario("svm_launch_replay")
    assert caught.value.exit_code == 2
    assert "launch_replay" in (caught.value.hint or "")


def test_a_world_of_another_chain_is_refused() -> None:
    config = load_scenario("aave_borrower", chain="base").config
    with pytest.raises(UsageError, match="runs on base"):
        build(config, Fork.replica("ethereum"))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("agents.borrower.collateral=1 WETHH", "unknown asset of Aave V3 'WETHH'"),
        ("agents.arb={kind: arbitrageur, pool: WETH/USDC.400, capital: {USDC: 1}}", "unknown pool 'WETH/USDC.400'"),
        ("agents.bot={kind: liquidator, protocol: spark, capital: {USDC: 1}}", "no agent borrows on spark"),
        ("prices.NOPE={process: constant}", "prices NOPE"),
        ("tokens.USDC={supply: 5}", "there is a token 'USDC' on this chain already"),
        ("agents.bot={kind: liquidator, capital: {USDC: 1}, watches: [borower]}", "unknown borrower 'borower'"),
    ],
)
def test_what_the_world_does_not_have_is_told_with_the_name_of_the_agent(override: str, message: str) -> None:
    config = load_scenario("aave_borrower", overrides=[override]).config
    with pytest.raises(BadScenario) as caught:
        build(config, Fork.replica("ethereum"))
    assert message in caught.value.message


def test_a_scenario_of_ones_own_runs_from_its_file(tmp_path: Path) -> None:
    from mayavi.scenarios.starter import starter

    path = tmp_path / "crash.yaml"
    path.write_text(starter("crash.yaml"), encoding="utf-8")
    scenario = load_scenario(path, overrides=["agents.borrowers.count=5", "steps=8"])
    assert scenario.name == "crash"
    built = build(scenario.config, Fork.replica("ethereum"), seed=1)
    for _ in range(built.steps):
        built.scheduler.tick()
    assert {row.name for row in built.kpis(built.world)} >= {"bad_debt", "liquidated"}

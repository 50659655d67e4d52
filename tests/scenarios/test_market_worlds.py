"""Scenarios on a market of Aave V3.6: the key `world`."""

from __future__ import annotations

from pathlib import Path

import pytest

import mayavi
from mayavi import Fork
from mayavi.errors import BadScenario, UnknownName
from mayavi.report.builder import run_page
from mayavi.report.sources.parameters import differing
from mayavi.scenarios import registry
from mayavi.scenarios.build.build import build
from mayavi.scenarios.loading import load_scenario, load_text
from mayavi.scenarios.models.config import CHAINS, MARKET_CHAINS
from mayavi.scenarios.models.world import WorldOptions
from mayavi.sim.store import Store
from mayavi.worlds import market_names
from mayavi.worlds.tables.market import load_market
from tests.pages import page
from tests.scenarios.test_library import FEW

WORLD = "ethereum@2025-12"
ON_ETHEREUM = [entry.name for entry in registry.entries() if "ethereum" in entry.chains]


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_ETHEREUM)
def test_every_scenario_of_ethereum_runs_on_its_market_of_today(name: str, tmp_path: Path) -> None:
    overrides = [*FEW.get(name, []), f"world={WORLD}"]
    steps = 6 if FEW.get(name) else None
    first, again = (
        mayavi.run(name, overrides=overrides, steps=steps, seed=7, store=tmp_path / f"{turn}.duckdb")
        for turn in ("first", "again")
    )
    assert first.digest == again.digest
    assert first.chain == "ethereum"


def test_the_world_is_kept_in_the_scenario_and_opened() -> None:
    scenario = load_scenario("aave_borrower", overrides=[f"world={WORLD}"])
    assert f"world: {WORLD}" in scenario.text
    assert scenario.world().name == f"replica:{WORLD}"


def test_a_world_without_a_date_is_the_newest_of_its_name() -> None:
    assert load_scenario("aave_borrower", overrides=["world=ethereum-lido"]).config.world == "ethereum-lido@2025-12"
    assert load_scenario("aave_borrower", chain="ethereum-lido").config.world == "ethereum-lido@2025-12"
    assert load_scenario("aave_borrower", chain="base").config.world is None


def test_a_market_without_pools_says_how_to_add_one(tmp_path: Path) -> None:
    with pytest.raises(BadScenario, match="unknown pool 'WETH/USDC") as refused:
        mayavi.run("depeg_cascade", chain="ethereum-lido", store=tmp_path / "runs.duckdb")
    assert "`uniswap_v4_pools: {WETH/USDC.500: {price: …, liquidity: …}}`" in str(refused.value.hint)
    text = page("concepts/markets.md").only_block("yaml")
    for old, new, message in (
        ("frictionless: true", "capital: {USDT0: 1_000}", "no pool of plasma sells WETH for USDT0"),
        (
            "steps: 12",
            "steps: 12\npools: {WETH/USDT0.500: {price: 3_100, liquidity: {WETH: 1}}}",
            "pools.WETH/USDT0.500",
        ),
    ):
        with pytest.raises(BadScenario, match=message) as refused:
            build(load_text(f"name: own\n{text.replace(old, new)}").config, Fork.replica("plasma"), seed=1)
        assert "this world has no Uniswap V3; add a pool of V4" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("overrides", "chain", "options", "message", "hint"),
    [
        (["world=ethereum@2025-11"], None, None, "unknown world 'ethereum@2025-11'", "did you mean 'ethereum@2025-12'"),
        (["world=ethereum"], None, None, "'ethereum' is the chain's own world", "ethereum-lido@2025-12"),
        (["world=base@2025-12"], None, None, "is a market of base, not of ethereum", "or take base"),
        ([f"world={WORLD}"], "base", None, "is a market of ethereum, not of base", "or take ethereum"),
        ([f"world={WORLD}", "block=17666333"], None, None, "has its own block", "leave it out"),
        ([f"world={WORLD}"], None, WorldOptions("rpc"), "is a replica, and the source rpc is given", "leave one"),
    ],
)
def test_a_world_that_cannot_be_is_refused(
    overrides: list[str], chain: str | None, options: WorldOptions | None, message: str, hint: str
) -> None:
    with pytest.raises(BadScenario) as refused:
        load_scenario("aave_borrower", overrides=overrides, chain=chain, world=options)
    assert message in refused.value.message
    assert hint in (refused.value.hint or "")


@pytest.mark.slow
def test_a_chain_with_a_market_alone_is_a_chain_like_others(tmp_path: Path) -> None:
    path = tmp_path / "plasma.yaml"
    path.write_text(page("concepts/markets.md").only_block("yaml"))
    run = mayavi.run(path, store=tmp_path / "runs.duckdb")
    assert run.chain == "plasma"
    assert run.kpis["deficit"] > 0


def test_every_chain_of_a_market_is_a_chain_of_scenarios() -> None:
    assert {load_market(name).chain for name in market_names()} == {*CHAINS, *MARKET_CHAINS}


@pytest.mark.parametrize(
    ("override", "start"),
    [
        ("world=ethereum@2025-12", "replica ethereum@2025-12"),
        ("block=18085863", "replica at block 18085863"),
        ("seed=1", "replica"),
    ],
)
def test_a_stored_run_names_the_world_it_started_from(tmp_path: Path, override: str, start: str) -> None:
    store = tmp_path / "runs.duckdb"
    mayavi.run("aave_borrower", overrides=[override, "steps=1"], store=store)
    assert Store(store).run("latest").start == start


def test_the_option_of_the_chain_takes_a_market_too() -> None:
    config = load_scenario("depeg_cascade", chain="base@2025-12").config
    assert (config.chain, config.world) == ("base", "base@2025-12")
    with pytest.raises(UnknownName, match="unknown world 'bse@2025-12'") as refused:
        load_scenario("depeg_cascade", chain="bse@2025-12")
    assert "base@2025-12" in (refused.value.hint or "")


@pytest.mark.slow
def test_a_run_on_a_market_names_it_and_the_debt_that_was_burnt(run_mayavi, tmp_path: Path) -> None:
    """The heading, the list of runs, and the report's heading, command, tile, chart and summary."""
    store = tmp_path / "runs.duckdb"
    finished = run_mayavi("run", "depeg_cascade", "--chain", WORLD, "--seed", "7", "--store", str(store))
    assert finished.stdout.startswith(f"depeg_cascade · {WORLD} · seed 7 · run ")
    assert "in 9 accounts, all of it burnt as Aave's deficit" in finished.stdout
    assert WORLD in run_mayavi("runs", "list", "--store", str(store)).stdout

    report = run_page(Store(store), Store(store).run("latest").run_id)
    assert (report.title, report.subject.split(" · ")[1]) == (f"depeg_cascade on {WORLD}, seed 7", WORLD)
    assert report.provenance.command == f"mayavi run depeg_cascade --chain {WORLD} --seed 7"
    assert [tile.label for tile in report.tiles[:2]] == ["Bad debt", "Deficit"]
    assert report.tiles[0].value == report.tiles[1].value
    assert report.hero is not None
    assert report.hero.title.startswith("Bad debt appears when WETH is at −30")
    assert next(each for each in report.sections if each.id == "rates").lead.startswith("Debt on the real market")
    assert any(each.startswith("Aave burns $") and "a deficit of its reserves" in each for each in report.summary)


def test_a_market_is_compared_with_the_chains_own_world_by_name() -> None:
    texts = [load_scenario("aave_borrower", chain=chain).text for chain in (None, WORLD)]
    assert differing(texts) == {"world": ["ethereum", WORLD]}

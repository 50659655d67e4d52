"""Pages of single runs: every number is the store's, the same run gives the same bytes, odd runs give correct pages."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from mayavi.report.builder import run_page, shape_of
from mayavi.report.numbers import FORMATS
from mayavi.report.page import ActionLog, Chart, Page, Scrubber, Table
from mayavi.report.render import render
from mayavi.report.run.actions import describe
from mayavi.report.run.lending import STRANDED, health_chart
from mayavi.report.run.prices import price_chart, quoted
from mayavi.report.run.rows import MOST_POINTS, opened
from mayavi.report.run.words import format_of
from mayavi.report.shapes.cascade import hero
from mayavi.scenarios import registry
from mayavi.sim.rows import ActionRow, KpiRow, SnapshotRow
from mayavi.sim.store import Store
from tests.report.stored_rows import action, figure, stored

SHAPES = {
    "aave_borrower": "borrower",
    "compound_v3_borrower": "borrower",
    "curve_depeg": "curve",
    "depeg_cascade": "cascade",
    "launch_replay": "launch",
    "learning_borrower": "borrower",
    "morpho_depeg": "cascade",
    "multi_cohort": "vesting",
    "spark_borrower": "borrower",
    "steth_depeg": "cascade",
    "vesting_cliff": "vesting",
}


def page(store: Store, scenario: str) -> Page:
    return run_page(store, store.runs(scenario=scenario)[0].run_id)


def blocks(of: Page, kind: type) -> list:
    return [block for section in of.sections for block in section.blocks if isinstance(block, kind)]


def embedded(html: str) -> dict:
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    return json.loads(data)


@pytest.mark.parametrize("scenario", registry.names())
def test_a_run_has_the_shape_of_what_it_recorded(library_store: Store, scenario: str) -> None:
    with opened(library_store, library_store.runs(scenario=scenario)[0].run_id) as rows:
        assert shape_of(rows).name == SHAPES[scenario]


@pytest.mark.slow(0.3)
@pytest.mark.parametrize("scenario", registry.names())
def test_every_tile_is_what_its_query_gives(library_store: Store, scenario: str) -> None:
    found = page(library_store, scenario)
    units = {row.name: row.unit for row in library_store.kpis(library_store.runs(scenario=scenario)[0].run_id)}
    assert 3 <= len(found.tiles) <= 6
    for tile in found.tiles:
        ((number,),) = library_store.sql(tile.source).fetchall()
        name = re.search(r"name = '([^']+)'", tile.source)
        plain = f"{number:.3g}" if "health" in tile.label else FORMATS["short"](number)
        wanted = FORMATS[format_of(name[1], units[name[1]])](number) if name else plain
        assert tile.value == wanted, tile


def test_the_charts_of_a_cascade_are_sums_of_the_store(library_store: Store) -> None:
    run_id = library_store.runs(scenario="depeg_cascade")[0].run_id
    found = page(library_store, "depeg_cascade")
    assert found.hero is not None
    covered, bad = found.hero.traces[0]["y"], found.hero.traces[1]["y"]
    kpis = {row.name: row.number for row in library_store.kpis(run_id)}
    assert covered[-1] == pytest.approx(kpis["liquidated"])
    assert covered[-1] > 0
    assert bad[-1] == pytest.approx(kpis["bad_debt"])
    accounts = next(table for table in blocks(found, Table) if table.columns[0].label == "account")
    stored_accounts = {row.account: row for row in library_store.accounts(run_id)}
    assert [row[7] for row in accounts.rows] == sorted((row[7] for row in accounts.rows), reverse=True)
    for row in accounts.rows:
        assert row[3] == pytest.approx(int(stored_accounts[row[0]].debt) / 10**8)


def test_liquidations_of_several_assets_are_split_by_asset(tmp_path: Path) -> None:
    pairs = [("WETH", "USDC", 30), ("WETH", "DAI", 20), ("WBTC", "USDC", 5)]
    actions = [
        action(
            0,
            "liquidate",
            borrower="bob",
            collateral=c,
            debt=d,
            covered_e8=f"{n}00000000",
            seized_e8=f"{n + 1}00000000",
        )
        for c, d, n in pairs
    ]
    figures = [figure(0, "b", metric, 2.0, "count") for metric in ("accounts", "accounts_with_debt", "bad_debt")]
    store, run_id = stored(tmp_path / "r.duckdb", actions, figures, [KpiRow("bad_debt", "0", 0.0, "usd_e8")])
    charts = {chart.title: chart for chart in blocks(run_page(store, run_id), Chart)}
    by_value = charts["Liquidators seize $52 of WETH, the most"]
    assert by_value.table.rows == (("WETH", 52.0), ("WBTC", 6.0))
    assert charts["WETH is seized in 2 liquidations"].table.rows == (("WETH", 2.0), ("WBTC", 1.0))
    heat = charts["WETH against USDC is liquidated most: $30"]
    assert heat.table.rows == (("WETH", 30.0, 20.0), ("WBTC", 5.0, None))


@pytest.mark.slow(0.5)
def test_the_same_run_gives_the_same_bytes(library_store: Store) -> None:
    assert render(page(library_store, "depeg_cascade")) == render(page(library_store, "depeg_cascade"))


@pytest.mark.slow(0.5)
def test_the_command_on_the_page_repeats_the_run(library_store: Store) -> None:
    command = page(library_store, "depeg_cascade").provenance.command
    assert command == "mayavi run depeg_cascade --chain ethereum --seed 3 --steps 6 --set agents.borrowers.count=30"
    assert (
        page(library_store, "vesting_cliff").provenance.command == "mayavi run vesting_cliff --chain ethereum --seed 3"
    )


def test_parameters_that_differ_stand_beside_their_defaults(library_store: Store) -> None:
    (table,) = [each for each in blocks(page(library_store, "depeg_cascade"), Table) if "differ" in each.title]
    assert table.rows == (("steps", "24", "6"), ("agents.borrowers.count", "100", "30"))


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    name = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    kpis = [KpiRow(f"oracle_change.{name}", "1", -0.5, "wad")]
    figures = [figure(step, f"AaveV3.{name}", "price", 100.0 - step) for step in range(-1, 3)]
    actions = [action(0, name, note=name), action(1, "sell", "failed", token=name)]
    store, run_id = stored(tmp_path / "r.duckdb", actions, figures, kpis, scenario=name, text=f"name: '{name}'")
    html = render(run_page(store, run_id))
    assert "<script>alert" not in html
    assert "<img" not in html
    assert name in json.dumps(embedded(html)["logs"])
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in html
    for chart in embedded(html)["charts"].values():
        assert all("<img" not in trace.get("name", "") for trace in chart["traces"])


def test_a_run_without_any_row_has_a_page(tmp_path: Path) -> None:
    store, run_id = stored(tmp_path / "r.duckdb")
    found = run_page(store, run_id)
    assert (found.verdict.badge, found.hero, found.tiles) == ("EMPTY", None, ())
    assert "recorded nothing" in render(found)


def test_a_halted_run_says_so_first(tmp_path: Path) -> None:
    store, run_id = stored(
        tmp_path / "r.duckdb", [action(0)], status="halted", error="Traceback …\nZeroDivisionError: no price", steps=9
    )
    verdict = run_page(store, run_id).verdict
    assert verdict.badge == "HALTED"
    assert verdict.sentence.startswith("The run halted after 1 of 9 steps: ZeroDivisionError: no price.")


def test_one_step_is_drawn_as_a_point(tmp_path: Path) -> None:
    store, run_id = stored(tmp_path / "r.duckdb", [action(0)], [figure(0, "WETH", "market_price", 2000.0)], steps=1)
    hero = run_page(store, run_id).hero
    assert hero is not None
    assert hero.traces[0]["mode"] == "lines+markers"
    assert hero.traces[0]["y"] == [2000.0]


def test_nan_and_huge_numbers_are_dashes_and_exponents(tmp_path: Path) -> None:
    kpis = [
        KpiRow("actions", "1", float("nan"), "count"),
        KpiRow("arbitrage_profit", "1", 1e300, "usd_e8"),
        KpiRow("oracle_change.WETH", "1", float("inf"), "wad"),
    ]
    values = [1e300, float("nan"), float("inf"), -1e300]
    figures = [figure(step, "WETH", "market_price", value) for step, value in enumerate(values)]
    store, run_id = stored(tmp_path / "r.duckdb", [action(0)], figures, kpis)
    found = run_page(store, run_id)
    assert {tile.label: tile.value for tile in found.tiles}["Actions"] == "–"
    assert {tile.label: tile.value for tile in found.tiles}["Arbitrage profit"] == "$1.00e+300"
    html = render(found)
    assert embedded(html)["charts"]["answer-0"]["traces"][0]["y"] == [1e300, None, None, -1e300]
    assert "NaN" not in html.split('id="data">')[1].split("</script>")[0]


@pytest.mark.slow(1)
def test_a_long_run_is_thinned_and_its_sums_are_kept(tmp_path: Path) -> None:
    steps = 5 * MOST_POINTS
    actions = [
        action(step, "sell", amount_in="3", token_in="T", token_out="U", amount_out="1") for step in range(steps)
    ]
    figures = [figure(step, "WETH", "market_price", float(step)) for step in range(-1, steps)]
    store, run_id = stored(tmp_path / "r.duckdb", actions, figures, steps=steps)
    found = run_page(store, run_id)
    assert found.hero is not None
    assert len(found.hero.traces[0]["y"]) <= MOST_POINTS + 2
    assert found.hero.traces[0]["y"][-1] == steps - 1
    (log,) = blocks(found, ActionLog)
    assert (len(log.rows), log.total) == (3_000, steps) or len(log.rows) < log.total == steps
    sold = next(chart for chart in blocks(found, Chart) if "sold by alice" in chart.title)
    assert sold.traces[0]["y"][-1] == 3 * steps
    assert len(embedded(render(found))["lists"]) < 40  # lists that charts share stand in the page once
    (slider,) = blocks(found, Scrubber)
    assert sum(slider.actions) == steps
    assert len(render(found)) < 2_500_000


def test_declined_actions_are_no_failures(tmp_path: Path) -> None:
    actions = [action(0, "sell", "failed"), *(action(step, "sell", "declined") for step in range(3))]
    store, run_id = stored(tmp_path / "r.duckdb", actions)
    found = run_page(store, run_id)
    (section,) = [each for each in found.sections if each.id == "failures"]
    assert section.title == "Failed and declined actions"
    assert section.lead.startswith("1 action failed for 1 reason. ")
    assert "3 actions declined: the agent decided against" in section.lead
    (slider,) = blocks(found, Scrubber)
    assert sum(slider.failed) == 1


def test_failures_of_one_reason_are_counted_together(tmp_path: Path) -> None:
    actions = [action(step, "sell", "failed") for step in range(3)]
    store, run_id = stored(tmp_path / "r.duckdb", actions)
    table = next(each for each in blocks(run_page(store, run_id), Table) if each.columns[2].label == "reason")
    assert table.rows == (("sell", "failed", "the pool pays …, and nothing is sold below …", 3, 0, 2, 1),)


@pytest.mark.slow(0.3)
def test_thousands_of_agents_fit_into_a_page(tmp_path: Path) -> None:
    import dataclasses

    actions = [dataclasses.replace(action(0), agent=f"agent-{n}", account=f"agent-{n}") for n in range(4_000)]
    store, run_id = stored(tmp_path / "r.duckdb", actions, steps=1)
    html = render(run_page(store, run_id))
    assert len(html.encode()) < 2_500_000
    assert "3,000 of 4,000 actions are in this page" in html


def test_a_pool_that_quotes_in_a_stablecoin_off_its_peg_is_converted(tmp_path: Path) -> None:
    usdc = (1.0, 0.9, 0.8)
    figures = [
        row
        for step, price in enumerate(usdc)
        for row in (
            figure(step, "USDC", "market_price", price),
            figure(step, "UniswapV3.DAI/USDC.100", "price", 1 / price, "wad"),
            figure(step, "UniswapV3.NOVA/WETH.3000", "price", price, "wad"),
            figure(step, "UniswapV3.FOX/USDT.3000", "price", price, "wad"),
        )
    ]
    store, run_id = stored(tmp_path / "r.duckdb", [action(0)], figures)
    with opened(store, run_id) as rows:
        charts = {quotes.token: price_chart(rows, quotes, hero=True) for quotes in quoted(rows)}
    assert charts["DAI"].traces[0]["y"] == pytest.approx([1.0, 1.0, 1.0])
    assert "in dollars by pool DAI/USDC.100" in charts["DAI"].subtitle
    assert "in USDC are converted" in charts["DAI"].subtitle
    assert "move" in charts["DAI"].title
    assert charts["NOVA"].title.startswith("NOVA falls 20\u00a0% against WETH")
    assert "in USDT by pool" in charts["FOX"].subtitle  # the price of USDT is not recorded


def test_a_curve_price_names_the_coin_it_is_in(library_store: Store) -> None:
    found = page(library_store, "curve_depeg")
    assert [tile.unit for tile in found.tiles if "in Curve.3pool" in tile.label] == ["DAI", "DAI"]
    assert " DAI in Curve.3pool" in found.verdict.sentence


def accounts_of(step: int, liquidatable: float, below: float) -> list[SnapshotRow]:
    counts = {"accounts": 10.0, "accounts_with_debt": 9.0, "liquidatable": liquidatable, "health_factor_below_1": below}
    counts |= {f"health_factor_below_{bound}": 8.0 for bound in ("1_10", "1_50", "2")}
    return [figure(step, "b", metric, number, "count") for metric, number in counts.items()]


@pytest.mark.parametrize(
    ("liquidatable", "title", "first"),
    [
        (0, "3 accounts of 10 end with debt and no collateral; none ends a step open to liquidation", [0, 3]),
        (1, "2 accounts of 10 end with debt and no collateral; at worst 1 account of 10 can be", [0, 2]),
        (3, "At worst 3 accounts of 10 can be liquidated, after step 1", [0, 3]),
    ],
)
def test_accounts_without_collateral_are_not_open_to_liquidation(
    tmp_path: Path, liquidatable: int, title: str, first: list[int]
) -> None:
    figures = accounts_of(0, 0, 0) + accounts_of(1, liquidatable, 3)
    store, run_id = stored(tmp_path / "r.duckdb", [action(0), action(1)], figures)
    with opened(store, run_id) as rows:
        chart = health_chart(rows)
    assert chart is not None
    assert chart.title.startswith(title)
    assert chart.traces[0]["name"] == (STRANDED if liquidatable < 3 else "below 1: can be liquidated")
    assert chart.traces[0]["y"] == first
    assert sum(trace["y"][1] for trace in chart.traces) == 9


def borrower(tmp_path: Path, factors: list[float | None], actions: Sequence[ActionRow] = ()) -> Page:
    figures = [figure(step, "bob", "accounts", 1.0, "count") for step in range(len(factors))]
    figures += [figure(step, "bob", "accounts_with_debt", 1.0, "count") for step in range(len(factors))]
    figures += [figure(n, "bob", "health_factor_lowest", value, "wad") for n, value in enumerate(factors) if value]
    kpis = [KpiRow("liquidations", "1", float(len(actions)), "count"), KpiRow("liquidator_profit", "1", 9.0, "usd_e8")]
    store, run_id = stored(tmp_path / "r.duckdb", [action(0), *actions], figures, kpis)
    return run_page(store, run_id)


def test_a_liquidated_borrower_is_drawn_where_it_was_liquidated(tmp_path: Path) -> None:
    sold = action(
        2, "liquidate", borrower="bob", borrower_health_factor_wad="996000000000000000", profit_e8="900000000"
    )
    found = borrower(tmp_path, [1.3, 1.02, None], [sold])
    assert found.hero is not None
    assert found.hero.title == "The health factor falls to 0.996: bob is liquidated in step 2, which closes the loan"
    assert found.hero.traces[1]["y"] == [None, None, 0.996]
    assert found.tiles[0].value == "0.996"
    assert not any("before gas" in text or "after gas" in text for text in texts(found))
    assert any("gas is free" in text for text in found.summary)


@pytest.mark.parametrize(
    ("factors", "title"),
    [
        ([1.5676, 1.6, 1.58], "The health factor is 1.57 when the loan opens, does not fall below that, and is 1.58"),
        ([1.7, 1.5676, 1.58], "The health factor falls to 1.57 by the end of step 1, and is 1.58 at the end"),
        ([1.5676, 1.5676], "The health factor stays at 1.57"),
    ],
)
def test_a_health_factor_that_does_not_fall_is_not_said_to(tmp_path: Path, factors: list, title: str) -> None:
    found = borrower(tmp_path, factors)
    assert found.hero is not None
    assert found.hero.title.startswith(title)
    assert "stays at 1.56 or above" in found.verdict.sentence


def test_trades_of_others_are_named_beside_the_sales_of_an_unlock(library_store: Store) -> None:
    found = page(library_store, "vesting_cliff")
    run_id = library_store.runs(scenario="vesting_cliff")[0].run_id
    ((trades,),) = library_store.sql(
        f"SELECT count(*) FROM actions WHERE run_id = '{run_id}' AND kind = 'trade' AND status = 'success'"
    ).fetchall()
    assert trades > 1
    assert f". With {trades} trades of others, NOVA falls" in found.verdict.sentence
    assert "USDC in the pool" in [tile.label for tile in found.tiles]


def texts(of: Page) -> list[str]:
    charts = [*blocks(of, Chart), *filter(None, [of.hero])]
    return [of.verdict.sentence, *of.summary, *(f"{chart.title} {chart.subtitle}" for chart in charts)]


def test_a_call_says_its_verb_once() -> None:
    details = {"repaid": "1022080000", "debt": "USDC"}
    assert describe("repay", details, {"USDC": 6}) == "repay 1,022.08 USDC"
    assert describe("rebalance", details, {"USDC": 6}) == "rebalance repaid 1,022.08 USDC"


@pytest.mark.slow(0.3)
def test_the_page_of_a_vault_shows_what_a_share_is_worth(library_store: Store) -> None:
    found = page(library_store, "morpho_depeg")
    (section,) = [each for each in found.sections if each.title == "Vaults"]
    price, allocation = (block for block in section.blocks if isinstance(block, Chart))
    assert "A share of steakUSDC loses" in price.title
    assert "in wstETH/USDC.86" in allocation.title
    (tile,) = [each for each in found.tiles if each.label == "A share of steakUSDC"]
    assert tile.value.startswith("−")


def test_bad_debt_that_suppliers_bore_is_on_the_first_chart(library_store: Store) -> None:
    run = library_store.runs(scenario="morpho_depeg")[0]
    ((bad,),) = library_store.sql(
        f"SELECT number FROM kpis WHERE run_id = '{run.run_id}' AND name = 'bad_debt'"
    ).fetchall()
    assert bad > 0
    with opened(library_store, run.run_id) as rows:
        chart = hero(rows)
    assert chart is not None
    assert chart.title.startswith("Bad debt appears when sDAI is at")
    (line,) = [trace for trace in chart.traces if trace["name"] == "bad debt"]
    assert line["y"][-1] == pytest.approx(bad, rel=1e-6)

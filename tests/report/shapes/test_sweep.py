"""The page of a sweep: its numbers are the database's, and odd sweeps have a correct page."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from mayavi.report.numbers import usd
from mayavi.report.page import Page
from mayavi.report.registry import Places, find
from mayavi.report.render import render
from mayavi.report.shapes.sweeps.risk import SHORTFALL
from mayavi.report.shapes.sweeps.sweep import sweep_page
from mayavi.sim.store import Store
from mayavi.statistics.summary import summarise
from tests.report.shapes.conftest import COUNTS, SIZES, losses
from tests.report.shapes.page_texts import cells, charts, has_section, section, tables, tile
from tests.report.shapes.stored_runs import SWEEP, kpi, lending, store_run, store_sweep

VAR, LAR = "VaR 95\u00a0% of bad debt", "LaR 95\u00a0% of liquidated value"
SIZE_NAMES = ["−20\u00a0%", "−40\u00a0%"]
CHANCE = "probability of bad debt"


@pytest.fixture(scope="module")
def page(grid: Store) -> Page:
    return sweep_page(grid, "latest")


def test_the_worst_point_is_named_with_its_interval(page: Page) -> None:
    worst = summarise([losses(3, seed) for seed in range(60)]).p95
    assert "Worst: price shock of WETH −40\u00a0%, number of borrowers 100." in page.verdict.sentence
    assert page.verdict.badge == "LOSS"
    at = "VaR 95\u00a0% of bad debt at price shock of WETH −40\u00a0%, number of borrowers 100, 60 runs:"
    assert page.verdict.interval == f"{at} {usd(worst.value)} [{usd(worst.low)}, {usd(worst.high)}], 95 % interval"


@pytest.mark.slow(0.3)
def test_every_tile_of_a_plain_sweep_is_what_sql_gives(tmp_path: Path) -> None:
    store = store_sweep(
        tmp_path / "runs.duckdb", {(): {seed: lending(losses(2, seed), 9.5 * seed) for seed in range(80)}}
    )
    page = sweep_page(store, "latest")
    asked = [each for each in page.tiles if each.source]
    assert {VAR, CHANCE, "mean bad debt", LAR, "runs"} <= {each.label for each in asked}
    for each in asked:
        ((number,),) = store.sql(each.source).fetchall()
        exact = float(re.sub(r"[^\d.]", "", each.exact or each.value))
        assert exact == pytest.approx(number * (100 if each.label == CHANCE else 1), abs=0.0051)
    shortfall = next(each for each in page.tiles if each.label == SHORTFALL)
    expected = summarise([losses(2, seed) for seed in range(80)]).expected_shortfall.value
    assert float(re.sub(r"[^\d.]", "", shortfall.exact)) == pytest.approx(expected, abs=0.01)


def test_heat_maps_have_the_estimate_of_every_point(grid: Store, page: Page) -> None:
    assert page.hero is not None
    (trace,) = page.hero.traces
    assert trace["type"] == "heatmap"
    assert "texttemplate" in trace  # fewer than a hundred cells: the number is in each
    query = (
        "SELECT quantile_cont(number, 0.95) FROM kpis JOIN runs USING (run_id) WHERE name = 'bad_debt'"
        " AND contains(scenario_text, ?) AND contains(scenario_text, ?)"
    )
    assert page.hero.layout["yaxis"]["ticktext"] == SIZE_NAMES  # the size moves the loss more than the count
    for row, size in zip(trace["z"], SIZES, strict=True):
        for cell, count in zip(row, COUNTS, strict=True):
            ((value,),) = grid.sql(query, [f"size: {size}", f"count: {count}\n"]).fetchall()
            assert cell == pytest.approx(value)
    quoted = re.findall(r"\$[\d.]+(?:\u00a0k)?", page.hero.title)
    shown = {each for row in trace["text"] for each in row}
    assert len(quoted) == 2
    assert "$0" in shown  # no loss is a number too
    assert set(quoted) <= shown  # the title quotes cells, and nothing that is not on the map


@pytest.mark.slow(0.3)
def test_what_the_seeds_do_not_tell_apart_is_not_called_the_worst(tmp_path: Path) -> None:
    points = {
        (f"prices.WETH.size={size}", f"agents.liquidators.count={count}"): {
            seed: lending((size == "-40%") * (1_000.0 + 40 * seed + (-1) ** (seed + at) * 3), 1.0) for seed in range(20)
        }
        for size in SIZES
        for at, count in enumerate((1, 4))
    }
    page = sweep_page(store_sweep(tmp_path / "runs.duckdb", points), "latest")
    told = page.verdict.sentence
    assert "Worst: price shock of WETH −40\u00a0%; the number of liquidators (1, 4) makes no distinguishable" in told
    assert "20 runs give no upper bound on VaR 95\u00a0% (59 are needed)" in told
    of_a_point = [each for each in page.tiles if each.label != "runs of all points"]
    assert all(re.search(r"at −40\u00a0% · [14], 20 runs$", each.change) for each in of_a_point)
    assert "the one worst of 20 runs" in next(each.change for each in page.tiles if each.label == SHORTFALL)
    (note,) = (each for each in page.notes if each.startswith("Mean bad debt"))
    assert note.startswith("Mean bad debt at (−20\u00a0% · 1), (−20\u00a0% · 4): ")


def test_the_worst_paths_have_their_run_and_a_command_that_repeats_them(grid: Store, page: Page) -> None:
    (table,) = tables(page, "worst")
    query = "SELECT run_id, number FROM kpis WHERE name = 'bad_debt' ORDER BY number DESC, run_id LIMIT 10"
    assert [(row[5], row[0]) for row in table.rows] == grid.sql(query).fetchall()
    command = str(table.rows[0][6])
    assert command.startswith("mayavi run depeg_cascade")
    assert f"--seed {table.rows[0][2]}" in command
    assert "prices.WETH.size=-40%" in command
    assert "agents.borrowers.count=100" not in command  # the default


def test_the_command_of_the_sweep_repeats_its_grid(page: Page) -> None:
    command = page.provenance.command
    assert command.startswith("mayavi sweep depeg_cascade")
    assert "--seeds 0:60" in command
    assert "--grid prices.WETH.size=-20%,-40%" in command
    assert "--grid agents.borrowers.count=50,100" in command
    assert "--set" not in command


@pytest.mark.slow(0.3)
def test_the_same_sweep_gives_the_same_bytes(grid: Store, page: Page) -> None:
    assert render(sweep_page(grid, "latest")) == render(page)


@pytest.mark.slow(0.3)
def test_one_axis_is_drawn_with_intervals(tmp_path: Path) -> None:
    points = {
        (f"prices.WETH.size={size}",): {seed: lending(losses(at, seed), 1.0) for seed in range(10)}
        for at, size in enumerate(SIZES)
    }
    page = sweep_page(store_sweep(tmp_path / "runs.duckdb", points), "latest")
    assert page.hero is not None
    assert page.hero.layout["yaxis"]["ticktext"] == SIZE_NAMES
    assert page.verdict.badge == "INDETERMINATE"
    assert any("59 runs are needed for an upper bound" in note for note in page.notes)


@pytest.mark.slow(1)
def test_many_runs_are_a_histogram_and_few_are_dots(tmp_path: Path) -> None:
    for count, kind in ((199, "scatter"), (200, "bar")):
        path = tmp_path / f"{count}.duckdb"
        store = store_sweep(path, {(): {seed: lending(float(seed), 1.0) for seed in range(count)}})
        hero = sweep_page(store, "latest").hero
        assert hero is not None
        assert hero.traces[0]["type"] in ({"bar", "histogram"} if kind == "bar" else {"scatter"})


def test_a_sweep_without_any_run_says_so(tmp_path: Path) -> None:
    store = store_sweep(tmp_path / "runs.duckdb", {}, seeds=range(5), status="interrupted")
    page = sweep_page(store, "latest")
    assert page.verdict.badge == "NO RUNS"
    assert (page.tiles, page.hero) == ((), None)
    assert "interrupted" in " ".join(page.notes)
    assert "No run of this sweep has finished" in render(page)


@pytest.mark.slow(0.3)
def test_one_run_makes_no_claim(tmp_path: Path) -> None:
    page = sweep_page(store_sweep(tmp_path / "runs.duckdb", {(): {7: lending(12.5, 100.0)}}), "latest")
    assert page.verdict.badge == "INDETERMINATE"
    assert "too few for any claim" in page.verdict.sentence
    assert "One run: bad debt is $12.5" in (page.hero.title if page.hero else "")
    assert tile(page, "runs") == "1"
    render(page)


@pytest.mark.slow(0.3)
def test_no_loss_is_bounded_not_certain(tmp_path: Path) -> None:
    store = store_sweep(tmp_path / "runs.duckdb", {(): {seed: lending(0.0, 100.0) for seed in range(60)}})
    page = sweep_page(store, "latest")
    assert page.verdict.badge == "NO LOSS"
    assert "probability of a loss is at most 5.96" in page.verdict.sentence


def test_failed_runs_are_listed_and_part_of_no_statistic(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    store_run(path, 8, [], "halted-8", status="halted", error="agent 'x' raised\nTraceback", sweep_id=SWEEP)
    store = store_sweep(
        path, {(): {seed: lending(5.0, 1.0) for seed in range(8)}}, seeds=range(9), status="interrupted"
    )
    page = sweep_page(store, "latest")
    (table,) = tables(page, "failed")
    assert cells(table) == [["halted-8", "8", "–", "halted", "2", "agent 'x' raised"]]
    assert tile(page, "runs") == "8"
    assert "mayavi runs show halted-8" in table.command


@pytest.mark.slow(0.3)
def test_outcomes_that_are_no_numbers_are_left_out_and_counted(tmp_path: Path) -> None:
    runs = {seed: lending(5.0 + seed, 1.0) for seed in range(6)}
    runs[6] = [kpi("bad_debt", math.nan), kpi("liquidated", math.inf)]
    page = sweep_page(store_sweep(tmp_path / "runs.duckdb", {(): runs}), "latest")
    assert any("2 outcomes are not finite numbers" in note for note in page.notes)
    assert "NaN" not in re.sub(r"<script.*?</script>", "", render(page), flags=re.DOTALL)
    assert "between $5" in (page.hero.title if page.hero else "")


def test_a_scenario_without_loans_is_about_its_price(tmp_path: Path) -> None:
    runs = {seed: [kpi("price_impact.NOVA/USDC.3000", -0.01 * seed, "wad")] for seed in range(30)}
    page = sweep_page(store_sweep(tmp_path / "runs.duckdb", {(): runs}), "latest")
    assert "mean price impact NOVA/USDC.3000 is" in page.verdict.sentence
    (table,) = tables(page, "worst")
    assert table.rows[0][0] == pytest.approx(-0.29)  # a fall is the bad end


@pytest.mark.slow(1)
def test_a_stored_sensitivity_is_shown_with_the_sweep_and_alone(tmp_path: Path) -> None:
    moves = [
        {"value": "80 gwei", "overrides": ["gas.base_fee=80 gwei"], "mean": 9.0,
         "difference": {"value": 4.0, "low": 1.0, "high": 7.0, "pairs": 30, "verdict": "effect"}},
        {"value": "5 gwei", "overrides": ["gas.base_fee=5 gwei"], "mean": 5.0,
         "difference": {"value": 0.0, "low": 0.0, "high": 0.0, "pairs": 30, "verdict": "no_effect"}},
    ]  # fmt: skip
    found = {"sweep_id": "sweep-sens", "scenario": "depeg_cascade", "chain": "ethereum", "figure": "bad_debt",
             "unit": "usd_e8", "seeds": [str(each) for each in range(30)], "base": {"mean": 5.0},
             "assumptions": [{"assumption": "gas.base_fee", "base": "20 gwei", "moves": moves}],
             "skipped": [{"assumption": "step", "value": None, "reason": "fixed"}], "notes": []}  # fmt: skip
    path = tmp_path / "runs.duckdb"
    runs = {seed: lending(5.0, 1.0) for seed in range(3)}
    store_sweep(path, {(): runs}, sweep_id="sweep-sens", summary={"sensitivity": found})
    store = store_sweep(path, {(): runs}, sweep_id="sweep-plain")
    assert has_section(sweep_page(store, "sweep-plain"), "sensitivity")
    alone = sweep_page(store, "sweep-sens")
    assert "gas.base_fee decides most: 80 gwei raises mean bad debt by $4" in alone.verdict.sentence
    assert alone.verdict.interval == "change of mean bad debt $4 [$1, $7], 95 % interval, 30 paired seeds"
    assert alone.provenance.command.startswith("mayavi sensitivity depeg_cascade")
    render(alone)


def test_a_hostile_name_stays_text(tmp_path: Path) -> None:
    runs = {seed: [kpi("bad_debt.<script>alert(1)</script>", 1.0 + seed)] for seed in range(3)}
    html = render(sweep_page(store_sweep(tmp_path / "runs.duckdb", {(): runs}), "latest"))
    assert "<script>alert(1)" not in html


@pytest.mark.slow(1)
def test_it_is_found_by_its_id_and_as_the_latest_sweep(grid: Store) -> None:
    places = Places(grid.path, grid.path.parent)
    assert find("sweep-0123", places).id == SWEEP
    found = find("latest", places, "sweep")
    assert (found.kind, found.stem) == ("sweep", f"depeg_cascade-{SWEEP}")
    assert charts(found.build())
    assert section(found.build(), "parameters").blocks

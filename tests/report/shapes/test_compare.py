"""The page of a comparison: only what differs, paired by seed where seeds pair."""

from __future__ import annotations

from pathlib import Path

import pytest

from mayavi.errors import UnknownRun, UsageError
from mayavi.report.render import render
from mayavi.report.shapes.compare import compare_page
from mayavi.scenarios.sensitivity.paired_difference import paired_difference
from mayavi.sim.rows import SnapshotRow
from mayavi.sim.store import Store
from tests.report.shapes.page_texts import cells, has_section, tables
from tests.report.shapes.stored_runs import kpi, lending, store_run, store_sweep


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    path = tmp_path_factory.mktemp("compared") / "runs.duckdb"
    store_run(path, 1, lending(100.0, 5.0), "run-one")
    store_run(path, 2, lending(130.0, 5.0), "run-two")
    store_run(path, 1, lending(150.0, 5.0), "run-moved", overrides=["agents.borrowers.count=50"])
    store_run(path, 1, lending(100.0, 5.0), "run-again")
    small = {seed: lending(100.0 + seed, 5.0) for seed in range(30)}
    large = {seed: lending(110.0 + 2 * seed, 5.0) for seed in range(20, 60)}
    store_sweep(path, {(): small}, sweep_id="sweep-small")
    return store_sweep(path, {("gas.base_fee=50 gwei",): large}, sweep_id="sweep-large")


def test_parameters_that_differ_stand_side_by_side(store: Store) -> None:
    page = compare_page(store, ["run-one", "run-moved"])
    (table,) = tables(page, "parameters")
    assert cells(table) == [["agents.borrowers.count", "100", "50"]]
    assert page.verdict.sentence == (
        "With number of borrowers 50 instead of 100, bad debt is $150 instead of $100, a change of +50\u00a0% "
        "(one seed, no interval)."
    )
    assert page.verdict.badge == "DIFFERENT"
    (figures,) = tables(page, "figures")
    assert [row[0] for row in figures.rows] == ["bad debt"]  # liquidated and liquidations are equal
    assert figures.rows[0][3] == "+$50"


def test_runs_of_one_scenario_are_compared_seed_by_seed(store: Store) -> None:
    page = compare_page(store, ["run-one", "run-two"])
    assert "seed 1" in page.title
    assert "seed 2" in page.title
    assert tables(page, "parameters")[0].rows == ()


def test_equal_runs_are_equal(store: Store) -> None:
    page = compare_page(store, ["run-one", "run-again"])
    assert page.verdict.badge == "EQUAL"
    assert page.hero is None
    assert not has_section(page, "facts")
    render(page)


@pytest.mark.slow(1)
def test_sweeps_are_paired_by_the_seeds_they_share(store: Store) -> None:
    page = compare_page(store, ["sweep-small", "sweep-large"])
    expected = paired_difference([(110.0 + 2 * seed) - (100.0 + seed) for seed in range(20, 30)])
    assert expected.verdict == "no_interval"
    assert "over 10 pairs" in page.verdict.interval
    assert page.verdict.badge == "INDETERMINATE"
    assert any("10 seeds are paired" in note for note in page.notes)


@pytest.mark.slow(2)
def test_enough_pairs_have_an_interval(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    store_sweep(path, {(): {seed: [kpi("bad_debt", 100.0 + seed % 5)] for seed in range(40)}}, sweep_id="sweep-a")
    moved = {seed: [kpi("bad_debt", 120.0 + seed % 7)] for seed in range(40)}
    store = store_sweep(path, {("gas.base_fee=50 gwei",): moved}, sweep_id="sweep-b")
    page = compare_page(store, ["sweep-a", "sweep-b"])
    found = paired_difference([20.0 + seed % 7 - seed % 5 for seed in range(40)])
    assert page.verdict.badge == "DIFFERENT"
    assert page.verdict.interval.startswith(f"+${found.value:.3g} [$")
    assert "over 40 pairs" in page.verdict.interval
    assert page.hero is not None
    assert page.hero.traces[0]["x"][0] == pytest.approx(found.value / 102.0, rel=1e-3)
    assert render(compare_page(store, ["sweep-a", "sweep-b"])) == render(page)


def test_shares_differ_in_points_and_the_chart_has_outcomes_only(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    for at, name in enumerate(("run-a", "run-b")):
        moved = [kpi("oracle_change.WETH", -0.3 - 0.15 * at, "wad"), kpi("transactions", 10.0 + 90 * at, "count")]
        overrides = ["agents.borrowers.count=50"] if at else []
        store_run(path, 1, [*lending(100.0 + 20 * at, 5.0), *moved], name, overrides=overrides)
    page = compare_page(Store(path), ["run-a", "run-b"])
    assert page.hero is not None
    assert page.hero.layout["yaxis"]["ticktext"] == ["bad debt"]
    (figures,) = tables(page, "figures")
    share = next(row for row in figures.rows if str(row[0]).startswith("oracle change"))
    assert share[3] == "−15 points"
    assert share[4] is None  # no percentage of a percentage
    assert [column.label for column in figures.columns][-1] == "change"  # no empty columns of intervals and verdicts


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (["run-one"], UsageError, "at least two runs"),
        (["run-one", "run-one"], UsageError, "named twice"),
        (["run-one", "nothing"], UnknownRun, "unknown run 'nothing'"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    store: Store, names: list[str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        compare_page(store, names)


@pytest.mark.slow(1)
def test_rounding_counts_as_equal_and_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    base = [kpi("oracle_change.WETH", -0.3), kpi("bad_debt", 100.0), kpi("gas_used", 10**10, "gas")]
    near = [kpi("oracle_change.WETH", -0.3 + 8e-12), kpi("bad_debt", 100.0 + 1e-8), kpi("gas_used", 10**10 + 1, "gas")]
    store_run(path, 1, base, "run-base")
    store_run(path, 1, near, "run-near", overrides=["gas.base_fee=50 gwei"])
    page = compare_page(Store(path), ["run-base", "run-near"])
    (figures,) = tables(page, "figures")
    assert [row[0] for row in figures.rows] == ["gas used"]  # counts are exact
    assert "2 more figures differ by rounding only" in " ".join(page.summary)
    store_run(path, 1, [kpi("oracle_change.WETH", -0.3001), *base[1:]], "run-far", overrides=["gas.base_fee=9 gwei"])
    assert [row[0] for row in tables(compare_page(Store(path), ["run-base", "run-far"]), "figures")[0].rows] == [
        "oracle change WETH"
    ]


@pytest.mark.slow(0.3)
def test_falls_and_rises_of_a_price_are_shown_with_their_jumps(tmp_path: Path) -> None:
    path = tmp_path / "runs.duckdb"
    for run_id, prices, override in (
        ("run-calm", (100.0, 99.0, 101.0), "10 gwei"),
        ("run-wild", (100.0, 70.0, 105.0), "50 gwei"),
    ):
        rows = [
            SnapshotRow(step, step, step, "WETH", "market_price", "0", price, "usd_e8")
            for step, price in enumerate(prices)
        ]
        store_run(path, 1, lending(1.0, 5.0), run_id, overrides=[f"gas.base_fee={override}"], snapshots=rows)
    (figures,) = tables(compare_page(Store(path), ["run-calm", "run-wild"]), "figures")
    assert [row[:4] for row in figures.rows] == [
        ("largest fall of WETH in a step", "−1\u00a0%", "−30\u00a0%", "−29 points"),
        ("largest rise of WETH in a step", "+2.02\u00a0%", "+50\u00a0%", "+48.0 points"),
    ]

"""Sensitivity analyses on the replica: directions that theory gives, stored runs that are not repeated, results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mayavi
from mayavi.errors import SimulationError, UnknownName, UsageError
from mayavi.scenarios.loading import load_text
from mayavi.scenarios.sensitivity.result import Sensitivity, bar
from mayavi.sim.store import Store

SMALL = {"agents.borrowers.count": 8, "prices.WETH.at": 1, "prices.WETH.size": "-45%"}


def analyse(store: Path, **options: Any) -> Sensitivity:
    chosen: dict[str, Any] = {"steps": 4, "overrides": SMALL, "seeds": "0:6", "jobs": 1, "store": store}
    return mayavi.sensitivity("depeg_cascade", **chosen | options)


def differences(found: Sensitivity) -> dict[tuple[str, str], float]:
    return {(effect.path, move.value): move.difference.value for effect in found.effects for move in effect.moves}


@pytest.fixture(scope="module")
def gas(tmp_path_factory: pytest.TempPathFactory) -> Sensitivity:
    """The effect of the base fee on the liquidators' profit."""
    store = tmp_path_factory.mktemp("gas") / "runs.duckdb"
    return analyse(store, figure="liquidator_profit", only=["gas.base_fee"])


@pytest.mark.slow
def test_more_expensive_gas_leaves_liquidators_less(gas: Sensitivity) -> None:
    found = differences(gas)
    assert found["gas.base_fee", "40 gwei"] < 0 < found["gas.base_fee", "10 gwei"]
    assert gas.runs == 18
    assert gas.unit == "usd_e8"


def test_differences_are_those_of_the_stored_runs(gas: Sensitivity) -> None:
    query = "SELECT scenario_text, seed, number FROM runs JOIN kpis USING (run_id) WHERE name = 'liquidator_profit'"
    rows = Store(gas.store_path).sql(query).fetchall()
    assert len(rows) == 18
    fees = {text: load_text(text).config.gas.base_fee // 10**9 for text, _, _ in rows}
    profit = {(fees[text], seed): number for text, seed, number in rows}
    assert all(profit[40, seed] <= profit[20, seed] <= profit[10, seed] for seed in range(6))
    expected = sum(profit[40, seed] - profit[20, seed] for seed in range(6)) / 6
    assert differences(gas)["gas.base_fee", "40 gwei"] == pytest.approx(expected)
    assert gas.base_mean == pytest.approx(sum(profit[20, seed] for seed in range(6)) / 6)


def test_another_figure_needs_no_new_run(gas: Sensitivity) -> None:
    other = analyse(gas.store_path, figure="liquidated", only=["gas.base_fee"])
    assert (other.runs, other.resumed, other.sweep_id) == (18, 18, gas.sweep_id)
    assert len(list(Store(gas.store_path).runs())) == 18


@pytest.mark.slow(2)
def test_runs_of_a_sweep_and_of_other_analyses_are_used(tmp_path: Path) -> None:
    store = tmp_path / "runs.duckdb"
    mayavi.sweep("depeg_cascade", seeds="0:2", steps=2, overrides=SMALL, jobs=1, store=store)
    first = analyse(store, seeds="0:2", steps=2, only=["gas.base_fee"])
    assert (first.runs, first.resumed) == (6, 2)
    more = analyse(store, seeds="0:2", steps=2, only=["gas"])
    assert (more.runs, more.resumed) == (10, 6)
    assert differences(first).items() <= differences(more).items()
    assert Store(store).sweep(more.sweep_id).status == "finished"


@pytest.mark.slow(1)
def test_deeper_pools_move_less(tmp_path: Path) -> None:
    found = mayavi.sensitivity(
        "vesting_cliff",
        figure="price_impact.NOVA/USDC.3000",
        seeds="0:6",
        steps=14,
        overrides={"agents.traders.trades_a_step": 1},
        only=["pools"],
        jobs=1,
        store=tmp_path / "runs.duckdb",
    )
    assert found.base_mean < -0.1  # five million are sold
    low, high = found.effects[0].moves
    assert (low.value, high.value) == ("0.5", "2")
    assert low.difference.value < 0 < high.difference.value
    assert " points" in found.rows()[0][3]


@pytest.mark.slow(1)
def test_what_changes_nothing_and_what_cannot_be_told_is_said(tmp_path: Path) -> None:
    given = {"agents.borrowers.panic_below": ["1.16", "1.3"]}
    found = analyse(
        tmp_path / "runs.duckdb",
        seeds="0:2",
        assumptions=given,
        overrides={**SMALL, "agents.borrowers.behaviour": "hold"},  # nobody panics
        only=["agents.borrowers.panic_below", "step_time"],
    )
    by_path = {effect.path: effect for effect in found.effects}
    assert {move.difference.verdict for move in by_path["agents.borrowers.panic_below"].moves} == {"no_effect"}
    assert {move.difference.verdict for move in by_path["step_time"].moves} == {"no_interval"}
    assert found.effects[-1].path == "agents.borrowers.panic_below"
    said = [row[-1].partition(";")[0] for row in found.rows()]
    assert said == ["no interval with 2 seeds"] * len(by_path["step_time"].moves) + ["no effect"] * 2


@pytest.mark.slow(0.5)
def test_a_figure_that_does_not_exist_is_refused_with_the_nearest(gas: Sensitivity, tmp_path: Path) -> None:
    for store in (gas.store_path, tmp_path / "new.duckdb"):  # before any run, and after the first of the base
        with pytest.raises(UnknownName, match="unknown figure 'bad_dept'") as caught:
            analyse(store, figure="bad_dept", only=["gas.base_fee"])
        assert "did you mean 'bad_debt'?" in str(caught.value.hint)
    assert len(list(Store(tmp_path / "new.duckdb").runs())) == 1


@pytest.mark.slow(1)
def test_a_move_that_the_world_refuses_is_skipped_with_the_reason(tmp_path: Path) -> None:
    path = "pools.NOVA/USDC.3000.liquidity_factor"
    found = mayavi.sensitivity(
        "vesting_cliff",
        seeds="0:2",
        steps=2,
        assumptions={path: [2, 1_000]},  # twenty billion of a hundred million tokens
        only=["ordering"],
        jobs=1,
        store=tmp_path / "runs.duckdb",
    )
    assert [(each.path, each.value) for each in found.skipped] == [(path, "1000")]
    assert "of the supply are left" in found.skipped[0].reason
    assert ("pools.NOVA/USDC.3000.liquidity_factor", "2") in differences(found)
    assert found.figure == "price_impact.NOVA/USDC.3000"  # it has no bad debt
    with pytest.raises((UsageError, SimulationError), match="of the supply are left"):
        mayavi.sensitivity("vesting_cliff", overrides={path: 1_000}, store=tmp_path / "runs.duckdb")


def test_the_result_as_data_frame_json_and_html(gas: Sensitivity) -> None:
    pandas = pytest.importorskip("pandas")
    frame = gas.df()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["moved_to"]) == [move.value for move in gas.effects[0].moves]
    assert list(frame["difference"]) == [move.difference.value for move in gas.effects[0].moves]
    html = gas._repr_html_()
    assert html.count("<tr>") == 3
    assert "gas.base_fee" in html
    assert "█" in html
    data = gas.to_json()
    assert data["assumptions"][0]["assumption"] == "gas.base_fee"
    assert data["seeds"] == ["0", "1", "2", "3", "4", "5"]


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(UsageError, match=r"mayavi\.sensitivity takes no 'figures'") as caught:
        mayavi.sensitivity("depeg_cascade", figures="bad_debt")
    assert "did you mean 'figure'?" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "          │          "),
        (10.0, "          │██████████"),
        (-10.0, "██████████│          "),
        (-2.6, "       ▐██│          "),
        (0.4, "          │▌         "),
        (0.01, "          │          "),
    ],
)
def test_bars_grow_from_zero_to_both_sides(value: float, expected: str) -> None:
    assert bar(value, 10.0) == expected

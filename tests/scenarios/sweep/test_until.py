"""Targets of a sweep: what can be asked for, when it is reached, and which seeds are added."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mayavi
from mayavi.cli.sweep import unreached_text
from mayavi.errors import UnknownKey, UsageError
from mayavi.scenarios.sweep.plan import make_plan
from mayavi.scenarios.sweep.request import SweepListener
from mayavi.scenarios.sweep.until import (
    CONFIDENCE_AT_LOOKS,
    TargetStatus,
    more_seeds,
    parse_target,
    relative_width,
    status_of,
)
from mayavi.sim.store import Store
from mayavi.statistics.estimate import Estimate
from mayavi.statistics.summary import summarise


@pytest.mark.parametrize(
    ("text", "label", "statistic", "figure", "tolerance"),
    [
        ("VaR ±10%", "VaR", "p95", "bad_debt", 0.1),
        ("var +-10 %", "VaR", "p95", "bad_debt", 0.1),
        ("LaR +/-2.5%", "LaR", "p95", "liquidated", 0.025),
        ("ES ± 20%", "ES", "expected_shortfall", "bad_debt", 0.2),
        ("mean(bad_debt) ±5%", "mean(bad_debt)", "mean", "bad_debt", 0.05),
        ("p50( price_impact.NOVA/USDC.3000 )±5%", "p50(price_impact.NOVA/USDC.3000)", "p50",
         "price_impact.NOVA/USDC.3000", 0.05),
        ("ES(liquidated) ±5%", "ES(liquidated)", "expected_shortfall", "liquidated", 0.05),
    ],
)  # fmt: skip
def test_targets_that_are_understood(text: str, label: str, statistic: str, figure: str, tolerance: float) -> None:
    found = parse_target(text)
    assert (found.label, found.statistic, found.figure) == (label, statistic, figure)
    assert found.tolerance == pytest.approx(tolerance)


@pytest.mark.parametrize(
    "text", ["", "VaR", "VaR 10%", "VaR ±10", "VaR ±x%", "mean ±5%", "p90(bad_debt) ±5%", "VaR(bad_debt) ±5%", "±5%"]
)
def test_targets_that_are_not_say_how_to_write_one(text: str) -> None:
    with pytest.raises(UsageError, match="not a valid target of a sweep") as refused:
        parse_target(text)
    assert "VaR ±10%" in str(refused.value.hint)


@pytest.mark.parametrize("text", ["VaR ±0%", "VaR ±100%"])
def test_a_precision_of_nothing_or_of_everything_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a valid precision"):
        parse_target(text)


def look(values: list[float], text: str = "VaR ±10%", most: int = 10_000) -> TargetStatus:
    summary = summarise(values, confidence=CONFIDENCE_AT_LOOKS)
    return status_of(parse_target(text), [{"bad_debt": summary}], len(values), most)


def test_a_value_at_risk_of_zero_is_known_once_its_interval_is_zero() -> None:
    known = look([0.0] * 100)
    assert (known.relative, known.reached) == (0.0, True)
    early = look([0.0] * 68)
    assert (early.reached, early.runs_needed) == (False, 69)
    around = look([0.0] * 97 + [1.0, 2.0, 3.0])
    assert around.estimate.value == 0
    assert around.estimate.complete
    assert (around.relative, around.reached, around.runs_needed) == (None, False, None)
    assert around.next_runs() == 200


def test_a_figure_around_zero_gets_no_advice_to_go_on() -> None:
    message, hint = unreached_text(look([0.0] * 97 + [1.0, 2.0, 3.0]))
    assert "of which no percentage can be taken" in message
    assert '--until "mean(bad_debt) ±20%", or read P(loss)' in hint
    assert "--most" not in hint


def test_a_mean_of_a_hundred_equal_values_cannot_be_reached() -> None:
    assert look([0.0] * 100, "mean(bad_debt) ±10%").hopeless
    assert not look([0.0] * 99, "mean(bad_debt) ±10%").hopeless
    assert not look([0.0] * 100).hopeless


def test_the_worst_point_of_a_grid_decides() -> None:
    rng = np.random.default_rng(0)
    narrow, wide = (summarise(rng.normal(100, spread, 200)) for spread in (1, 80))
    found = status_of(parse_target("mean(bad_debt) ±5%"), [{"bad_debt": narrow}, {"bad_debt": wide}], 200, 10_000)
    assert found.estimate == wide.mean
    assert not found.reached
    with pytest.raises(UnknownKey, match="unknown figure 'bad_debt'"):
        status_of(parse_target("VaR ±5%"), [{"bad_dept": narrow}], 200, 10_000)


def test_batches_grow_by_a_quarter_to_twofold_within_the_budget() -> None:
    target = parse_target("VaR ±10%")

    def after(relative: float, most: int = 10_000) -> int:
        return TargetStatus(target, 400, most, Estimate(1.0, 1 - relative, 1 + relative), relative, False).next_runs()

    assert [after(each) for each in (0.101, 0.12, 0.5)] == [500, 580, 800]
    assert after(0.5, most=600) == 600
    assert relative_width(Estimate(-2.0, -3.0, -1.0)) == 0.5


def test_seeds_follow_the_first_ones_and_the_sweep_keeps_its_name() -> None:
    assert more_seeds((5, 1), 1) == (5,)
    assert more_seeds((5, 1), 4) == (5, 1, 6, 7)
    few, many = (make_plan(["text"], [()], more_seeds((0, 1), count), {}, start=(0, 1)) for count in (2, 50))
    assert few.sweep_id == many.sweep_id != make_plan(["text"], [()], (0, 1), {}).sweep_id
    assert few.tasks == many.tasks[:2]


SMALL = {"steps": 2, "overrides": {"agents.borrowers.count": 3, "prices.WETH.at": 1}}


@pytest.mark.slow(2)
def test_a_sweep_goes_on_until_its_target_and_repeats_no_run(tmp_path: Path) -> None:
    class Listener(SweepListener):
        looks: list[int]

        def looked(self, status: TargetStatus) -> None:
            self.looks.append(status.runs)

    def swept(until: str, most: int) -> tuple[mayavi.scenarios.sweep.result.Sweep, list[int]]:
        listener = Listener()
        listener.looks = []
        place = tmp_path / "runs.duckdb"
        found = mayavi.sweep("depeg_cascade", seeds="0:4", until=until, most=most, jobs=1, store=place,
                             listener=listener, **SMALL)  # fmt: skip
        return found, listener.looks

    short, looks = swept("p50(transactions) ±30%", 5)
    assert looks == [4, 5]
    assert short.target is not None
    assert (short.target.reached, short.target.runs_needed, short.resumed) == (False, 7, 0)
    done, looks = swept("p50(transactions) ±90%", 12)
    assert looks[:2] == [4, 7]
    assert done.target is not None
    assert done.target.reached
    assert (done.sweep_id, done.resumed) == (short.sweep_id, 5)
    assert done.seeds == tuple(range(looks[-1]))
    record = Store(tmp_path / "runs.duckdb").sweep(done.sweep_id)
    assert (record.status, record.plan["until"]) == ("finished", "p50(transactions) ±90 %")
    assert len(Store(tmp_path / "runs.duckdb").runs(sweep_id=done.sweep_id)) == looks[-1]
    with pytest.raises(UnknownKey, match="unknown figure 'bad_dept'"):
        swept("mean(bad_dept) ±5%", 12)


def test_budgets_and_seeds_that_cannot_be_are_refused() -> None:
    with pytest.raises(UsageError, match="--most 3 is less than the 4 seeds to start with"):
        mayavi.sweep("depeg_cascade", seeds="0:4", until="VaR ±10%", most=3)
    with pytest.raises(UsageError, match="a budget without a target"):
        mayavi.sweep("depeg_cascade", seeds="0:4", most=3)
    with pytest.raises(UsageError, match="there are no seeds"):
        mayavi.sweep("depeg_cascade")

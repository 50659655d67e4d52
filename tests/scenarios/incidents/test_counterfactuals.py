"""Counterfactuals: the effect of one change at the same seed, and of all changes together."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from mayavi.errors import UsageError
from mayavi.scenarios.incidents.replay import TOGETHER, replay_incident

LOWEST = 4  # the lowest price change of the day
HALF_DEPTH = "pools.EIGEN/USDC.3000.liquidity_factor=0.5"
NO_INVESTORS = "agents.investors.share=0%"


@pytest.mark.slow(0.5)
def test_an_effect_is_the_changed_run_less_the_unchanged_one(tmp_path: Path) -> None:
    store = tmp_path / "runs.duckdb"
    report = replay_incident("eigen_2025_10", counterfactuals=[HALF_DEPTH], store=store)
    (changed,) = report.counterfactuals
    effect = changed.effects["unlock"][LOWEST]
    assert effect.base == report.runs["unlock"].figures[LOWEST].simulated
    assert effect.difference == effect.changed - effect.base
    # half the depth: (1 / (1 + 2 · 41.9 / 2,040))² instead of (1 / (1 + 41.9 / 2,040))²
    assert Decimal("-0.079") < effect.changed < Decimal("-0.075")
    unlocked = changed.effects["unlock"][0]
    assert unlocked.difference == 0
    assert changed.runs["unlock"].run_id != report.runs["unlock"].run.run_id


@pytest.mark.slow(1)
def test_changes_together_add_up_but_for_their_interaction(tmp_path: Path) -> None:
    store = tmp_path / "runs.duckdb"
    report = replay_incident("eigen_2025_10", counterfactuals=[HALF_DEPTH, NO_INVESTORS], store=store)
    assert [each.change for each in report.counterfactuals] == [HALF_DEPTH, NO_INVESTORS, TOGETHER]
    one, other, both = (each.effects["unlock"][LOWEST].difference for each in report.counterfactuals)
    interaction = report.interaction("unlock", LOWEST)
    assert interaction == both - one - other
    assert interaction is not None
    assert interaction > 0  # without the investors half the depth matters less


@pytest.mark.slow(1)
def test_the_same_change_twice_gives_the_same_rows(tmp_path: Path) -> None:
    store = tmp_path / "runs.duckdb"
    first, second = (
        replay_incident("eigen_2025_10", counterfactuals=[HALF_DEPTH], store=store).counterfactuals[0].runs["unlock"]
        for _ in range(2)
    )
    assert first.digest == second.digest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("agents.investor.share=0%", "--counterfactual agents.investor.share=0%"),
        ("agents.investors.shares=0%", "unknown key 'shares'"),
        ("agents.investors.share=400%", "agents.investors.share"),
    ],
)
def test_a_change_of_what_is_not_there_is_refused_before_anything_runs(
    tmp_path: Path, change: str, message: str
) -> None:
    store = tmp_path / "runs.duckdb"
    with pytest.raises(UsageError) as found:
        replay_incident("eigen_2025_10", counterfactuals=[change], store=store)
    assert message in found.value.message
    assert "--set" not in found.value.message + (found.value.hint or "")
    assert not store.exists()


def test_a_change_without_a_value_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'--counterfactual steps' does not set anything"):
        replay_incident("eigen_2025_10", counterfactuals=["steps"], store=tmp_path / "runs.duckdb")

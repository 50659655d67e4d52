"""What the figures of a run say, and what they warn of."""

from __future__ import annotations

from tests.scenarios.play import play


def test_every_account_of_a_population_can_be_followed_step_by_step() -> None:
    played = play("depeg_cascade", steps=3)
    followed = [row for row in played.snapshots if (row.subject, row.metric) == ("borrowers-17", "health_factor")]
    assert [row.step for row in followed] == [-1, 0, 1, 2]
    assert "health_factor.borrowers-17" not in played.kpis  # figures of a run are of all of them


def test_an_account_whose_collateral_is_gone_cannot_be_liquidated() -> None:
    played = play("depeg_cascade", steps=6, overrides=["prices.WETH={process: step, at: 2, size: -60%}"])
    last = {row.metric: int(row.value) for row in played.snapshots if row.subject == "borrowers"}
    assert last["liquidatable"] == played.kpis["liquidatable_accounts"] < last["health_factor_below_1"]

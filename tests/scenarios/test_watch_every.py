"""`watch: {every: N}`: figures before the first step, after every N-th and after the last."""

from __future__ import annotations

import pytest

from mayavi.errors import BadScenario
from mayavi.scenarios.loading import load_scenario
from tests.scenarios.play import play

SMALL = ["agents.borrowers.count=5"]


@pytest.mark.parametrize(("every", "steps"), [(3, {-1, 2, 5, 7}), (4, {-1, 3, 7}), (100, {-1, 7})])
def test_rows_exist_at_these_steps_only_and_no_kpi_changes(every: int, steps: set[int]) -> None:
    dense = play("depeg_cascade", steps=8, overrides=SMALL)
    sparse = play("depeg_cascade", steps=8, overrides=[*SMALL, f"watch.every={every}"])
    assert {row.step for row in sparse.snapshots} == steps
    assert sparse.snapshots == [row for row in dense.snapshots if row.step in steps]
    assert sparse.actions == dense.actions
    assert sparse.kpis == dense.kpis
    assert sparse.built.accounts.rows == dense.built.accounts.rows


@pytest.mark.parametrize("every", ["0", "-1", "2.5", "often"])
def test_anything_but_a_number_of_steps_is_refused(every: str) -> None:
    with pytest.raises(BadScenario, match=r"watch\.every"):
        load_scenario("depeg_cascade", overrides=[f"watch.every={every}"])

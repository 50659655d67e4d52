"""Tasks of a sweep in portions: each task once, in order, and as many together as take two seconds."""

from __future__ import annotations

from mayavi.scenarios.sweep.plan import Task
from mayavi.scenarios.sweep.portions import MOST_TASKS, PORTION_S, Portions

TASKS = [Task(f"key-{seed}", 0, seed) for seed in range(200)]


def test_long_runs_are_taken_one_by_one() -> None:
    portions = Portions(TASKS[:6], jobs=2)
    found = []
    for portion in portions:
        portions.took(len(portion), 3 * PORTION_S)
        found.append(portion)
    assert found == [[task] for task in TASKS[:6]]


def test_short_runs_are_taken_together_and_shared_out_at_the_end() -> None:
    portions = Portions(TASKS, jobs=2)
    found = []
    for portion in portions:
        portions.took(len(portion), 1e-3 * len(portion))
        found.append(portion)
    assert [task for portion in found for task in portion] == TASKS
    assert [len(portion) for portion in found[:3]] == [1, MOST_TASKS, MOST_TASKS]
    assert [len(portion) for portion in found[3:]] == [36, 18, 9, 4, 2, 1, 1]


def test_no_tasks_are_no_portion() -> None:
    assert list(Portions([], jobs=4)) == []

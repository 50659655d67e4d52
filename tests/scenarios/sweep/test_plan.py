"""Seeds, grids, and tasks that are known by what they compute."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.errors import UsageError
from mayavi.scenarios.sweep.plan import (
    check_seed,
    check_seeds,
    make_plan,
    parse_grid,
    parse_seeds,
    split_values,
    task_key,
)

WORLD = {"world": "9f3c", "version": "0.1.0"}


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("0:4", (0, 1, 2, 3)),
        ("7", (7,)),
        ("1,2,5", (1, 2, 5)),
        ("5,1", (5, 1)),
        ("0:3, 10, 20:22", (0, 1, 2, 10, 20, 21)),
        (f"{2**63 - 1}", (2**63 - 1,)),
    ],
)
def test_seeds_are_a_range_a_list_or_both(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'' names no seeds"),
        ("a:b", "'a:b' names no seeds"),
        ("-1", "'-1' names no seeds: seeds are not negative"),
        ("1,,2", "'' names no seeds"),
        ("0:1:2", "names no seeds"),
        ("1.5", "'1.5' names no seeds"),
        ("٣", "names no seeds"),
        ("5:5", "'5:5' holds no seed: it ends where it begins"),
        ("9:3", "'9:3' holds no seed: it ends before it begins"),
        ("-3:2", "'-3:2' names no seeds: seeds are not negative"),
        ("1,2,1", "seed 1 is given twice"),
        ("0:3,2", "seed 2 is given twice"),
        (f"{2**63}", f"seed {2**63} is out of range"),
        ("0:99999999999999", "more than a sweep holds"),
    ],
)
def test_seeds_that_cannot_be_are_refused_with_the_way_to_give_them(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as refused:
        parse_seeds(text)
    assert refused.value.hint


def test_seeds_from_python() -> None:
    assert check_seeds(range(3)) == (0, 1, 2)
    for seed in (-1, 2**63, True, 1.0, "1"):
        with pytest.raises(UsageError):
            check_seed(seed)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no seeds"):
        check_seeds([])


def test_a_grid_is_every_combination_of_its_axes() -> None:
    assert parse_grid([]) == ((),)
    assert parse_grid(["shock=1,2", "agents.count=10"]) == (
        ("shock=1", "agents.count=10"),
        ("shock=2", "agents.count=10"),
    )
    assert parse_grid(["a=1,2", "b=x,y"]) == (("a=1", "b=x"), ("a=1", "b=y"), ("a=2", "b=x"), ("a=2", "b=y"))


def test_values_may_hold_commas_in_brackets_and_quotes() -> None:
    assert split_values("[1, 2], [3]") == ["[1, 2]", "[3]"]
    assert split_values('{uniform: [1, 2]},"a,b",c') == ["{uniform: [1, 2]}", '"a,b"', "c"]


def test_a_sweep_may_be_as_large_as_its_limit_and_no_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mayavi.scenarios.sweep.plan.TASK_LIMIT", 6)
    points = (("a=1",), ("a=2",))
    assert len(make_plan(["one", "two"], points, (1, 2, 3), WORLD).tasks) == 6
    with pytest.raises(UsageError, match="8 runs are more than a sweep holds"):
        make_plan(["one", "two"], points, (1, 2, 3, 4), WORLD)
    assert parse_seeds("0:6") == (0, 1, 2, 3, 4, 5)
    with pytest.raises(UsageError, match="7 seeds are more than a sweep holds"):
        parse_seeds("0:7")
    assert len(parse_grid(["a=1,2", "b=1,2,3"])) == 6
    with pytest.raises(UsageError, match="a grid of 8 points is more than a sweep holds"):
        parse_grid(["a=1,2", "b=1,2,3,4"])


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        (["shock"], "'shock' is not a valid axis"),
        (["=1,2"], "'=1,2' is not a valid axis"),
        (["a="], "a value of 'a=' is empty"),
        (["a=1,,2"], "is empty"),
        (["a=1", "a=2"], "'a' is given to --grid twice"),
        ([f"{name}=" + ",".join(map(str, range(1_000))) for name in "abc"], "more than a sweep holds"),
    ],
)
def test_a_grid_that_cannot_be_is_refused(axes: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_grid(axes)


def test_every_seed_runs_at_every_point_and_points_take_turns() -> None:
    plan = make_plan(["one", "two"], [("a=1",), ("a=2",)], [4, 5], WORLD)
    assert [(task.seed, task.point) for task in plan.tasks] == [(4, 0), (4, 1), (5, 0), (5, 1)]
    assert len({task.key for task in plan.tasks}) == 4


def test_what_is_done_is_never_run_again_and_the_rest_is() -> None:
    plan = make_plan(["text"], [()], range(4), WORLD)
    done = [task_key("text", seed) for seed in (0, 2)]
    assert [task.seed for task in plan.open_tasks(done)] == [1, 3]
    assert plan.open_tasks([task.key for task in plan.tasks]) == []


def test_the_same_command_is_the_same_sweep_and_any_difference_another() -> None:
    def name(texts=("text",), seeds=(0, 1), world=WORLD) -> str:
        return make_plan(texts, [()] * len(texts), seeds, world).sweep_id

    assert name() == name(world=dict(reversed(WORLD.items())))
    others = [name(texts=("other",)), name(seeds=(0, 2)), name(world=WORLD | {"version": "0.2.0"}), name(("text", "b"))]
    assert len({name(), *others}) == 5


def test_points_that_say_the_same_are_refused() -> None:
    with pytest.raises(UsageError, match="two points of the grid are the same"):
        make_plan(["same", "same"], [("a=1",), ("a=1.0",)], [0], WORLD)


@given(st.text(), st.text(), st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_a_key_is_one_of_scenario_and_seed_alone(text: str, other: str, seed: int, another: int) -> None:
    assert (task_key(text, seed) == task_key(other, another)) is ((text, seed) == (other, another))

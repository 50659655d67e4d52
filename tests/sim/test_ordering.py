"""Orders nobody gains from: they know names, not places in a list."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayavi.agents.base import Intent
from mayavi.errors import UnknownName
from mayavi.sim.ordering import Ordering, QueuedIntent, ordered
from tests.sim.small_world import nothing


def placed(agent: str, account: str = "", tip: int = 0, kind: str = "act") -> QueuedIntent:
    return QueuedIntent(agent, account or agent, Intent(kind, nothing), tip)


def names(wanted: list[QueuedIntent]) -> list[str]:
    return [each.agent for each in wanted]


def test_fifo_leaves_everything_in_its_place() -> None:
    wanted = [placed("c"), placed("a", tip=9), placed("b")]
    assert names(ordered(wanted, "fifo", seed=1, step=0, block="x")) == ["c", "a", "b"]


@pytest.mark.parametrize("ordering", ["shuffle", "priority_fee"])
def test_the_place_in_the_list_changes_nothing(ordering: Ordering) -> None:
    wanted = [placed("a", tip=1), placed("b", tip=1), placed("c"), placed("d", "d-1", tip=2), placed("d", "d-2")]
    orders = {
        tuple((each.agent, each.account) for each in ordered(list(each), ordering, seed=3, step=2, block="x"))
        for each in permutations(wanted)
    }
    assert len(orders) == 1


def test_the_draw_is_another_one_for_each_seed_step_and_block() -> None:
    wanted = [placed(name) for name in "abcdefgh"]
    orders = {
        tuple(names(ordered(wanted, "shuffle", seed=seed, step=step, block=block)))
        for seed in (1, 2)
        for step in (0, 1)
        for block in "xy"
    }
    assert len(orders) == 8


def test_everybody_is_first_equally_often() -> None:
    wanted = [placed(name) for name in ("anna", "bert", "carl")]
    first = Counter(names(ordered(wanted, "shuffle", seed=0, step=step, block="all"))[0] for step in range(3_000))
    assert sum((count - 1_000) ** 2 / 1_000 for count in first.values()) < 13.8  # chi-square, 2 degrees, 0.1 %


def test_the_higher_tip_is_first_and_equals_are_drawn() -> None:
    wanted = [placed("poor", tip=1), placed("rich", tip=100), placed("x", tip=10), placed("y", tip=10)]
    orders = {tuple(names(ordered(wanted, "priority_fee", seed=1, step=step, block="b"))) for step in range(20)}
    assert orders == {("rich", "x", "y", "poor"), ("rich", "y", "x", "poor")}


def test_what_one_account_wants_stays_in_its_order_whatever_it_tips() -> None:
    mine = [placed("me", tip=tip, kind=str(number)) for number, tip in enumerate((5, 100, 1))]
    wanted = [*mine, placed("other", tip=50)]
    done = ordered(wanted, "priority_fee", seed=1, step=0, block="b")
    assert [each.intent.kind for each in done if each.agent == "me"] == ["0", "1", "2"]
    assert names(done) == ["other", "me", "me", "me"]  # the second, dearer one has to wait for the first


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=12),
    st.sampled_from(["shuffle", "priority_fee"]),
    st.integers(0, 2**63 - 1),
)
def test_an_order_is_a_permutation_that_keeps_accounts_in_order(
    wishes: list[tuple[str, int]], ordering: Ordering, seed: int
) -> None:
    wanted = [placed(name, tip=tip, kind=str(number)) for number, (name, tip) in enumerate(wishes)]
    done = ordered(wanted, ordering, seed=seed, step=0, block="b")
    assert sorted(map(id, done)) == sorted(map(id, wanted))
    for name in "abc":
        kinds = [int(each.intent.kind) for each in done if each.agent == name]
        assert kinds == sorted(kinds)


def test_an_unknown_ordering_is_refused() -> None:
    with pytest.raises(UnknownName, match="unknown ordering 'random'"):
        ordered([], "random", seed=1, step=0, block="b")  # type: ignore[arg-type]

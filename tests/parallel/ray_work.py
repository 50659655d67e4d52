"""The same work on two Ray nodes of this machine. `test_ray_workers.py` runs these in a process of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mayavi.errors import UnknownName, WorkerError
from mayavi.parallel.ray_tasks import work_off_on_ray
from tests.parallel.ray_cluster import two_nodes

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    with two_nodes() as address:
        yield address


def where(base: int) -> Callable[[int], tuple[int, str, int]]:
    prepared: list[int] = []

    def work(task: int) -> tuple[int, str, int]:
        import time

        import ray

        prepared.append(task)
        time.sleep(0.1)  # long enough for both nodes to get some
        return base + task, ray.get_runtime_context().get_node_id(), len(prepared)

    return work


def test_every_task_is_worked_off_once_and_on_both_nodes(cluster: str) -> None:
    done = dict(work_off_on_ray(range(12), where, (100,), cluster))
    assert {task: value for task, (value, _, _) in done.items()} == {task: 100 + task for task in range(12)}
    assert len({node for _, node, _ in done.values()}) == 2
    assert max(count for _, _, count in done.values()) > 1  # prepared once a process, not once a task


def refusing() -> Callable[[str], Any]:
    def work(task: str) -> Any:
        if task == "mayavi":
            raise UnknownName("unknown scenario 'x'", "did you mean 'y'?")
        raise ZeroDivisionError(task)

    return work


def test_an_error_of_a_task_is_raised_with_its_hint(cluster: str) -> None:
    with pytest.raises(UnknownName, match="unknown scenario 'x'") as refused:
        list(work_off_on_ray(["mayavi"], refusing, (), cluster))
    assert refused.value.hint == "did you mean 'y'?"
    with pytest.raises(WorkerError, match="raised ZeroDivisionError: seven"):
        list(work_off_on_ray(["seven"], refusing, (), cluster))


def test_a_cluster_that_does_not_answer_is_an_error_with_the_next_step() -> None:
    pytest.importorskip("ray")
    with pytest.raises(WorkerError, match="no Ray cluster answers at 'nowhere'") as refused:
        list(work_off_on_ray([1], where, (0,), "nowhere"))
    assert "ray start --head" in (refused.value.hint or "")

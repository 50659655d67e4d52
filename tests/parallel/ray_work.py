"""The same work on two Ray nodes of this machine. `test_ray_tasks.py` runs these in a process of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mayavi.errors import UnknownName, WorkerError
from mayavi.parallel.ray_tasks import work_off_on_ray
from tests.parallel.ray_cluster import PATIENCE_S, two_nodes

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    with two_nodes() as address:
        yield address


def where(base: int, meeting: str) -> Callable[[int], tuple[int, str, int]]:
    prepared: list[int] = []

    def work(task: int) -> tuple[int, str, int]:
        import ray

        prepared.append(task)
        node = ray.get_runtime_context().get_node_id()
        meet(Path(meeting), node)
        return base + task, node, len(prepared)

    return work


def meet(folder: Path, node: str) -> None:
    """Wait for a task on another node: otherwise the node whose process starts first may do all of them."""
    (folder / node).touch()
    deadline = time.monotonic() + PATIENCE_S
    while len(list(folder.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)


def test_every_task_is_worked_off_once_and_on_both_nodes(cluster: str, tmp_path: Path) -> None:
    done = dict(work_off_on_ray(range(12), where, (100, str(tmp_path)), cluster))
    assert {task: value for task, (value, _, _) in done.items()} == {task: 100 + task for task in range(12)}
    assert len({node for _, node, _ in done.values()}) == 2
    assert max(count for _, _, count in done.values()) > 1  # prepared once a process, not once a task


def refusing() -> Callable[[str], Any]:
    def work(task: str) -> Any:
        if task == "mayavi":
            raise UnknownName("unknown scenario 'x'", "did you mean 'y'?")
        raise ZeroDivisionError(task)

    return work


def test_an_error_of_a_task_is_raised_with_its_hint(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    cancelled: list[Any] = []
    monkeypatch.setattr(ray, "cancel", lambda reference, **_: cancelled.append(reference))
    with pytest.raises(UnknownName, match="unknown scenario 'x'") as refused:
        list(work_off_on_ray(["mayavi"], refusing, (), cluster))
    assert refused.value.hint == "did you mean 'y'?"
    with pytest.raises(WorkerError, match="raised ZeroDivisionError: seven"):
        list(work_off_on_ray(["seven"], refusing, (), cluster))
    assert not cancelled, "a task that is done is not cancelled"


def test_a_cluster_that_does_not_answer_is_an_error_with_the_next_step() -> None:
    pytest.importorskip("ray")
    with pytest.raises(WorkerError, match="no Ray cluster answers at 'nowhere'") as refused:
        list(work_off_on_ray([1], refusing, (), "nowhere"))
    assert "ray start --head" in (refused.value.hint or "")

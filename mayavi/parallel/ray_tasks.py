"""Execute tasks on a Ray cluster, with the interface of `processes.work_off`.

Nodes need only the same version of Mayavi: worlds are sent once to each process, results come back with the tasks.
"""

from __future__ import annotations

import os
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import Any, TypeVar, cast

import mayavi
from mayavi.errors import MayaviError, SetupError, WorkerError
from mayavi.parallel.processes import Answer, as_picklable
from mayavi.parallel.ray_address import join_cluster

T = TypeVar("T")
R = TypeVar("R")

_PER_CORE = 2
"""Tasks submitted for each core of the cluster: one that runs and one that waits."""

_prepared: dict[str, Callable[[Any], Any]] = {}


def work_off_on_ray(
    tasks: Iterable[T], prepare: Callable[..., Callable[[T], R]], arguments: tuple[Any, ...], address: str
) -> Iterator[tuple[T, R]]:
    """Execute tasks on the Ray cluster at `address`: `auto`, `host:6379` or `ray://host:10001`.

    Arguments are those of `processes.work_off`; `arguments` are sent once to each node. A task whose node is lost runs
    on another.
    """
    ray = _connect(address)
    waiting = deque(tasks)
    running: dict[Any, T] = {}
    try:
        cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        shared = ray.put((prepare, arguments))
        work = ray.remote(num_cpus=1, max_retries=2, scheduling_strategy="SPREAD")(_work)
        while waiting or running:
            while waiting and len(running) < _PER_CORE * cores:
                task = waiting.popleft()
                running[work.remote(shared, shared.hex(), mayavi.__version__, task)] = task
            done, _ = ray.wait(list(running), num_returns=1)
            for reference in done:
                task = running.pop(reference)  # first: Ray may abort this process if a task that is done is cancelled
                answer = _answer(ray, reference)
                if answer.error is not None:
                    raise answer.error
                yield task, cast(R, answer.value)
    finally:
        for reference in running:
            ray.cancel(reference, force=True)
        ray.shutdown()


def _connect(address: str) -> Any:
    if find_spec("ray") is None:
        raise SetupError("ray is not installed", "`pip install 'mayavi-sim[cluster]'` installs it")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # silences a warning about accelerators
    import ray

    join_cluster(ray, address)
    return ray


def _answer(ray: Any, reference: Any) -> Answer:
    try:
        return cast(Answer, ray.get(reference))
    except ray.exceptions.RayError as error:
        hint = f"every node needs mayavi {mayavi.__version__} installed for the same Python\n{str(error).strip()}"
        return Answer(error=WorkerError("a node of the Ray cluster could not do its work", hint))


def _work(
    shared: tuple[Callable[..., Callable[[Any], Any]], tuple[Any, ...]], key: str, version: str, task: Any
) -> Answer:
    """Run a task on a node; prepare first, once for each process."""
    if mayavi.__version__ != version:
        message = f"a node of the Ray cluster has mayavi {mayavi.__version__}, and the sweep runs on {version}"
        return Answer(error=WorkerError(message, "install the same version on all of them"))
    try:
        if key not in _prepared:
            prepare, arguments = shared
            _prepared.clear()  # the world of an earlier sweep
            _prepared[key] = prepare(*arguments)
        return Answer(_prepared[key](task))
    except MayaviError as error:
        return Answer(error=as_picklable(error))
    except Exception as error:
        trace = "".join(traceback.format_exception(error)).rstrip()
        return Answer(error=WorkerError(f"a node raised {type(error).__name__}: {error}", trace))

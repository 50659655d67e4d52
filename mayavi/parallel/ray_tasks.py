"""The same work on a Ray cluster: tasks go to whatever node is free, what they need travels once to each process.

The nodes need no file of this machine, only the same Mayavi installed: worlds and results travel with the tasks.
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
from mayavi.parallel.processes import Answer, portable
from mayavi.parallel.ray_address import join_cluster

T = TypeVar("T")
R = TypeVar("R")

_PER_CORE = 2
"""Tasks handed out for each core of the cluster: one that runs and one that waits, and no more to lose or to hold."""

_prepared: dict[str, Callable[[Any], Any]] = {}


def work_off_on_ray(
    tasks: Iterable[T], prepare: Callable[..., Callable[[T], R]], arguments: tuple[Any, ...], address: str
) -> Iterator[tuple[T, R]]:
    """What `workers.work_off` promises, on the Ray cluster at `address`: `auto`, `host:6379` or `ray://host:10001`.

    `arguments` travel once to each node. A task whose node is lost is given to another.
    """
    ray = _connected(address)
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
                answer = _answer(ray, reference)
                if answer.error is not None:
                    raise answer.error
                yield running.pop(reference), cast(R, answer.value)
    finally:
        for reference in running:
            ray.cancel(reference, force=True)
        ray.shutdown()


def _connected(address: str) -> Any:
    if find_spec("ray") is None:
        raise SetupError("ray is not installed", "`pip install 'mayavi-sim[cluster]'` installs it")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # we ask for no accelerator, and warn of none
    import ray

    join_cluster(ray, address)
    return ray


def _answer(ray: Any, reference: Any) -> Answer:
    try:
        return cast(Answer, ray.get(reference))
    except ray.exceptions.RayError as error:
        told = str(error).strip()
        hint = f"every node needs mayavi {mayavi.__version__} installed for the same Python\n{told}"
        return Answer(error=WorkerError("a node of the Ray cluster could not do its work", hint))


def _work(
    shared: tuple[Callable[..., Callable[[Any], Any]], tuple[Any, ...]], key: str, version: str, task: Any
) -> Answer:
    """What runs on a node: prepare once a process, then the task."""
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
        return Answer(error=portable(error))
    except Exception as error:
        told = "".join(traceback.format_exception(error)).rstrip()
        return Answer(error=WorkerError(f"a node ran into {type(error).__name__}: {error}", told))

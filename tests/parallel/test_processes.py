"""Worker processes: every task is worked off once, whatever happens to the processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mayavi.errors import UnknownName, UsageError, WorkerError
from mayavi.parallel.cores import available_cores
from mayavi.parallel.processes import check_jobs, work_off


def squares(base: int) -> Callable[[int], tuple[int, int]]:
    return lambda task: (base + task * task, os.getpid())


@pytest.mark.slow(0.5)
def test_every_task_is_worked_off_once_by_processes_of_their_own() -> None:
    done = dict(work_off(range(20), squares, (100,), jobs=2))
    assert {task: value for task, (value, _) in done.items()} == {task: 100 + task * task for task in range(20)}
    processes = {process for _, process in done.values()}
    assert len(processes) == 2
    assert os.getpid() not in processes


@pytest.mark.slow(0.3)
def test_there_are_never_more_processes_than_tasks() -> None:
    assert len({process for _, (_, process) in work_off([1], squares, (0,), jobs=8)}) == 1
    assert list(work_off([], squares, (0,), jobs=8)) == []


def environment() -> Callable[[str], str | None]:
    return os.environ.get


@pytest.mark.slow(0.3)
def test_a_worker_has_one_thread() -> None:
    assert dict(work_off(["RAYON_NUM_THREADS"], environment, (), jobs=1)) == {"RAYON_NUM_THREADS": "1"}


@pytest.mark.slow(0.3)
def test_a_worker_keeps_compiled_texts_for_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAYAVI_CACHE_DIR", str(tmp_path))
    (tmp_path / "replica").touch()  # an empty cache directory stays empty
    assert dict(work_off(["PYDANTIC_DISABLE_PLUGINS"], environment, (), jobs=1)).popitem()[1] == "__all__"
    assert [file.name for file in tmp_path.rglob("texts-*")] == ["texts-worker"]


def refusing() -> Callable[[str], None]:
    def work(task: str) -> None:
        if task == "mayavi":
            raise UnknownName("unknown scenario 'x'", "did you mean 'y'?")
        raise ZeroDivisionError(task)

    return work


@pytest.mark.slow(0.3)
def test_an_error_of_a_task_is_raised_with_its_hint() -> None:
    with pytest.raises(UnknownName, match="unknown scenario 'x'") as refused:
        list(work_off(["mayavi"], refusing, (), jobs=1))
    assert refused.value.hint == "did you mean 'y'?"


@pytest.mark.slow(0.3)
def test_code_that_breaks_is_an_error_with_its_traceback() -> None:
    with pytest.raises(WorkerError, match="raised ZeroDivisionError: seven") as broken:
        list(work_off(["seven"], refusing, (), jobs=1))
    assert "in work" in (broken.value.hint or "")


def killed_once(folder: str) -> Callable[[int], int]:
    def work(task: int) -> int:
        mark = Path(folder) / str(task)
        if task == 3 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return task

    return work


@pytest.mark.slow(1)
def test_a_task_whose_process_was_killed_is_given_to_another(tmp_path: Path) -> None:
    done = [value for _, value in work_off(range(6), killed_once, (str(tmp_path),), jobs=2)]
    assert sorted(done) == [0, 1, 2, 3, 4, 5]


def always_killed() -> Callable[[int], None]:
    return lambda task: os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow(0.4)
def test_a_task_that_kills_every_process_is_an_error_that_names_it() -> None:
    with pytest.raises(WorkerError, match="worked on 42, the last with signal 9"):
        list(work_off([42], always_killed, (), jobs=1))


def sleeping() -> Callable[[int], int]:
    def work(task: int) -> int:
        if task:
            time.sleep(600)
        return os.getpid()

    return work


@pytest.mark.slow(0.4)
def test_whoever_leaves_early_ends_the_processes() -> None:
    outcomes = work_off([0, 1, 1], sleeping, (), jobs=2)
    _, process = next(outcomes)
    outcomes.close()  # type: ignore[attr-defined]
    assert not alive(process)


def keeping(folder: str) -> Callable[[int], int]:
    def work(task: int) -> int:
        try:
            (Path(folder) / f"{task} began").touch()
            if task:
                time.sleep(600)
        finally:
            (Path(folder) / f"{task} kept").touch()
        return task

    return work


@pytest.mark.slow(0.5)
def test_interrupted_tasks_keep_what_they_keep_on_the_way_out(tmp_path: Path) -> None:
    outcomes = work_off([1, 0], keeping, (str(tmp_path),), jobs=2)
    next(outcomes)
    deadline = time.monotonic() + 30
    while not (tmp_path / "1 began").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    outcomes.close()  # type: ignore[attr-defined]
    assert (tmp_path / "1 kept").exists()


@pytest.mark.slow(0.6)
def test_workers_do_not_outlive_a_parent_that_was_killed(repository: Path) -> None:
    program = """
from mayavi.parallel.processes import work_off
from tests.parallel.test_processes import sleeping
for _, process in work_off([0, 1, 1], sleeping, (), jobs=2):
    print(process, flush=True)
"""
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=repository, stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    with parent.stdout as told:
        process = int(told.readline())
        assert alive(process)
        parent.kill()
        parent.wait()
    deadline = time.monotonic() + 30
    while alive(process):
        assert time.monotonic() < deadline, "the worker lives on"
        time.sleep(0.01)


@pytest.mark.slow(1)
def test_a_script_needs_no_guard_around_its_main_part(tmp_path: Path, repository: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys; print('once')\n"
        f"sys.path.insert(0, {str(repository)!r})\n"
        "from mayavi.parallel.processes import work_off\n"
        "from tests.parallel.test_processes import squares\n"
        "print(sorted(value for _, (value, _) in work_off(range(3), squares, (0,), jobs=2)))\n"
    )
    finished = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=600, check=False)
    assert (finished.stdout, finished.stderr) == ("once\n[0, 1, 4]\n", "")


@pytest.mark.parametrize("jobs", [0, -1, 1025, True, 1.0])
def test_a_number_of_jobs_that_cannot_be_is_refused(jobs: int) -> None:
    with pytest.raises(UsageError, match="is not a number of processes"):
        check_jobs(jobs)


def test_by_default_there_is_a_job_for_each_core() -> None:
    assert check_jobs(available_cores()) >= 1


def alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"

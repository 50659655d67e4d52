"""Paths that another process has recorded change how fast results come, and nothing else, whatever the file holds."""

from __future__ import annotations

import errno
import logging
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from mayavi import _kernel
from mayavi.errors import ReplayDiffers
from mayavi.evm import path_cache
from mayavi.evm.fleet import Fleet, Program
from mayavi.evm.path_cache import MAGIC, PathCache, clear_paths
from tests.evm.test_specialise import CONTRACTS, ROWS, TARGET, course, inputs, reader, told, world


@pytest.fixture(autouse=True)
def call_by_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replay calls one by one: whole programs have tests of their own."""
    monkeypatch.setenv("MAYAVI_WHOLE_PROGRAMS", "0")


def summed(fleet: Fleet, name: str) -> int:
    return sum(site[name] for site in fleet.statistics())


@pytest.mark.parametrize("mode", ["on", "check"])
@pytest.mark.parametrize("name", CONTRACTS)
def test_results_are_the_same_cold_and_warm(name: str, mode: str, tmp_path: Path) -> None:
    fork, steps = world(CONTRACTS[name]), inputs(1)
    cache = PathCache(fork.digest(), tmp_path)
    cold = Fleet(fork, ROWS, specialise="check", cache=cache)
    expected = course(cold, steps)
    assert cold.save_paths()
    warm = Fleet(fork, ROWS, specialise=mode, cache=cache)
    assert course(warm, steps) == expected
    assert course(Fleet(fork, ROWS, specialise="off", cache=cache), steps) == expected
    if not summed(cold, "resets"):
        assert summed(warm, "cached") == summed(cold, "paths")
    if summed(cold, "hits"):
        assert summed(warm, "cached") > 0
        assert summed(warm, "recordings") <= summed(cold, "fruitless")
        assert summed(warm, "hits") > summed(cold, "hits")


def kept(tmp_path: Path) -> tuple[PathCache, list[bytes]]:
    fork = world(CONTRACTS["branches"])
    cache = PathCache(fork.digest(), tmp_path)
    fleet = Fleet(fork, ROWS, specialise="check", cache=cache)
    expected = course(fleet, inputs(1))
    fleet.save_paths()
    return cache, expected


@pytest.mark.parametrize("damage", ["a flipped bit", "half of it", "nothing in it", "other words", "another world"])
def test_a_file_that_cannot_be_used_is_ignored_with_a_warning(
    damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache, expected = kept(tmp_path)
    content = bytearray(cache.path.read_bytes())
    if damage == "a flipped bit":
        content[len(content) // 2] ^= 1
    elif damage == "another world":
        PathCache("another", tmp_path).write(b"{}")
        content = bytearray(PathCache("another", tmp_path).path.read_bytes())
    elif damage == "other words":
        cache.write(b'{"surroundings": "", "changed": [], "sites": []}')
        content = bytearray(cache.path.read_bytes())
    else:
        content = content[: len(content) // 2] if damage == "half of it" else bytearray()
    cache.path.write_bytes(content)
    with caplog.at_level(logging.WARNING, "mayavi.specialise"):
        fleet = Fleet(world(CONTRACTS["branches"]), ROWS, specialise="check", cache=cache)
    assert "are not used" in caplog.text
    assert course(fleet, inputs(1)) == expected
    assert summed(fleet, "cached") == 0
    assert fleet.save_paths()
    assert cache.read() is not None


def test_paths_that_rely_on_what_a_row_has_written_are_not_taken_up(tmp_path: Path) -> None:
    fork, made = reader()
    cache = PathCache(fork.digest(), tmp_path)
    first = Fleet(fork, 4, specialise="check", cache=cache)
    for _ in range(20):
        told(first, made)
    first.save_paths()
    warm = Fleet(fork, 4, specialise="on", cache=cache)
    assert told(warm, made) == [100] * 4
    assert summed(warm, "cached") > 0
    later = Fleet(fork, 4, specialise="on", cache=cache)
    writer = Program()
    writer.store(TARGET, 5, 7, mask=writer.input("mask"))
    for fleet in (warm, later):
        fleet.run(writer, mask=np.array([0, 1, 0, 0]), threads=1)
        for _ in range(80):
            assert told(fleet, made) == [100, 107, 100, 100]
    assert summed(later, "cached") == 0


def test_another_block_or_another_kernel_has_other_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, _ = kept(tmp_path)
    monkeypatch.setattr(path_cache, "kernel_build", lambda: "another build")
    other = PathCache(cache.world, tmp_path)
    assert other.path != cache.path
    assert other.read() is None


def test_a_faulty_recording_from_the_cache_is_found(tmp_path: Path) -> None:
    """A path whose guard is gone leads a row to another's result: the first comparison says so."""
    fork = world(CONTRACTS["branches"])
    faulty = _kernel.Fleet(fork._evm, ROWS, "on", "guard")
    cache = PathCache(fork.digest(), tmp_path)
    recorder = Fleet(fork, ROWS, specialise="on", cache=cache)
    recorder._fleet = faulty
    course(recorder, [{"one": 3, "two": 5, "pause": 0}] * 80)  # one way alone: nothing differs yet
    recorder.save_paths()
    warm = Fleet(fork, ROWS, specialise="on", cache=cache)
    with pytest.raises(ReplayDiffers, match="differs from the interpreted one"):
        [course(warm, inputs(seed)) for seed in range(20)]


def written(folder: str, number: int) -> bool:
    return PathCache("one world", Path(folder)).write(b"%d" % number * 100_000) is not None


@pytest.mark.slow(2)
def test_processes_write_one_file_at_the_same_time(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        assert all(pool.map(written, [str(tmp_path)] * 8, range(8)))
    plain = PathCache("one world", tmp_path).read()
    assert plain is not None
    assert plain in {b"%d" % number * 100_000 for number in range(8)}
    assert [each.name for each in tmp_path.iterdir()] == [PathCache("one world", tmp_path).path.name]


def refuse(*_: object, **__: object) -> None:
    raise OSError(errno.EROFS, "Read-only file system")


def test_a_folder_that_cannot_be_written_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = PathCache("one world", tmp_path)
    assert cache.write(b"{}")
    monkeypatch.setattr(os, "utime", refuse)
    assert cache.read() == b"{}"


def test_a_failed_write_leaves_nothing_and_warns_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(os, "replace", refuse)
    with caplog.at_level(logging.WARNING, "mayavi.specialise"):
        assert [PathCache("one world", tmp_path).write(b"{}") for _ in range(2)] == [None, None]
    assert not list(tmp_path.iterdir())
    (warning,) = caplog.messages
    assert "cannot be kept" in warning
    assert warning.endswith("Read-only file system; MAYAVI_CACHE_DIR names another folder")


def test_the_folder_is_bounded_and_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    caches = [PathCache(f"world {number}", tmp_path) for number in range(4)]
    for number, cache in enumerate(caches):
        size = cache.write(os.urandom(1_000))
        os.utime(cache.path, (number, number))
    assert size is not None
    monkeypatch.setattr(path_cache, "FOLDER_LARGEST", 2 * size + 100)
    caches[0].read()  # used last
    PathCache("world 4", tmp_path).write(os.urandom(1_000))
    assert [cache.path.exists() for cache in caches] == [True, False, False, False]
    monkeypatch.setattr(path_cache, "LARGEST", 10)
    assert PathCache("large", tmp_path).write(bytes(11)) is None
    assert clear_paths(tmp_path)[0] == 2
    assert not list(tmp_path.iterdir())
    assert MAGIC.endswith(b"\n")

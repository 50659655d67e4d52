"""Files of the cache directory are replaced whole, and a killed writer's leftovers go away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mayavi.cache_directory import ABANDONED_SECONDS, PART, remove_abandoned, write_cache_file
from mayavi.evm.path_cache import PathCache, clear_paths

WRITER = """
import sys
from pathlib import Path

from mayavi.evm.path_cache import PathCache

def stop(part, place):  # where the file is complete, and not yet in its place
    print("written", flush=True)
    sys.stdin.read()

Path.replace = stop
PathCache("one world", Path(sys.argv[1])).write(b"{}")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that a writer was killed in, whose old file is whole."""
    PathCache("one world", tmp_path).write(b"old")
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "written\n"
        writer.send_signal(signal.SIGKILL)
    assert writer.returncode == -signal.SIGKILL
    return tmp_path


def unfinished(folder: Path) -> list[Path]:
    return [each for each in folder.iterdir() if each.name.endswith(PART)]


def age(file: Path, seconds: float) -> None:
    then = file.stat().st_mtime - seconds
    os.utime(file, (then, then))


def test_the_old_file_stands_after_a_kill(folder: Path) -> None:
    assert len(unfinished(folder)) == 1
    assert PathCache("one world", folder).read() == b"old"


def test_the_next_writer_removes_what_a_killed_one_has_left(folder: Path) -> None:
    (left,) = unfinished(folder)
    age(left, ABANDONED_SECONDS + 60)
    code = "import sys; from pathlib import Path; from mayavi.evm.path_cache import PathCache as P;"
    code += " P('another world', Path(sys.argv[1])).write(b'{}')"
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)
    assert not unfinished(folder)
    assert PathCache("another world", folder).read() == b"{}"
    assert PathCache("one world", folder).read() == b"old"


def test_a_file_that_may_still_be_written_stays(folder: Path) -> None:
    (left,) = unfinished(folder)
    age(left, ABANDONED_SECONDS / 2)
    remove_abandoned(folder)
    assert unfinished(folder) == [left]


def test_clearing_paths_removes_what_a_killed_writer_has_left(folder: Path) -> None:
    (left,) = unfinished(folder)
    age(left, ABANDONED_SECONDS + 60)
    assert clear_paths(folder)[0] == 1
    assert not list(folder.iterdir())


def test_only_unfinished_files_are_removed(tmp_path: Path) -> None:
    kept = [tmp_path / name for name in (f"a{PART}", ".hidden", "b")]
    for file in kept:
        file.write_bytes(b"")
        age(file, 2 * ABANDONED_SECONDS)
    remove_abandoned(tmp_path)
    remove_abandoned(tmp_path / "missing")
    assert sorted(tmp_path.iterdir()) == sorted(kept)


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken" / "inner").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        write_cache_file(tmp_path / "taken", b"content")
    assert [each.name for each in tmp_path.iterdir()] == ["taken"]

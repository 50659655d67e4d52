"""Workers share what is computed of every source file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

from tests.rewriting import files_with_tests, prepare_share, rewrite_assertions, share


def kept_of(file: Path) -> Path:
    return rewrite.get_cache_dir(file) / f"{file.stem}{rewrite.PYC_TAIL}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "test_sums.py"
    file.write_text("def check(one, two):\n    assert one + 1 == two\n")
    return file


def test_all_workers_together_have_every_file_once() -> None:
    files = [Path(f"test_{number}.py") for number in range(100)]
    shares = [share(files, number, 3) for number in range(3)]
    assert sorted(each for one in shares for each in one) == sorted(files)
    assert {len(one) for one in shares} == {33, 34}


def test_files_with_tests_are_those_that_pytest_rewrites(tmp_path: Path, file: Path) -> None:
    for name in ("conftest.py", "states.py", "deeper/test_more.py", "deeper/notes.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    found = files_with_tests([str(tmp_path / "deeper"), f"{file}::check", str(tmp_path / "conftest.py")])
    assert [each.name for each in found] == ["test_more.py", "test_sums.py", "conftest.py"]


def test_pytest_finds_what_was_rewritten_before(file: Path, pytestconfig: pytest.Config) -> None:
    rewrite_assertions(file, pytestconfig)
    code = rewrite._read_pyc(file, kept_of(file))
    assert code is not None
    names: dict[str, object] = {}
    exec(code, names)
    with pytest.raises(AssertionError, match=r"assert \(1 \+ 1\) == 3"):
        names["check"](1, 3)  # type: ignore[operator]


def test_a_file_is_rewritten_again_after_a_change_only(file: Path, pytestconfig: pytest.Config) -> None:
    rewrite_assertions(file, pytestconfig)
    os.utime(kept_of(file), (1, 1))
    rewrite_assertions(file, pytestconfig)
    assert kept_of(file).stat().st_mtime == 1
    file.write_text("def check(one, two):\n    assert one == two\n")
    rewrite_assertions(file, pytestconfig)
    assert kept_of(file).stat().st_mtime > 1


def test_one_process_alone_prepares_nothing(file: Path, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    class Alone:
        args = (str(file),)

    prepare_share(Alone(), tmp_path)  # type: ignore[arg-type]
    assert not kept_of(file).exists()

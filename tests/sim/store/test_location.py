"""Where runs are kept, and what a run is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from mayavi.errors import AmbiguousName, UnknownName, UnknownRun, UsageError
from mayavi.runs.run_id import check_id, resolve
from mayavi.sim.store import new_run_id, store_path


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory below a project folder, and no setting anywhere."""
    monkeypatch.delenv("MAYAVI_STORE", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    here = tmp_path / "project" / "notebooks"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    return tmp_path


def test_by_default_below_the_working_directory() -> None:
    assert store_path() == Path("data/runs/runs.duckdb")


def test_the_option_wins_over_the_variable_over_the_project_over_the_user(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bare / "config" / "mayavi").mkdir(parents=True)
    (bare / "config" / "mayavi" / "config.toml").write_text('store = "/of/the/user.duckdb"\n')
    assert store_path() == Path("/of/the/user.duckdb")
    (bare / "project" / "mayavi.toml").write_text('store = "kept/runs.duckdb"\n')
    assert store_path() == bare / "project" / "kept" / "runs.duckdb"
    monkeypatch.setenv("MAYAVI_STORE", "of/the/variable.duckdb")
    assert store_path() == Path("of/the/variable.duckdb")
    assert store_path("of/the/option.duckdb") == Path("of/the/option.duckdb")


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("store = ", UsageError, "is not TOML"),
        ("store = 7", UsageError, "`store` in .* is 7"),
        ("stoer = 'x'", UnknownName, "unknown setting of .* 'stoer'"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(bare: Path, text: str, error: type, words: str) -> None:
    (bare / "project" / "mayavi.toml").write_text(text)
    with pytest.raises(error, match=words):
        store_path()


def test_an_empty_option_is_refused() -> None:
    with pytest.raises(UsageError, match="the store is named ''"):
        store_path("")


def test_ids_sort_by_time_and_differ() -> None:
    made = [new_run_id() for _ in range(2000)]
    assert made == sorted(made)
    assert len(set(made)) == 2000
    assert all(check_id(each) == each for each in made)


@pytest.mark.parametrize("bad", ["", "a/b", "..", "a b", "ü", "x.y"])
def test_an_id_that_could_not_name_a_file_is_refused(bad: str) -> None:
    with pytest.raises(UsageError, match="cannot name a run"):
        check_id(bad)


KNOWN = ["20250101-000000000-aaaaaaaa", "20250101-000000001-bbbbbbbb", "20250202-000000000-cccccccc"]


def test_a_part_that_fits_one_run_is_enough() -> None:
    assert resolve("20250202", KNOWN) == resolve("cccc", KNOWN) == resolve("latest", KNOWN) == KNOWN[2]
    assert resolve("20250101-000000001", KNOWN) == KNOWN[1]
    with pytest.raises(AmbiguousName, match="'20250101' fits 2 runs") as ambiguous:
        resolve("20250101", KNOWN)
    assert KNOWN[0] in (ambiguous.value.hint or "")


def test_an_unknown_run_comes_with_the_nearest() -> None:
    with pytest.raises(UnknownRun, match="unknown run '20250202-000000000-cccccccx'") as unknown:
        resolve("20250202-000000000-cccccccx", KNOWN)
    assert f"did you mean '{KNOWN[2]}'" in (unknown.value.hint or "")
    with pytest.raises(UnknownRun) as nothing:
        resolve("x", [])
    assert "mayavi run" in (nothing.value.hint or "")
    for empty in ("", "zzz"):
        with pytest.raises(UnknownRun):
            resolve(empty, KNOWN)

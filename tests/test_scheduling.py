"""How tests are handed to workers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.scheduling import RAY_FILES, longest_first, unit_of

STARTS_RAY = ("tests.parallel.ray_cluster", "ray_work.py", "shared_ray", '"--only", "rl"')
"""What a file that starts Ray mentions."""


def test_every_file_that_starts_ray_is_listed(repository: Path) -> None:
    here = Path(__file__).name
    found = {
        str(path.relative_to(repository))
        for path in (repository / "tests").rglob("test_*.py")
        if path.name != here and any(each in path.read_text(encoding="utf-8") for each in STARTS_RAY)
    }
    assert found == RAY_FILES


def item(nodeid: str, *seconds: int | None) -> Any:
    """A test, with a marker `slow` for each of `seconds`."""
    markers = [pytest.mark.slow(each).mark if each else pytest.mark.slow.mark for each in seconds]
    return SimpleNamespace(nodeid=nodeid, get_closest_marker=lambda _: markers[0] if markers else None)


def test_the_longest_unit_comes_first_and_its_tests_stay_together() -> None:
    ray = sorted(RAY_FILES)[:2]
    given = [
        *(item("tests/a.py::one"), item("tests/b.py::one", None), item("tests/b.py::two")),
        *(item(f"{ray[0]}::one", 3), item("tests/c.py::one", 20), item(f"{ray[1]}::one", 18)),
        *(item("tests/node/a.py::one", 9), item("tests/node/b.py::one", 9), item("tests/report/a.py::one", 5)),
        item("tests/report/shapes/b.py::one", 6),
    ]
    longest_first(given)
    assert [unit_of(each.nodeid) for each in given] == [
        *("ray", "ray", "tests/c.py", "tests/node/", "tests/node/", "tests/report/", "tests/report/"),
        *("tests/b.py", "tests/b.py", "tests/a.py"),
    ]

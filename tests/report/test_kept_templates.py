"""Compiled templates are kept, and compiled again when their source changes or the file is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from mayavi.report.kept_templates import KeptTemplates, kept_templates

SOURCE = "{{ amount }} WETH"


def filled(folder: Path, source: str = SOURCE) -> str:
    environment = Environment(loader=DictLoader({"page": source}), bytecode_cache=KeptTemplates(str(folder)))
    return environment.get_template("page").render(amount=3)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sources that Jinja compiled."""
    sources: list[str] = []
    really = Environment.compile
    monkeypatch.setattr(
        Environment, "compile", lambda self, source, *more: sources.append(source) or really(self, source, *more)
    )
    return sources


def test_a_template_is_compiled_once_for_all_processes(tmp_path: Path, compiled: list[str]) -> None:
    assert [filled(tmp_path), filled(tmp_path)] == ["3 WETH", "3 WETH"]
    assert compiled == [SOURCE]


def test_a_changed_or_damaged_template_is_compiled_again(tmp_path: Path, compiled: list[str]) -> None:
    filled(tmp_path)
    assert filled(tmp_path, "{{ amount }} ETH") == "3 ETH"
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes()[:-9])
    assert filled(tmp_path, "{{ amount }} ETH") == "3 ETH"
    assert compiled == [SOURCE, "{{ amount }} ETH", "{{ amount }} ETH"]


def test_a_folder_that_cannot_be_written_costs_time_alone(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert filled(tmp_path / "file") == "3 WETH"


def test_templates_of_reports_are_kept_in_the_cache_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAYAVI_CACHE_DIR", str(tmp_path))
    kept = kept_templates()
    assert kept is not None
    environment = Environment(loader=DictLoader({"page": SOURCE}), bytecode_cache=kept)
    environment.get_template("page")
    assert [path.parent.name for path in tmp_path.rglob("*") if path.is_file()] == ["templates"]

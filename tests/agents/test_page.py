"""The page on agents runs as it stands, prints what it shows, and names every agent there is."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import mayavi.agents

PAGE = Path(__file__).parents[2] / "docs" / "agents.md"


def test_the_page_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAYAVI_STORE", str(tmp_path / "runs.duckdb"))
    text = PAGE.read_text(encoding="utf-8")
    steps = re.findall(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", text, re.DOTALL)
    assert steps
    names: dict[str, object] = {}
    for code, shown in steps:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)
        assert printed.getvalue() == shown


def test_every_name_of_the_package_is_there_and_every_agent_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in mayavi.agents.__all__:
        assert getattr(mayavi.agents, name).__name__ == name
        made = getattr(mayavi.agents, name)
        if isinstance(made, type) and issubclass(made, mayavi.agents.Agent) and made is not mayavi.agents.Agent:
            assert f"`{name}`" in text
    assert dir(mayavi.agents) == sorted(mayavi.agents.__all__)

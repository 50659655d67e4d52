"""The page on the portfolio runs as it stands, and prints what it shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3", reason="`pip install 'mayavi-sim[rl]'` installs stable-baselines3")

PAGE = Path(__file__).parents[2] / "docs" / "rl" / "rwa.md"


@pytest.mark.slow
def test_the_page_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    steps = re.findall(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(steps) == 2
    for code, shown in steps:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), {})
        assert printed.getvalue() == shown
    assert (tmp_path / "data" / "yield-router" / "run.json").is_file()

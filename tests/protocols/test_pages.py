"""The pages on Uniswap and on price feeds run as they stand, and print what they show."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest


@pytest.mark.parametrize("page", ["uniswap", "price-feeds"])
def test_a_page_prints_what_it_shows(repository: Path, page: str) -> None:
    path = repository / "docs" / "protocols" / f"{page}.md"
    steps = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    assert steps
    names: dict[str, object] = {}
    for code, shown in steps:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(path), "exec"), names)
        assert printed.getvalue() == shown

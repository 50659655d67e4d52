"""The pages on prices and on the market of three tokens run as they stand, and print what they show."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "concepts" / "prices.md", DOCS / "rl" / "rwa-market.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_prints_what_it_shows(page: Path) -> None:
    """A block of Python is followed by what it prints; one that prints nothing stands alone."""
    steps = re.findall(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", page.read_text(encoding="utf-8"), re.DOTALL)
    assert steps
    names: dict[str, object] = {}
    for code, shown in steps:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(page), "exec"), names)
        assert printed.getvalue() == shown

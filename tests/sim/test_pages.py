"""The page on concepts runs as it stands, and prints what it shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path


def test_the_page_on_concepts_prints_what_it_shows(repository: Path) -> None:
    """A block of Python is followed by what it prints; one that prints nothing stands alone."""
    page = repository / "docs" / "concepts.md"
    steps = re.findall(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", page.read_text(encoding="utf-8"), re.DOTALL)
    assert steps
    names: dict[str, object] = {}
    for code, shown in steps:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(page), "exec"), names)
        assert printed.getvalue() == shown

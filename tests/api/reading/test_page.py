"""Check docs/how-to/read-results-over-http.md: its Python blocks print what the page shows, its tables are complete."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mayavi.api.reading.row_query import OPERATORS
from mayavi.api.reading.runs.orders import SORTS
from mayavi.scenarios.run.run import run
from tests.api.live_server import LiveServer
from tests.pages import page

PAGE = page("how-to/read-results-over-http.md")
ADDRESS = "http://127.0.0.1:8420"


@pytest.mark.slow(2)
def test_the_python_blocks_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("depeg_cascade", seed=7, steps=4, overrides=["agents.borrowers.count=30"], store=tmp_path / "runs.duckdb")
    with LiveServer(tmp_path) as server:
        monkeypatch.setenv("MAYAVI_API_KEY", server.read)
        namespace: dict[str, Any] = {}
        blocks, outputs = PAGE.blocks("python"), PAGE.blocks()
        assert len(blocks) == len(outputs)
        for code, shown in zip(blocks, outputs, strict=True):
            assert PAGE.execute(code.replace(ADDRESS, server.url), namespace) == shown
        namespace["client"].close()


def test_the_page_names_every_operator_and_order() -> None:
    assert set(OPERATORS) <= set(re.findall(r"`(\w+)`", PAGE.section("Read rows")))
    assert set(SORTS) <= set(re.findall(r"`(\w+)`", PAGE.section("Find runs")))

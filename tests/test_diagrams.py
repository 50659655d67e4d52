"""The diagrams of the documentation can be drawn, without a network, and are legible in the column of a page."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.chromium import launched_chromium, skip_or_fail
from tests.pages import DOCS, Page
from tools.site_hooks import MERMAID, on_page_content

WIDEST = 690
"""Pixels that the column of a page has on a wide screen: a wider diagram is scaled down, and its text with it."""
DRAW = """async (text) => {
  mermaid.initialize({ startOnLoad: false });
  const { svg } = await mermaid.render("diagram", text);
  const drawn = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
  return [drawn.viewBox.baseVal.width, drawn.querySelectorAll("g.node").length];
}"""


@pytest.mark.slow
def test_every_diagram_is_drawn_as_wide_as_a_page_at_most() -> None:
    diagrams = [(path, each) for path in sorted(DOCS.rglob("*.md")) for each in Page(path).blocks("mermaid")]
    assert len(diagrams) >= 4
    if not MERMAID.is_file():
        skip_or_fail("Mermaid is not installed: `make docs` or `make test` installs it")
    with launched_chromium() as browser:
        tab = browser.new_page()
        tab.add_script_tag(path=MERMAID)
        for path, text in diagrams:
            width, nodes = tab.evaluate(DRAW, text)
            assert width <= WIDEST, f"{path.name}: a diagram is {width:.0f} pixels wide:\n{text}"
            assert nodes >= 4, f"{path.name}: {nodes} nodes of a diagram are drawn:\n{text}"


@pytest.mark.parametrize(
    ("target", "script"),
    [("concepts/runs/index.html", "../../assets/mermaid.js"), ("index.html", "assets/mermaid.js")],
)
def test_the_script_is_loaded_from_the_site_where_there_is_a_diagram(target: str, script: str) -> None:
    page = cast("Any", SimpleNamespace(file=SimpleNamespace(dest_uri=target)))
    with_diagram = '<p>Text</p><pre class="mermaid"><code>flowchart TB</code></pre>'
    assert on_page_content(with_diagram, page) == f'{with_diagram}\n<script src="{script}"></script>'
    assert on_page_content("<p>Text</p>", page) == "<p>Text</p>"


def test_diagrams_are_marked_for_material() -> None:
    assert "- name: mermaid\n          class: mermaid\n" in (Path(DOCS).parent / "mkdocs.yml").read_text()

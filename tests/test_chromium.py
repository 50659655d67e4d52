"""The check for accessibility finds what is wrong with a page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chromium import axe, axe_source, launched_chromium

pytest.importorskip("playwright", reason="playwright is not installed")

TABLE = """<html lang="en"><head><title>Runs</title></head><body style="background: white"><main><h1>Runs</h1>
<div style="background: linear-gradient(to right, #eee, white)"><table><tr><th scope="col">Run</th></tr>
<tr><td style="color: {colour}">aave_borrower</td></tr></table></div></main></body></html>"""


@pytest.fixture(scope="module")
def findings() -> Iterator[dict[str, list[str]]]:
    """What is found in a table over a gradient, by the colour of its text."""
    with launched_chromium() as browser:
        page, found = browser.new_page(), {}
        for colour in ("#222", "#ddd"):
            page.set_content(TABLE.format(colour=colour))
            page.evaluate(axe_source())
            found[colour] = axe(page)
            assert "linear-gradient" in page.inner_html("main"), "the page is as before"
        yield found


@pytest.mark.slow(3)
def test_pale_text_of_a_scrolling_table_is_found(findings: dict[str, list[str]]) -> None:
    assert findings["#222"] == []
    assert [each.partition(":")[0] for each in findings["#ddd"]] == ["color-contrast"]

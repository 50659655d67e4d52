"""A headless Chromium for tests, and axe-core, which finds what keeps people from using a page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from mayavi.report.output import find_chromium
from mayavi.report.plotly import ensure_plotly, report_packages

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SERIOUS = {"serious", "critical"}
RUN_AXE = """async ([exclude, options]) => {
  const parts = [...new Set([...document.querySelectorAll(exclude)].map((each) => each.parentElement))];
  const kept = parts.map((part) => [part, [...part.childNodes], part.style.cssText]);
  for (const part of parts) {
    const { width, height } = part.getBoundingClientRect();
    part.style.cssText += `; width: ${width}px; height: ${height}px`;
  }
  for (const part of parts) part.replaceChildren();
  const shaded = [...document.querySelectorAll("*")]
    .filter((each) => getComputedStyle(each).backgroundImage.includes("gradient"))
    .map((each) => [each, each.style.backgroundImage]);
  for (const [each] of shaded) each.style.backgroundImage = "none";
  const found = await axe.run(document, options);
  for (const [each, image] of shaded) each.style.backgroundImage = image;
  for (const [part, children, style] of kept) {
    part.replaceChildren(...children);
    part.style.cssText = style;
  }
  return found.violations;
}"""
"""Run axe-core while what it shall not look at is taken out, in which it would spend half of its time, and without
gradients, such as the shadows of scrolling tables: on those it cannot tell the contrast of a text, and says nothing."""
HIDE_CHARTS = "document.querySelectorAll('.plot').forEach((each) => { each.style.display = 'none'; })"
SHOW_CHARTS = "document.querySelectorAll('.plot').forEach((each) => { each.style.display = ''; })"
"""A chart without a place is not drawn: while all are hidden the theme changes at once, and they are drawn in it when
they are shown."""
REQUIRED = "MAYAVI_REQUIRE_CHROMIUM"


@contextmanager
def launched_chromium() -> Iterator[Browser]:
    """Yield a browser; skip the test without one, fail it where MAYAVI_REQUIRE_CHROMIUM=1."""
    program = find_chromium()
    if program is None:
        skip_or_fail("no Chromium is installed: `apt install chromium`, or name one with MAYAVI_CHROMIUM")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield launched
        launched.close()


def skip_or_fail(why: str) -> None:
    """Skip the test, or fail it where a browser is required."""
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(why)
    pytest.skip(why)


def axe(page: Page, *rules: str, exclude: str = ".plot > *") -> list[str]:
    """Serious findings of axe-core: rule, element and what is wrong. The inside of a chart is an image to readers.

    `exclude` chooses all children of some elements, as `.plot > *` does.
    """
    options = {"resultTypes": ["violations"], "iframes": False, "preload": False}
    options |= {"runOnly": list(rules)} if rules else {}
    return [
        f"{each['id']}: {node['html'][:160]} {node['failureSummary']}"
        for each in page.evaluate(RUN_AXE, [exclude, options])
        if each["impact"] in SERIOUS
        for node in each["nodes"][:3]
    ]


def axe_source() -> str:
    """The script of axe-core, installed from npm at first use."""
    ensure_plotly(dev=True)
    return (report_packages().packages / "axe-core" / "axe.min.js").read_text(encoding="utf-8")

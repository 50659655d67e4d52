"""Look at a page in a real browser: what it logs, what it asks the network for, what it draws, who can use it."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.chromium import HIDE_CHARTS, SHOW_CHARTS, axe, axe_source

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDE, NARROW = 1280, 390
SCALE = 0.5
"""That of a picture in which charts are looked for."""
ONE_COLOUR = 16
"""Difference of brightness, of 255, below which a place has one colour."""
PATIENCE_MS = 120_000
"""Of a busy machine."""
REDRAWN = f"""(patience) => new Promise((done) => {{
  const end = performance.now() + patience;
  const look = () => {{
    const wide = [...document.querySelectorAll('figure.chart')]
      .filter((each) => !(each.querySelector('.plot').layout?.width < {NARROW}));
    if (wide.length && performance.now() < end) setTimeout(look, 20);
    else done(wide.map((each) => each.id));
  }};
  look();
}})"""
"""Wait until every chart is drawn for a narrow screen; return those that are not."""


@dataclass
class Looked:
    """What was found on a page."""

    charts: int
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    """Charts that are of one colour, or not drawn again for a narrow screen."""
    findings: dict[str, list[str]] = field(default_factory=dict)
    """Serious findings of axe-core by theme."""
    overflow: int = 0
    """Pixels by which the page is wider than a narrow screen."""


class Viewer:
    """One tab for many pages: a script that was compiled for one page, Plotly above all, is not compiled again."""

    def __init__(self, browser: Browser) -> None:
        self.context = browser.new_context(reduced_motion="reduce")
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self._found = Looked(0)
        self.page.on("console", lambda message: self._found.console.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self._found.console.append(f"error: {error}"))
        self.context.route("**/*", self._block)

    def _block(self, route: Any) -> None:
        if route.request.url.startswith(("file:", "data:", "blob:")):
            route.continue_()
        else:
            self._found.requests.append(route.request.url)
            route.abort()

    def open(self, path: Path) -> Page:
        """Open a page as a new visitor sees it, in light on a wide screen; return it drawn."""
        self._found = Looked(0)
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size({"width": WIDE, "height": 900})
        self.page.goto(path.resolve().as_uri())
        self.page.wait_for_selector("html[data-drawn]", state="attached")
        return self.page

    def look_at(self, path: Path) -> Looked:
        """Open a page in light and wide, judge its colours in dark, and draw it again in dark and narrow."""
        page = self.open(path)
        found = self._found
        found.charts = page.locator(".plot").count()
        found.empty = empty_charts(page)
        page.evaluate(axe_source())
        found.findings["light"] = axe(page)
        page.evaluate(HIDE_CHARTS)
        page.emulate_media(color_scheme="dark")
        found.findings["dark"] = axe(page, "color-contrast")
        page.evaluate(SHOW_CHARTS)
        page.set_viewport_size({"width": NARROW, "height": 800})
        found.empty += page.evaluate(REDRAWN, PATIENCE_MS)
        found.overflow = page.evaluate("document.documentElement.scrollWidth") - NARROW
        return found


def screenshot(page: Page) -> bytes:
    """The whole page as JPEG, drawn smaller, which takes less time than all of its pixels."""
    width, height = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": SCALE}
    session = page.context.new_cdp_session(page)
    taken = session.send(
        "Page.captureScreenshot", {"format": "jpeg", "captureBeyondViewport": True, "clip": clip}
    )  # Playwright itself has no scale below that of the screen
    session.detach()
    return base64.b64decode(taken["data"])


def empty_charts(page: Page) -> list[str]:
    """The charts in whose place nothing is drawn: all of it has one colour, but for what JPEG adds."""
    from PIL import Image

    boxes = page.evaluate(
        "[...document.querySelectorAll('figure.chart')].map((figure) => { const box = figure.querySelector('.plot')"
        ".getBoundingClientRect(); return [figure.id, box.x + scrollX, box.y + scrollY, box.right + scrollX,"
        " box.bottom + scrollY]; })"
    )
    drawn = Image.open(io.BytesIO(screenshot(page))).convert("L")
    found = []
    for name, left, top, right, bottom in boxes:
        inside = (left + 4, top + 4, right - 4, bottom - 4)
        left, top, right, bottom = (SCALE * each for each in inside)
        darkest, lightest = drawn.crop((ceil(left), ceil(top), int(right), int(bottom))).getextrema()
        if lightest - darkest < ONE_COLOUR:
            found.append(name)
    return found

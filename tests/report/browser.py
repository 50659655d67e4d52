"""Look at a page in a real browser: what it logs, what it asks the network for, what it draws, who can use it."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.chromium import axe, axe_source

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDE, NARROW = 1280, 390
REDRAWN = f"""new Promise((done) => {{
  const look = () => [...document.querySelectorAll('.plot')].every((plot) => plot.layout.width < {NARROW})
    ? done() : setTimeout(look, 20);
  look();
}})"""
"""Wait until every chart is drawn for a narrow screen."""


@dataclass
class Looked:
    """What was found on a page."""

    charts: int
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    """Charts whose pixels are those of an empty place."""
    findings: dict[str, list[str]] = field(default_factory=dict)
    """Serious findings of axe-core by theme."""
    overflow: int = 0
    """Pixels by which the page is wider than a narrow screen."""


def look_at(browser: Browser, path: Path) -> Looked:
    """Open a page in light and dark, wide and narrow."""
    context = browser.new_context(
        viewport={"width": WIDE, "height": 900}, color_scheme="light", reduced_motion="reduce"
    )
    page = context.new_page()
    page.set_default_timeout(120_000)  # of a busy machine
    found = Looked(0)
    page.on("console", lambda message: found.console.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: found.console.append(f"error: {error}"))

    def block(route: Any) -> None:
        if route.request.url.startswith(("file:", "data:", "blob:")):
            route.continue_()
        else:
            found.requests.append(route.request.url)
            route.abort()

    context.route("**/*", block)
    try:
        page.goto(path.resolve().as_uri())
        page.wait_for_selector("html[data-drawn]", state="attached")
        found.charts = page.locator(".plot").count()
        found.empty = empty_charts(page)
        page.evaluate(axe_source())
        found.findings["light"] = axe(page)
        page.emulate_media(color_scheme="dark")
        found.findings["dark"] = axe(page, "color-contrast")
        page.set_viewport_size({"width": NARROW, "height": 800})
        page.evaluate(REDRAWN)
        found.overflow = page.evaluate("document.documentElement.scrollWidth") - NARROW
    finally:
        context.close()
    return found


def empty_charts(page: Page) -> list[str]:
    """The charts that look the same with and without what Plotly drew."""
    from PIL import Image, ImageChops

    boxes = page.evaluate(
        "[...document.querySelectorAll('figure.chart')].map((figure) => { const box = figure.querySelector('.plot')"
        ".getBoundingClientRect(); return [figure.id, box.x + scrollX, box.y + scrollY, box.right + scrollX,"
        " box.bottom + scrollY]; })"
    )
    drawn = Image.open(io.BytesIO(page.screenshot(full_page=True, type="jpeg"))).convert("L")
    style = page.add_style_tag(content=".plot > * { visibility: hidden !important }")
    bare = Image.open(io.BytesIO(page.screenshot(full_page=True, type="jpeg"))).convert("L")
    style.evaluate("(element) => element.remove()")
    return [
        name
        for name, *box in boxes
        if ImageChops.difference(drawn.crop(tuple(map(round, box))), bare.crop(tuple(map(round, box)))).getbbox()
        is None
    ]

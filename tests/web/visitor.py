"""A visitor of the dashboard: a browser context that notes what no page may do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.chromium import HIDE_CHARTS, SHOW_CHARTS, axe, axe_source

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

WIDE, NARROW = 1280, 390
HEIGHT = 900
PATIENCE_MS = 300_000
CHARTS = ".js-plotly-plot > *, .plot > *"
SETTLED = "document.querySelectorAll('[aria-busy=true], .loading').length === 0"

REDRAWN = f"[...document.querySelectorAll('.plot[data-drawn]')].every((plot) => plot.layout.width < {NARROW})"

TOO_WIDE = """[...document.querySelectorAll('main *')].filter((each) => {
  if (each.getBoundingClientRect().right <= innerWidth + 1) return false;
  for (let box = each; box; box = box.parentElement)
    if (box !== each && ['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(box).overflowX)) return false;
  return true;
}).slice(0, 5).map((each) => each.outerHTML.slice(0, 150))"""


class Visitor:
    """Opens pages of one service, and notes console messages and requests to other origins."""

    def __init__(self, browser: Browser, url: str, key: str, *, width: int = WIDE) -> None:
        self.url, self.key = url, key
        self._listen()
        self._width, self._dark = width, False
        self.context = browser.new_context(
            viewport={"width": width, "height": HEIGHT}, color_scheme="light", reduced_motion="reduce"
        )
        self.context.set_default_timeout(PATIENCE_MS)  # of a busy machine
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page: Page = self.context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.console.append(f"exception: {error}"))
        self.page.on("request", self._asked)

    def _listen(self) -> None:
        self.console: list[str] = []
        self.foreign: list[str] = []
        self.expected: list[Callable[[str], bool]] = []
        self.expect_failures("401")  # the first question is whether there is a session

    def forget(self) -> None:
        """Leave the page, and forget its session, what it stored and what was noted."""
        if self.page.url.startswith(self.url):
            self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
        self._leave()
        self.context.clear_cookies()
        self._listen()

    def _leave(self) -> None:
        """Leave the page first: one that is left is not drawn again in light and wide."""
        self.page.goto("about:blank")
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size({"width": self._width, "height": HEIGHT})
        self._dark = False

    def _heard(self, message: ConsoleMessage) -> None:
        text = f"{message.type}: {message.text}"
        if not any(known(text) for known in self.expected):
            self.console.append(text)

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((f"{self.url}/", "data:", "blob:")):
            self.foreign.append(request.url)

    def expect_failures(self, *words: str) -> None:
        """Let the browser report failed requests with these words, which a test provokes; scripts may not fail."""
        self.expected.append(
            lambda text: text.startswith("error: Failed to load resource") and any(word in text for word in words)
        )

    def open(self, path: str = "") -> None:
        """Open a page of the dashboard by its address, in light and wide."""
        if self._dark:
            self._leave()
        self.page.goto(f"{self.url}/app/{path}")

    def log_in(self, path: str = "", key: str | None = None) -> None:
        """Open a page and log in there."""
        self.open(path)
        self.page.get_by_label("API key").fill(key or self.key)
        self.page.get_by_role("button", name="Log in", exact=True).click()
        self.page.get_by_role("navigation", name="Main").wait_for(state="attached")

    def settle(self) -> None:
        """Wait until nothing on the page is being loaded."""
        self.page.locator("h1").first.wait_for()
        self.wait_until(SETTLED)

    def wait_until(self, expression: str) -> None:
        """Wait until a script's expression is true; the page's policy forbids Playwright's own way."""
        deadline = time.monotonic() + PATIENCE_MS / 1000
        while not self.page.evaluate(expression):
            assert time.monotonic() < deadline, f"waited in vain for: {expression}"
            self.page.wait_for_timeout(50)

    def serious_findings(self) -> dict[str, list[str]]:
        """Return the serious findings of axe-core by theme; in dark of colours, which is all that a theme changes.

        The page stays dark, and its charts hidden.
        """
        self.page.evaluate(axe_source())
        found = {"light": axe(self.page, exclude=CHARTS)}
        self.page.evaluate(HIDE_CHARTS)
        self.page.emulate_media(color_scheme="dark")
        self._dark = True
        found["dark"] = axe(self.page, "color-contrast", exclude=CHARTS)
        return found

    def show_on_a_phone(self) -> None:
        """Make the screen narrow, and wait until all charts are drawn for it."""
        self.page.set_viewport_size({"width": NARROW, "height": 844})
        self.page.evaluate(SHOW_CHARTS)
        self.wait_until(REDRAWN)

    def overflow(self) -> int:
        """Return the pixels by which the page is wider than the screen."""
        found: int = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        return found

    def too_wide(self) -> list[str]:
        """Return the elements that reach beyond the screen and do not lie in a box that scrolls."""
        found: list[str] = self.page.evaluate(TOO_WIDE)
        return found

    def check(self) -> None:
        """Assert what holds for every page at every time."""
        assert self.console == [], self.console
        assert self.foreign == []

    def close(self) -> None:
        """Close the context."""
        self.context.close()

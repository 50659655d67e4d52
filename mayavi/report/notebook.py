"""Reports in notebooks: `run.report()` shows the page in a frame of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from mayavi.report.output import write_html, write_pdf
from mayavi.report.render import render

if TYPE_CHECKING:
    from mayavi.report.page import Page
    from mayavi.sim.store import Store

FRAME_HEIGHT = 860


@dataclass(frozen=True)
class Report:
    """A page that shows itself in notebooks and writes itself to files."""

    page: Page

    @cached_property
    def html(self) -> str:
        """The page as one self-contained HTML document."""
        return render(self.page)

    def save(self, path: str | Path) -> Path:
        """Write the page to an HTML file."""
        return write_html(self.html, Path(path))

    def pdf(self, path: str | Path) -> Path:
        """Print the page to a PDF file; needs Chromium."""
        return write_pdf(self.html, Path(path))

    def __repr__(self) -> str:
        return f"<Report {self.page.title!r}: {self.page.verdict.sentence}>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{escape(self.page.title)}" srcdoc="{escape(self.html)}" width="100%"'
            f' height="{FRAME_HEIGHT}" style="border: 0" sandbox="allow-scripts allow-downloads allow-modals"></iframe>'
        )


def run_report(store: Store, run_id: str) -> Report:
    """Build the report of a stored run."""
    from mayavi.report.builder import run_page

    return Report(run_page(store, run_id))

"""Everything that a page says, as one text, and its parts by name."""

from __future__ import annotations

from mayavi.report.page import Chart, Page, Section, Table
from mayavi.report.render import cell_text


def section(page: Page, name: str) -> Section:
    """The section with the address `name`."""
    return next(each for each in page.sections if each.id == name)


def has_section(page: Page, name: str) -> bool:
    return any(each.id == name for each in page.sections)


def tables(page: Page, name: str) -> list[Table]:
    """The tables of a section, without those behind charts."""
    return [block for block in section(page, name).blocks if isinstance(block, Table)]


def charts(page: Page) -> list[Chart]:
    """All charts, the first of the page first."""
    found = [page.hero] if page.hero else []
    return found + [block for each in page.sections for block in each.blocks if isinstance(block, Chart)]


def cells(table: Table) -> list[list[str]]:
    """The cells of a table as readers see them."""
    return [[cell_text(value, column) for value, column in zip(row, table.columns, strict=True)] for row in table.rows]


def tile(page: Page, label: str) -> str:
    """The value of a tile."""
    return next(each.value for each in page.tiles if each.label == label)

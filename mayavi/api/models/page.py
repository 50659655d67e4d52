"""A report page as data, as `mayavi.report.page.Page` holds it: the dashboard draws it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from mayavi.api.models.base import Answer

Cell = str | int | float | bool | None


class PageVerdict(Answer):
    """The answer in one sentence."""

    sentence: str
    badge: str
    tone: str
    interval: str = ""


class PageTile(Answer):
    """One key figure."""

    label: str
    value: str
    unit: str
    interval: str
    change: str
    exact: str
    tone: str


class PageColumn(Answer):
    """A table column."""

    label: str
    format: str
    unit: str
    align: Literal["left", "right"]


class TableBlock(Answer):
    """Rows under a title: `rows` as shown, `data` as numbers."""

    kind: Literal["table"]
    title: str
    columns: list[PageColumn]
    rows: list[list[str]]
    data: list[list[Cell]]
    note: str
    command: str
    empty: str


class TextBlock(Answer):
    """Paragraphs, or a list of remarks."""

    kind: Literal["text"]
    paragraphs: list[str]
    tone: str
    bullets: bool


class FactsBlock(Answer):
    """Pairs of a name and a value."""

    kind: Literal["facts"]
    title: str
    pairs: list[tuple[str, str]]


class CodeBlock(Answer):
    """Commands or a document to copy."""

    kind: Literal["code"]
    title: str
    text: str
    folded: bool


class ChartBlock(Answer):
    """A Plotly chart; colours are tokens (`$1`, `$ink`, `$1/20`) that the page resolves for light and dark."""

    kind: Literal["chart"]
    title: str
    subtitle: str
    traces: list[dict[str, Any]]
    layout: dict[str, Any]
    table: TableBlock
    height: int
    source: str
    time: bool
    wide: bool


class ScrubberBlock(Answer):
    """A slider over the steps of a run, with the figures of the chosen step."""

    kind: Literal["scrubber"]
    steps: list[int]
    blocks: list[int]
    timestamps: list[int]
    figures: list[tuple[str, str, list[float | None]]]
    actions: list[int]
    failed: list[int]


class LogBlock(Answer):
    """The action log: read its rows from `/runs/{id}/rows/actions`."""

    kind: Literal["log"]
    total: int
    command: str
    note: str


PageBlock = Annotated[
    TableBlock | TextBlock | FactsBlock | CodeBlock | ChartBlock | ScrubberBlock | LogBlock,
    Field(discriminator="kind"),
]


class PageSection(Answer):
    """A titled part of the page."""

    id: str
    title: str
    lead: str
    blocks: list[PageBlock]


class PageProvenance(Answer):
    """Where the page comes from."""

    facts: list[tuple[str, str]]
    command: str = Field(description="Repeats the result; empty if no command does.")
    summary: str
    note: str = Field(description="What the command repeats, and what it needs for that.")


class PageData(Answer):
    """A report page."""

    title: str
    subject: str
    verdict: PageVerdict
    tiles: list[PageTile]
    summary: list[str]
    hero: ChartBlock | None
    sections: list[PageSection]
    provenance: PageProvenance
    notes: list[str]

"""Model of a report page: verdict, tiles, sections of blocks, provenance.

Everything here is plain data. Text is plain text, never HTML: the renderer escapes it, and sets `code` in
backticks. Numbers that readers see are
formatted by `mayavi.report.numbers`; charts keep floats, with None where there is no value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Tone = Literal["good", "bad", "warn", "plain"]
Align = Literal["left", "right"]
Cell = str | int | float | bool | None
"""A table cell: text as it is, numbers as the column formats them, None as a dash."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of the page in one sentence."""

    sentence: str
    badge: str
    """`PASS`, `FAIL`, `INDETERMINATE`, `NO LOSS` …: at most two words."""
    tone: Tone = "plain"
    interval: str = ""
    """`12.3 [10.1, 15.8]`; empty for a single run, which has none."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One key figure. `source` is the SQL query that gives its exact value."""

    label: str
    value: str
    unit: str = ""
    interval: str = ""
    change: str = ""
    """Change against the baseline or the beginning of the run."""
    exact: str = ""
    """Exact value, shown on hover and to screen readers."""
    source: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Column:
    """A table column. `format` is a name of `numbers.FORMATS`, `address` or `code`; empty for text."""

    label: str
    format: str = ""
    unit: str = ""

    @property
    def align(self) -> Align:
        """Numbers to the right, text to the left."""
        return "left" if self.format in {"", "address", "code"} else "right"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title. `command` prints or exports what is left out."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    note: str = ""
    command: str = ""
    empty: str = "No rows."
    kind: Literal["table"] = "table"


@dataclass(frozen=True, slots=True)
class Text:
    """Paragraphs, or a list of remarks. `tone` puts them into a box."""

    paragraphs: tuple[str, ...]
    tone: Tone = "plain"
    bullets: bool = False
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class Facts:
    """Pairs of a name and a value; values are shown in full and may be copied."""

    pairs: tuple[tuple[str, str], ...]
    title: str = ""
    kind: Literal["facts"] = "facts"


@dataclass(frozen=True, slots=True)
class Code:
    """Commands or a document to copy. Long ones are folded under `title`."""

    text: str
    title: str = ""
    folded: bool = False
    kind: Literal["code"] = "code"


@dataclass(frozen=True, slots=True)
class Chart:
    """A Plotly chart. The title states the finding, the subtitle what is shown, its unit and the sample size.

    Colours in traces and layout are tokens such as `$1`, `$ink` or `$1/20` (20 % opaque): the page resolves them for
    light and dark. `table` is the data behind the chart: shown on demand, and what the CSV download holds.
    """

    title: str
    subtitle: str
    traces: tuple[dict[str, Any], ...]
    layout: dict[str, Any]
    table: Table
    height: int = 320
    source: str = ""
    """Line under the chart: where the numbers come from."""
    time: bool = False
    """Whether the x axis is time: such charts zoom together. Points carry their step in `customdata`."""
    wide: bool = False
    """Whether the chart takes the whole width beside others."""
    kind: Literal["chart"] = "chart"


@dataclass(frozen=True, slots=True)
class Scrubber:
    """A slider over the steps of a run, with the figures of the chosen step.

    `figures` are (label, format, one value per step); moving the slider also filters the action log of the page.
    """

    steps: tuple[int, ...]
    blocks: tuple[int, ...]
    timestamps: tuple[int, ...]
    figures: tuple[tuple[str, str, tuple[float | None, ...]], ...]
    actions: tuple[int, ...] = ()
    """Number of actions by step."""
    failed: tuple[int, ...] = ()
    kind: Literal["scrubber"] = "scrubber"


@dataclass(frozen=True, slots=True)
class LoggedAction:
    """One row of the action log. `call` is the decoded call in words, `details` its exact fields."""

    seq: int
    step: int
    block: int
    timestamp: int
    agent: str
    account: str
    action: str
    status: str
    call: str
    reason: str
    gas: int
    details: str


@dataclass(frozen=True, slots=True)
class ActionLog:
    """A virtual list of actions with search; `total` is the number in the store, `command` exports them all."""

    rows: tuple[LoggedAction, ...]
    total: int
    command: str
    note: str = ""
    kind: Literal["log"] = "log"


Block = Table | Text | Facts | Code | Chart | Scrubber | ActionLog


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of the page, with its own address `#id`."""

    id: str
    title: str
    blocks: tuple[Block, ...]
    lead: str = ""
    """One sentence under the title."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the page comes from: shown in one line under the verdict, and in full at the end."""

    facts: tuple[tuple[str, str], ...]
    """Seed, digests, versions, identifiers."""
    command: str
    """The command line that repeats the result; empty if none does."""
    summary: str = ""
    """The line under the verdict; by default the first facts."""
    note: str = "The same command on the same version gives the same numbers and digests on every machine."
    """What the command repeats, and what it needs for that."""


@dataclass(frozen=True, slots=True)
class Page:
    """A report. `subject` is the line above the verdict: what was run."""

    title: str
    subject: str
    verdict: Verdict
    tiles: tuple[Tile, ...]
    summary: tuple[str, ...]
    """Executive summary: sentences made from the numbers."""
    hero: Chart | None
    """The one chart that answers the question."""
    sections: tuple[Section, ...]
    provenance: Provenance
    notes: tuple[str, ...] = field(default=())
    """What limited the result; shown beside the summary."""

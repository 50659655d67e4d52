"""What a shape of a run contributes to its page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mayavi.report.page import Chart, Section, Tile, Verdict
    from mayavi.report.run.rows import RunRows


@dataclass(frozen=True, slots=True)
class Answer:
    """The first half of a page: verdict, tiles, the chart that answers the question, and why."""

    verdict: Verdict
    tiles: tuple[Tile, ...]
    summary: tuple[str, ...]
    hero: Chart | None
    sections: tuple[Section | None, ...]
    """In the order of the page; None for what the run does not have."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape of runs. `matches` looks at what the run recorded, not at its name."""

    name: str
    matches: Callable[[RunRows], bool]
    answer: Callable[[RunRows], Answer]

"""SVG charts for HTML pages: lines, bands and stacked areas, without scripts.

Colours are classes (`c0` to `c9`) that the page's style defines for light and dark themes. A chart has a title and a
description for screen readers. The same numbers give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

Numbers = Sequence[float]

WIDTH, HEIGHT = 760, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 30, 12, 34
COLOURS = 10


@dataclass(frozen=True, slots=True)
class Line:
    """Line of a chart, with an optional band around it."""

    name: str
    values: Numbers
    colour: int
    band: tuple[Numbers, Numbers] | None = None
    strong: bool = False


def line_chart(title: str, about: str, across: Numbers, lines: Sequence[Line], *, ticks: Ticks) -> str:
    """Draw lines of shares over `across`; strong ones last and thicker."""
    every = [value for line in lines for value in line.values]
    every += [value for line in lines if line.band for side in line.band for value in side]
    frame = _Frame(across, min(every), max(every), WIDTH, HEIGHT)
    parts = [frame.axes(ticks)]
    for line in lines:
        if line.band:
            low, high = line.band
            points = [*zip(across, high, strict=True), *reversed(list(zip(across, low, strict=True)))]
            parts.append(f'<path class="band c{line.colour % COLOURS}" d="{frame.path(points)}Z"/>')
    for line in sorted(lines, key=lambda each: each.strong):
        points = list(zip(across, line.values, strict=True))
        kind = "line strong" if line.strong else "line"
        parts.append(
            f'<path class="{kind} {_colour(line.colour)}" d="{frame.path(points)}"><title>{escape(line.name)}</title>'
            "</path>"
        )
    return _svg(title, about, parts, WIDTH, HEIGHT)


def stacked_chart(title: str, about: str, across: Numbers, layers: Sequence[tuple[str, Numbers]]) -> str:
    """Draw a small stacked area chart of shares that add up to one."""
    width, height = 370, 150
    frame = _Frame(across, 0.0, 1.0, width, height)
    parts, below = [], [0.0] * len(across)
    for at, (name, values) in enumerate(layers):
        above = [low + value for low, value in zip(below, values, strict=True)]
        points = [*zip(across, above, strict=True), *reversed(list(zip(across, below, strict=True)))]
        parts.append(f'<path class="area a{at}" d="{frame.path(points)}Z"><title>{escape(name)}</title></path>')
        below = above
    parts.append(frame.axes([]))
    return _svg(title, about, parts, width, height)


def legend(names: Sequence[str], *, area: bool = False) -> str:
    """List names with their colours."""
    items = []
    for at, name in enumerate(names):
        drawn = f'class="area a{at}" d="M0 0H18V10H0Z"' if area else f'class="line strong {_colour(at)}" d="M0 5H18"'
        key = f'<svg class="key" viewBox="0 0 18 10" aria-hidden="true"><path {drawn}/></svg>'
        items.append(f"<li>{key}{escape(name)}</li>")
    return f'<ul class="legend">{"".join(items)}</ul>'


def _colour(at: int) -> str:
    """Class of a colour; beyond the last, colours repeat dashed."""
    return f"c{at % COLOURS}{' dash' if at // COLOURS % 2 else ''}"


Ticks = Sequence[tuple[float, str]]
"""Positions and labels of ticks on the horizontal axis."""


def even_ticks(last: float, unit: str, *, each: float = 1.0, count: int = 6) -> Ticks:
    """Round numbers from 0 to `last`, in units of `each` along the axis."""
    step = _step(0.0, last / each, count)
    marks = [at * step for at in range(int(last / each / step + 1e-9) + 1)]
    return [(mark * each, f"{mark:g} {unit}" if at == len(marks) - 1 else f"{mark:g}") for at, mark in enumerate(marks)]


class _Frame:
    """Scale from data to coordinates."""

    def __init__(self, across: Numbers, low: float, high: float, width: int, height: int) -> None:
        if high - low < 1e-9:
            low, high = low - 0.01, high + 0.01
        self.step = _step(low, high, 5)
        self.low, self.high = math.floor(low / self.step) * self.step, math.ceil(high / self.step) * self.step
        self.first, self.last = across[0], max(across[-1], across[0] + 1e-9)
        self.width, self.height = width, height

    def x(self, value: float) -> float:
        return _LEFT + (value - self.first) / (self.last - self.first) * (self.width - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        return self.height - _BOTTOM - (value - self.low) / (self.high - self.low) * (self.height - _TOP - _BOTTOM)

    def path(self, points: Sequence[tuple[float, float]]) -> str:
        return "M" + "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)

    def axes(self, ticks: Ticks) -> str:
        parts = []
        for at in range(round((self.high - self.low) / self.step) + 1):
            value = self.low + at * self.step
            y = self.y(value)
            parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{self.width - _RIGHT}"/>')
            parts.append(f'<text class="tick end" x="{_LEFT - 6}" y="{y + 4:.1f}">{_percent(value, self.step)}</text>')
        for value, label in ticks:
            x = self.x(value)
            parts.append(f'<path class="grid" d="M{x:.1f} {self.height - _BOTTOM}v4"/>')
            parts.append(
                f'<text class="tick middle" x="{x:.1f}" y="{self.height - _BOTTOM + 18}">{escape(label)}</text>'
            )
        return "".join(parts)


def _svg(title: str, about: str, parts: Sequence[str], width: int, height: int) -> str:
    return (
        f'<svg class="chart" role="img" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f"<title>{escape(title)}</title><desc>{escape(about)}</desc>{''.join(parts)}</svg>"
    )


def _step(low: float, high: float, count: int) -> float:
    """Round step that divides the range into about `count` parts."""
    rough = max((high - low) / count, 1e-12)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * each for each in (1, 2, 5, 10) if power * each >= rough * (1 - 1e-9))


def _percent(value: float, step: float) -> str:
    digits = 0 if step >= 0.00999 else 1 if step >= 0.000999 else 2
    return f"{value * 100:.{digits}f} %".replace("-0 %", "0 %")

"""Axes and layout that all charts share, and their colour tokens.

`$1` … `$5` are the five colours of the Okabe–Ito palette that the page uses, `$ink`, `$muted`, `$grid` and `$paper` its
text and lines. A token with a slash is translucent: `$1/20`. `report.css` has the colours of both themes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mayavi.report.numbers import HOVER_FORMATS, TICKS

COLOURS = ("$1", "$2", "$3", "$4", "$5")
"""Blue, vermillion, green, purple, orange; more series than these are too many for one chart."""
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")

Values = Sequence[float | None]
_LABEL_GAP = 0.075
"""Distance of labels at line ends, as a share of the height of a chart."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A value axis: its label with the unit, and a format of `numbers.FORMATS`."""

    label: str = ""
    format: str = "short"
    log: bool = False
    zero: bool = False
    """Whether the axis starts at zero."""

    def layout(self) -> dict[str, Any]:
        """The Plotly axis; log axes are named as such."""
        axis: dict[str, Any] = {
            **axis_title(self.label, log=self.log),
            **TICKS.get(self.format, {"tickformat": self.format}),
            "gridcolor": "$grid",
            "linecolor": "$grid",
            "zerolinecolor": "$axis",
            "automargin": True,
        }
        if self.log:
            axis |= {"type": "log", "dtick": 1}
        elif self.zero:
            axis["rangemode"] = "tozero"
        return axis

    @property
    def hover(self) -> str:
        """The d3 format for hover texts."""
        return HOVER_FORMATS.get(self.format, self.format)


@dataclass(frozen=True, slots=True)
class Xs:
    """Values of an x axis. With `time` they are Unix seconds, and `steps` and `blocks` are shown on hover."""

    values: Sequence[float | str]
    label: str = ""
    format: str = "number"
    time: bool = False
    steps: Sequence[int] = ()
    blocks: Sequence[int] = ()
    log: bool = False

    def plotted(self) -> list[Any]:
        """The values as Plotly takes them: times in milliseconds."""
        return [value * 1000 for value in self.values] if self.time else list(self.values)

    def layout(self) -> dict[str, Any]:
        """The Plotly axis."""
        axis: dict[str, Any] = {
            "gridcolor": "$grid",
            "linecolor": "$axis",
            "zeroline": False,
            "automargin": True,
            **axis_title(self.label, log=self.log),
        }
        if self.time:
            return axis | {
                "type": "date",
                "showgrid": False,
                "ticks": "outside",
                "tickcolor": "$axis",
                "tickangle": 0,
                "nticks": 6,
            }
        if self.log:
            return axis | {"type": "log", "dtick": 1}
        if self.values and isinstance(self.values[0], str):
            return axis | {"type": "category"}
        return axis | TICKS.get(self.format, {"tickformat": self.format})

    def custom(self) -> list[list[int]] | None:
        """Step and block of each point, for hover texts and clicks."""
        if not self.steps:
            return None
        blocks = self.blocks or self.steps
        return [[step, block] for step, block in zip(self.steps, blocks, strict=True)]


def axis_title(label: str, *, log: bool = False) -> dict[str, Any]:
    """The title of an axis; log axes are named as such. An axis without a label takes no room for one."""
    text = f"{label} (log scale)" if log else label
    return {"title": {"text": plain(text), "standoff": 8, "font": {"size": 13}}} if text else {}


def whole_ticks(values: Values, format: str) -> dict[str, Any]:
    """Ticks for what the values are: whole steps for small counts, decimals for tiny numbers."""
    most = max((abs(value) for value in finite(values) if value is not None), default=0.0)
    if format == "count":
        return {"dtick": 1} if most <= 6 else {}
    tiny = format in {"short", "usd", "number"} and 0 < most < 0.01
    return {"tickformat": ",.3~r"} if tiny else {}


def base_layout(**more: Any) -> dict[str, Any]:
    """The layout of every chart: fonts, margins, transparent background, no legend, no animation."""
    layout: dict[str, Any] = {
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": "$muted"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 16, "t": 8, "b": 8},
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": "zoom",
        "hoverlabel": {"bgcolor": "$paper", "bordercolor": "$axis", "font": {"color": "$ink"}},
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
    }
    return layout | more


def finite(values: Values) -> list[float | None]:
    """The values with None for NaN and infinities, which JSON does not have."""
    return [value if value is not None and math.isfinite(value) else None for value in values]


def plain(label: str) -> str:
    """Escape a label for Plotly, which reads some HTML tags in texts."""
    return label.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def end_labels(ends: Sequence[tuple[str, float | None, str]], low: float, high: float, *, log: bool) -> list[Any]:
    """Labels at the right end of lines: (text, last value, colour), moved apart so that none covers another."""
    shown = [(text, value, colour) for text, value, colour in ends if value is not None and not (log and value <= 0)]

    def place(value: float) -> float:
        if log:
            low_, high_, value = math.log10(low), math.log10(high), math.log10(value)
        else:
            low_, high_ = low, high
        return (value - low_) / (high_ - low_) if high_ > low_ else 0.5

    placed = sorted((place(value), text, colour) for text, value, colour in shown)
    heights = _spread([at for at, _, _ in placed], _LABEL_GAP)
    result = [(at, text, colour) for at, (_, text, colour) in zip(heights, placed, strict=True)]
    return [
        {
            "name": "end-label",
            "text": plain(text),
            "x": 1,
            "xref": "paper",
            "xanchor": "left",
            "xshift": 6,
            "y": round(at, 4),
            "yref": "paper",
            "yanchor": "middle",
            "showarrow": False,
            "align": "left",
            "font": {"color": colour, "size": 13},
        }
        for at, text, colour in result
    ]


def _spread(places: Sequence[float], gap: float) -> list[float]:
    """Move sorted places (0 to 1) apart by `gap` at least, each as little as possible from where it was."""
    groups: list[tuple[float, int]] = []
    for at in places:
        centre, size = at, 1
        while groups and centre - groups[-1][0] < gap * (size + groups[-1][1]) / 2:
            before, many = groups.pop()
            centre, size = (before * many + centre * size) / (many + size), many + size
            half = gap * (size - 1) / 2
            centre = min(max(centre, half), max(1 - half, half))
        groups.append((centre, size))
    return [centre + gap * (place - (size - 1) / 2) for centre, size in groups for place in range(size)]

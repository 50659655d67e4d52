"""How the figures of runs are written on pages: format, unit, and what counts as bad."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mayavi.report import numbers
from mayavi.scenarios.figures.formatting import CHANGES, COINS, RATES, title_of
from mayavi.statistics.estimate import Estimate

_PRICE_MOVES = ("largest_step_fall", "largest_step_rise")
_TITLES = {
    "liquidated": "liquidated value",
    "failed": "failed actions",
    "raised": "actions that raised",
    "largest_step_fall": "largest fall of {} in a step",
    "largest_step_rise": "largest rise of {} in a step",
}


@dataclass(frozen=True, slots=True)
class FigureFormat:
    """Format of one figure: a name of `numbers.FORMATS`, the unit, and the factor to that unit."""

    name: str
    format: str
    unit: str = ""
    factor: float = 1.0

    @property
    def title(self) -> str:
        """Title of the figure: `bad debt`."""
        kind, _, of = self.name.partition(".")
        return _TITLES[kind].format(of) if kind in _TITLES else title_of(self.name)

    @property
    def is_share(self) -> bool:
        """Whether the figure is a share or a change itself, so that differences are in percentage points."""
        return self.format in {"percent", "change"}

    @property
    def exact_format(self) -> str:
        """The format with all digits, for tables."""
        return {"usd": "exact_usd", "percent": "exact_percent", "change": "exact_percent", "short": "number"}.get(
            self.format, self.format
        )

    def value(self, number: float | None) -> float | None:
        """Convert to the unit."""
        return None if number is None else number * self.factor

    def write(self, number: float | None) -> str:
        """Format with three digits and the unit."""
        text = numbers.FORMATS[self.format](self.value(number))
        return f"{text} {self.unit}" if self.unit and text != numbers.DASH else text

    def exact(self, number: float | None) -> str:
        """Format with all digits."""
        return numbers.FORMATS[self.exact_format](self.value(number))

    def bounds(self, estimate: Estimate) -> tuple[float | None, float | None, float | None]:
        """Value, low and high of an estimate in the unit."""
        return self.value(estimate.value), self.value(estimate.low), self.value(estimate.high)

    def interval(self, estimate: Estimate) -> str:
        """Format the interval of an estimate: `[1.2, 3.4]`, `at least 1.2`, or what is missing."""
        return interval_text(estimate, self.write)


def interval_text(estimate: Estimate, write: Callable[[float | None], str]) -> str:
    """Format an interval: `[1.2, 3.4]`, `at least 1.2`, `at most 3.4` or `no interval`."""
    if estimate.complete:
        return f"[{write(estimate.low)}, {write(estimate.high)}]"
    if estimate.low is not None:
        return f"at least {write(estimate.low)}"
    return "no interval" if estimate.high is None else f"at most {write(estimate.high)}"


def figure_format(name: str, unit: str, chain: str = "") -> FigureFormat:
    """Return the format of a KPI or market figure, by its name and unit."""
    kind = name.partition(".")[0]
    if kind in CHANGES or kind in _PRICE_MOVES:
        return FigureFormat(name, "change")
    if kind in RATES or unit == "ppm":
        return FigureFormat(name, "percent")
    if unit == "usd_e8":
        return FigureFormat(name, "usd")
    if unit == "eth_e8":
        return FigureFormat(name, "short", "ETH")
    if unit == "wei":
        return FigureFormat(name, "short", COINS.get(chain, "ETH"), 1e-18)
    if unit in {"count", "gas"}:
        return FigureFormat(name, "count", "gas" if unit == "gas" else "")
    return FigureFormat(name, "short")


def worst_is_low(name: str) -> bool:
    """Whether a low value of the figure is the bad one: changes, gaps and profits."""
    kind = name.partition(".")[0]
    return kind in CHANGES or kind in _PRICE_MOVES or kind.endswith(("profit", "price", "proceeds"))

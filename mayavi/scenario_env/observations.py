"""Observations of a learner: figures as bounded numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mayavi.numerics import portable
from mayavi.scenario_env.own_figures import Value
from mayavi.scenarios.models.learner import LAST_ACTION, Observed
from mayavi.sim.figure_table import number

Form = Literal["value", "log", "change", "since_start"]
_RATIOS = ("ray", "wad", "bps")
_BOUNDS: dict[Form, tuple[float, float]] = {
    "value": (-10.0, 10.0),
    "log": (-30.0, 30.0),
    "change": (-5.0, 5.0),
    "since_start": (-5.0, 5.0),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One number of an observation: a figure in a form, divided by `scale` and clipped to `low` and `high`."""

    figure: str
    form: Form
    scale: float
    low: float
    high: float

    def of(self, now: Value, before: Value, start: Value) -> float:
        """Compute the entry; a figure that is missing counts as zero."""
        if self.form == "value":
            found = plain(now)
        elif self.form == "log":
            value = plain(now)
            size = float(portable.log(1.0 + abs(value)) / portable.log(10.0))
            found = size if value >= 0 else -size
        else:
            reference = plain(before if self.form == "change" else start)
            found = plain(now) / reference - 1.0 if reference else 0.0
        return min(max(found / self.scale, self.low), self.high)


def entry_of(observed: Observed, value: Value) -> Entry:
    """Return the entry of an observed figure; form and bounds default to those of its unit."""
    form = observed.form or default_form(observed.figure, value.unit)
    low, high = _BOUNDS[form] if observed.bounds is None else (float(each) for each in observed.bounds)
    if observed.bounds is None and value.unit == "wad" and "health_factor" in observed.figure:
        low = 0.0
    return Entry(observed.figure, form, float(observed.scale), low, high)


def default_form(figure: str, unit: str) -> Form:
    """Return the form of a figure: prices since the start, ratios as they are, amounts and counts as logarithms."""
    metric = figure.rpartition(".")[2]
    if metric in ("price", "market_price", "sqrt_price") or metric.startswith("price_"):
        return "since_start"
    return "value" if unit in _RATIOS else "log"


def observation(
    entries: Sequence[Entry],
    now: Mapping[str, Value],
    before: Mapping[str, Value],
    start: Mapping[str, Value],
    last_action: Sequence[float],
) -> list[float]:
    """Compute all entries in order; the learner's last action has one entry for each of its numbers."""
    found: list[float] = []
    for entry in entries:
        name = entry.figure
        found += last_action if name == LAST_ACTION else [entry.of(now[name], before[name], start[name])]
    return found


def plain(value: Value) -> float:
    """Return a figure as a float, 0 if it is missing."""
    return 0.0 if value.exact is None else number(value.exact, value.unit)

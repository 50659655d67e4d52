"""Result of an exposure analysis: debt at risk on every price path, and statistics of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mayavi.scenarios.figures.formatting import dollars, shown_number, title_of
from mayavi.scenarios.figures.tables import data_frame

if TYPE_CHECKING:
    from mayavi.statistics.summary import Summary

E8 = 10**8
UNITS = {"liquidatable_accounts": "count", "liquidatable_debt": "usd", "bad_debt": "usd"}
"""Figures and their units."""
COLUMNS = ("at its worst", "mean", "p5", "p50", "p95", "95 % interval of p95", "mean of top 5 %", "maximum")
STEP_COLUMNS = ("step", "after", *(cell for name in UNITS for cell in (f"{name.replace('_', ' ')} p50", "p95")))
MOST_STEPS = 8
"""Steps of the table by time, at most."""
WORST = 5
"""Paths that are named as the worst."""

Totals = NDArray[Any]
"""Exact integers, paths × steps."""


@dataclass(frozen=True)
class GroupExposure:
    """Borrowers of one group on every path, after every step: arrays of exact integers, paths × steps."""

    name: str
    market: str
    accounts: int
    liquidatable: Totals
    """Accounts with a health factor below 1."""
    liquidatable_debt_usd_e8: Totals
    bad_debt_usd_e8: Totals
    """Debt that exceeds the collateral of its account."""
    debt_usd_e8: Totals

    @property
    def totals(self) -> tuple[Totals, ...]:
        """All arrays."""
        return self.liquidatable, self.liquidatable_debt_usd_e8, self.bad_debt_usd_e8, self.debt_usd_e8

    @cached_property
    def figures(self) -> Mapping[str, Summary]:
        """By figure: statistics over the paths of its highest value on each path."""
        return _statistics(_by_step([self]))


@dataclass(frozen=True)
class Exposure:
    """Debt at risk of a scenario's borrowers on many price paths, while nobody acts.

    ```python
    found = mayavi.exposure("depeg_cascade", seeds="0:1000")
    found.figures["bad_debt"].p95.value
    ```
    """

    scenario: str
    chain: str
    seeds: tuple[int, ...]
    """One price path each: that of a run with this seed."""
    population_seed: int
    """Seed of the borrowers, who are the same on every path."""
    step_seconds: int
    groups: tuple[GroupExposure, ...]
    device: str | None
    """Name of the device; None if the processor computed everything."""
    left: int
    """Accounts × states that the device left to the processor."""
    seconds: float
    distinct: int
    """Number of different price paths."""
    notes: tuple[str, ...] = ()

    @property
    def accounts(self) -> int:
        """Number of borrowers."""
        return sum(group.accounts for group in self.groups)

    @property
    def steps(self) -> int:
        """Steps of a path."""
        return int(self.groups[0].liquidatable.shape[1])

    @cached_property
    def by_step(self) -> Mapping[str, NDArray[np.float64]]:
        """By figure: its number on each path after each step, of all groups together; amounts in dollars."""
        return _by_step(self.groups)

    @cached_property
    def figures(self) -> Mapping[str, Summary]:
        """By figure: statistics over the paths of its highest value on each path, of all groups together."""
        return _statistics(self.by_step)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all totals; no device, thread or cache changes it."""
        hasher = hashlib.sha256(repr((self.seeds, self.population_seed, self.step_seconds)).encode())
        for group in self.groups:
            hasher.update(repr((group.name, group.market, group.accounts, group.liquidatable.shape)).encode())
            for total in group.totals:
                hasher.update(repr(total.reshape(-1).tolist()).encode())
        return hasher.hexdigest()

    def worst(self, count: int = WORST) -> list[dict[str, Any]]:
        """Return the paths with the highest bad debt, then with the highest debt that may be liquidated."""
        peaks = {name: each.max(axis=1) for name, each in self.by_step.items()}
        order = np.lexsort((-peaks["liquidatable_debt"], -peaks["bad_debt"]))[:count]
        return [
            {"seed": self.seeds[row], **{name: float(peak[row]) for name, peak in peaks.items()}}
            for row in order.tolist()
        ]

    def df(self) -> Any:
        """Return a pandas data frame with a row for each path: seed and the highest value of each figure."""
        peaks = {name: each.max(axis=1).tolist() for name, each in self.by_step.items()}
        return data_frame(
            [{"seed": seed, **{k: v[row] for k, v in peaks.items()}} for row, seed in enumerate(self.seeds)]
        )

    def rows(self) -> list[tuple[str, ...]]:
        """Return a line of the table for each figure: of all groups together, then of each if there are several."""
        found = [_row(title_of(name), name, each) for name, each in self.figures.items()]
        for group in self.groups if len(self.groups) > 1 else ():
            found += [_row(f"{title_of(name)}, {group.name}", name, each) for name, each in group.figures.items()]
        return found

    def step_rows(self) -> list[tuple[str, ...]]:
        """Return a line for some steps, evenly spread: median and 95 % quantile of each figure over the paths."""
        chosen = np.unique(np.linspace(0, self.steps - 1, min(self.steps, MOST_STEPS)).round().astype(int))
        rows = []
        for step in chosen.tolist():
            cells = [
                _shown(number, name)
                for name, path in self.by_step.items()
                for number in _middle_and_high(path[:, step])
            ]
            rows.append((str(step), _after(step * self.step_seconds), *cells))
        return rows

    def to_json(self) -> dict[str, Any]:
        """Return the analysis as JSON data."""
        return {
            "scenario": self.scenario,
            "chain": self.chain,
            "paths": len(self.seeds),
            "distinct_paths": self.distinct,
            "seeds": _spans(self.seeds),
            "population_seed": self.population_seed,
            "accounts": self.accounts,
            "steps": self.steps,
            "step_seconds": self.step_seconds,
            "device": self.device or "cpu",
            "left_to_processor": self.left,
            "seconds": self.seconds,
            "digest": self.digest,
            "groups": [
                {
                    "name": each.name,
                    "market": each.market,
                    "accounts": each.accounts,
                    "debt": each.debt_usd_e8[0, 0] / E8,
                    "figures": _json(each.figures),
                }
                for each in self.groups
            ],
            "figures": _json(self.figures),
            "by_step": {
                name: [
                    dict(zip(("p50", "p95"), _middle_and_high(path[:, step]), strict=True))
                    for step in range(self.steps)
                ]
                for name, path in self.by_step.items()
            },
            "worst": self.worst(),
            "notes": list(self.notes),
        }


def _middle_and_high(numbers: NDArray[np.float64]) -> tuple[float, float]:
    middle, high = np.quantile(numbers, (0.5, 0.95), method="higher").tolist()
    return middle, high


def _after(seconds: int) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds and not seconds % size:
            return f"{seconds // size:,} {unit}"
    return f"{seconds:,} s"


def _by_step(groups: Sequence[GroupExposure]) -> dict[str, NDArray[np.float64]]:
    """Add groups up and convert exact integers to numbers, by figure."""
    added = [sum(parts) for parts in zip(*(group.totals[:3] for group in groups), strict=True)]
    return {
        name: np.asarray(total).astype(np.float64) / (1 if unit == "count" else E8)
        for (name, unit), total in zip(UNITS.items(), added, strict=True)
    }


def _statistics(by_step: Mapping[str, NDArray[np.float64]]) -> dict[str, Summary]:
    from mayavi.statistics.summary import summarise

    return {name: summarise(path.max(axis=1)) for name, path in by_step.items()}


def _json(figures: Mapping[str, Summary]) -> dict[str, Any]:
    return {name: {"unit": UNITS[name], **each.to_json()} for name, each in figures.items()}


def _shown(number: float, name: str) -> str:
    return shown_number(number, "count") if UNITS[name] == "count" else dollars(number)


def _row(title: str, name: str, found: Summary) -> tuple[str, ...]:
    cells = [_shown(part.value, name) for part in (found.mean, found.p5, found.p50, found.p95)]
    interval = found.p95.interval(lambda number: _shown(number, name))
    return title, *cells, interval, _shown(found.expected_shortfall.value, name), _shown(found.maximum, name)


def _spans(seeds: Sequence[int]) -> str:
    """Write seeds as the command line takes them: `0:1000`."""
    if len(seeds) > 1 and list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]}:{seeds[0] + len(seeds)}"
    return ",".join(map(str, seeds))

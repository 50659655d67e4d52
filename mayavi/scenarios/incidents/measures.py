"""Read the figures of an incident from a stored run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal, localcontext
from statistics import median
from typing import Any, NamedTuple

from mayavi.errors import BadScenario
from mayavi.scenarios.incidents.models import Measure, Moment
from mayavi.scenarios.run.result import Run

_SCALES = {"ray": 27, "wad": 18, "usd_e8": 8, "eth_e8": 8, "bps": 4, "ppm": 6}
_DIGITS = 60
_QUOTIENT = Decimal(1).scaleb(-18)
"""Places of a quotient; sums are exact."""


class Failures(NamedTuple):
    """Failed actions of a run, out of all actions of the same kinds, and how often each reason was given."""

    failed: int
    attempted: int
    kinds: tuple[str, ...]
    reasons: Mapping[str, int]


class RunFigures:
    """Figures of one run, read from the store once."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._figures: dict[tuple[str, str], dict[int, tuple[int, str]]] = {}
        for row in run.snapshots:
            self._figures.setdefault((row.subject, row.metric), {})[row.step] = int(row.value), row.unit
        self._actions: list[tuple[str, Mapping[str, Any]]] = []
        attempted, failed, reasons = Counter[str](), Counter[str](), Counter[str]()
        for action in run.actions:
            if action.status == "declined":
                continue
            attempted[action.kind] += 1
            if action.status == "success":
                details = {"agent": action.agent, "account": action.account, **json.loads(action.details)}
                self._actions.append((action.kind, details))
            else:
                failed[action.kind] += 1
                reasons[action.reason] += 1
        self.failures: Failures | None = None
        if failed:
            tried = sum(attempted[kind] for kind in failed)
            self.failures = Failures(failed.total(), tried, tuple(sorted(failed)), dict(reasons))

    def value(self, measure: Measure) -> Decimal | None:
        """Return what `measure` gives, exactly; None if it divides by nothing."""
        with localcontext() as context:
            context.prec = _DIGITS
            own: Decimal | None
            if measure.kpi is not None:
                own = self._kpi(measure.kpi)
            elif measure.figure is not None:
                own = end = self._figure(measure.figure, measure.at)
                if measure.change_from is not None:
                    start = self._figure(measure.figure, measure.change_from)
                    own = (end / start - 1).quantize(_QUOTIENT) if start else None
            else:
                own = total_of((details for kind, details in self._actions if kind == measure.actions), measure)
            if measure.per is None or own is None:
                return own
            divisor = self.value(measure.per)
            return (own / divisor).quantize(_QUOTIENT) if divisor else None

    def _kpi(self, name: str) -> Decimal:
        if name not in self.run.kpis:
            raise BadScenario(
                f"run '{self.run.scenario}' has no KPI '{name}'", f"it has: {', '.join(sorted(self.run.kpis))}"
            )
        row = self.run.kpis.exact(name)
        return scaled(int(row.value), row.unit)

    def _figure(self, text: str, at: Moment | int) -> Decimal:
        subject, _, metric = text.strip().rpartition(" ")
        found = self._figures.get((subject, metric))
        if found is None:
            known = sorted(f"{one} {other}" for one, other in self._figures if one == subject)
            raise BadScenario(
                f"run '{self.run.scenario}' records no figure '{text}'", f"of '{subject}' it has: {', '.join(known)}"
            )
        if isinstance(at, int):
            if at not in found:
                raise BadScenario(f"run '{self.run.scenario}' has no step {at}", f"its last is {max(found)}")
            value, unit = found[at]
        elif at in ("first", "last"):
            value, unit = found[min(found) if at == "first" else max(found)]
        else:
            value, unit = (min if at == "lowest" else max)(found.values())
        return scaled(value, unit)


def total_of(actions: Iterable[Mapping[str, Any]], measure: Measure) -> Decimal | None:
    """Return the count, sum or difference that `measure` gives for the details of actions; None without any."""
    wanted = [
        details for details in actions if all(str(details.get(key)) == value for key, value in measure.where.items())
    ]
    if measure.sum is None:
        return Decimal(len(wanted))
    if measure.differs_from is not None:
        pairs = [(int(each[measure.sum]), each.get(measure.differs_from)) for each in wanted]
        known = [(own, int(recorded)) for own, recorded in pairs if recorded is not None and int(recorded)]
        shares = [Decimal(own - recorded) / recorded for own, recorded in known]
        if not shares:
            return None
        chosen = max(shares, key=abs) if measure.over_actions == "largest" else median(map(abs, shares))
        return chosen.quantize(_QUOTIENT)
    with localcontext() as context:
        context.prec = _DIGITS
        return Decimal(sum(int(details.get(measure.sum, 0)) for details in wanted)).scaleb(-measure.decimals)


def exact_difference(value: Decimal, other: Decimal) -> Decimal:
    """Subtract without rounding."""
    with localcontext() as context:
        context.prec = _DIGITS
        return value - other


def scaled(value: int, unit: str) -> Decimal:
    """Return an integer figure in its unit, exactly: a `wad` of 10**18 is 1."""
    places = _SCALES.get(unit)
    if places is None:
        places = int(unit[1:]) if unit[:1] == "e" and unit[1:].isdigit() else 0
    with localcontext() as context:
        context.prec = _DIGITS
        return Decimal(value).scaleb(-places)

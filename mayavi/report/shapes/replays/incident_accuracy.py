"""Accuracy of a replayed incident: simulated figures against the record, and the verdict on them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from mayavi.report.numbers import change, percent, short
from mayavi.report.page import Tile, Tone, Verdict

Document = Mapping[str, Any]
LARGE_MISS = 0.1
"""Miss of a prediction, as a share or in points, from which on a replay does not pass."""
KEY_FIGURE = "bad debt"
"""Figure that the verdict names even where another one misses the record by more."""
_FEWEST_FOR_MEDIAN = 3
_SAME = Decimal("1e-9")


@dataclass(frozen=True, slots=True)
class ComparedAmount:
    """A simulated amount beside the recorded one; figures of a run that show the same amount are one."""

    run: str
    recorded_calls: bool
    asset: str
    names: tuple[str, ...]
    unit: str
    recorded: Decimal
    simulated: Decimal
    promised: bool
    exact: bool

    @property
    def name(self) -> str:
        """The name of the key figure if the amount has several."""
        return KEY_FIGURE if KEY_FIGURE in self.names else self.names[0]

    @property
    def label(self) -> str:
        """Asset and name: `CRV bad debt`."""
        return f"{self.asset} {self.name}"

    @property
    def share(self) -> float | None:
        """Difference as a share of the recorded amount; of percentages in points; None of a recorded zero."""
        difference = self.simulated - self.recorded
        if self.unit == "%":
            return float(difference)
        if not self.recorded:
            return 0.0 if not difference else None
        return float(difference / abs(self.recorded))

    @property
    def size(self) -> float:
        """Size of the miss, to compare misses."""
        return float("inf") if self.share is None else abs(self.share)

    def miss(self) -> str:
        """The miss with its sign: `−56.0 %`, `+3.1 points`."""
        if self.share is None:
            return "not the recorded zero"
        return points(self.share) if self.unit == "%" else change(self.share)

    def against_record(self) -> str:
        """Both amounts: `1.16 M instead of 2.64 M CRV`."""
        if self.unit == "%":
            return f"{change(float(self.simulated))} instead of {change(float(self.recorded))}"
        return f"{short(float(self.simulated))} instead of {short(float(self.recorded))} {self.unit}".strip()


def points(share: float) -> str:
    """Format a difference of percentages: `+3.1 points`."""
    return change(share).replace("%", "points")


def compared_amounts(document: Document) -> list[ComparedAmount]:
    """Return what the runs of an incident simulate, without inputs, and each amount once."""
    found: list[ComparedAmount] = []
    for name, run in document["runs"].items():
        own: list[ComparedAmount] = []
        for figure in run["figures"]:
            if figure["input"] or figure["difference"] is None:
                continue
            each = ComparedAmount(
                name,
                bool(run["recorded_calls"]),
                figure["asset"],
                (figure["name"],),
                figure["unit"],
                Decimal(figure["recorded"]),
                Decimal(figure["simulated"]),
                figure["within"] is not None,
                bool(figure["exact"]),
            )
            same = next((at for at, other in enumerate(own) if _is_same(each, other)), None)
            if same is None:
                own.append(each)
            else:
                own[same] = _merged(own[same], each)
        found += own
    return found


def _is_same(one: ComparedAmount, other: ComparedAmount) -> bool:
    """Whether two figures are one amount of debt: what is left without collateral is the bad debt."""
    if KEY_FIGURE not in (*one.names, *other.names) or (one.asset, one.unit) != (other.asset, other.unit):
        return False
    near = abs(one.simulated - other.simulated) <= _SAME * abs(other.simulated)
    return bool(other.simulated) and one.recorded == other.recorded and one.promised == other.promised and near


def _merged(one: ComparedAmount, other: ComparedAmount) -> ComparedAmount:
    return ComparedAmount(
        one.run, one.recorded_calls, one.asset, (*one.names, *other.names), one.unit, one.recorded, one.simulated,
        one.promised, one.exact and other.exact,
    )  # fmt: skip


def verdict_of(document: Document) -> Verdict:
    """Judge a replay: exact figures and predictions apart, the worst prediction and the key figure by name."""
    amounts = compared_amounts(document)
    if not document["exact"]:
        return Verdict(_failure(document), "FAIL", "bad")
    promised = [each for each in amounts if each.promised]
    predicted = [each for each in amounts if not each.promised]
    parts = []
    if promised:
        parts.append(f"{_driver(promised)} reproduces {_how_many(len(promised))} promised exactly")
    else:
        parts.append("The replay promises no exact figure")
    large = any(each.size > LARGE_MISS for each in predicted)
    own = [each for each in predicted if not each.recorded_calls]
    if shown := own or predicted:
        parts.append(_misses(shown, own=bool(own)))
    sentence = (", but " if large and promised else "; ").join(parts)
    if not promised:
        return Verdict(f"{sentence}.", "INDETERMINATE", "warn")
    return Verdict(f"{sentence}.", "PARTIAL", "warn") if large else Verdict(f"{sentence}.", "PASS", "good")


def _failure(document: Document) -> str:
    for name, run in document["runs"].items():
        for figure in run["figures"]:
            if figure["exact"] is False:
                recorded, simulated = (short(float(figure[key])) for key in ("recorded", "simulated"))
                text = f"Run {name} does not reproduce {figure['asset']}, {figure['name']}, which is promised exactly: "
                return f"{text}{simulated} instead of {recorded} {figure['unit']}".strip() + "."
    return "The recorded transactions, executed in their real blocks, differ from the chain."


def _driver(amounts: Sequence[ComparedAmount]) -> str:
    return "Replaying the recorded calls" if all(each.recorded_calls for each in amounts) else "The replay"


def _how_many(number: int) -> str:
    return {1: "the one figure", 2: "both figures"}.get(number, f"all {number:,} figures")


def _misses(amounts: Sequence[ComparedAmount], *, own: bool) -> str:
    """Name the key figure and the largest miss of predictions."""
    who = "our own market" if own else "the replay of the recorded calls"
    worst = max(amounts, key=lambda each: each.size)
    if not worst.size:
        return f"all predictions of {who} equal the record"
    named = [each for each in amounts if each.name == KEY_FIGURE and each is not worst and each.size > LARGE_MISS]
    if worst.size > LARGE_MISS:
        told = [f"{each.label} {each.miss()} ({each.against_record()})" for each in [*named[:1], worst]]
        return f"{who} is off: {' and '.join(told)}"
    return f"the largest miss of {who} is {worst.label}: {worst.miss()} ({worst.against_record()})"


def accuracy_tiles(document: Document) -> list[Tile]:
    """Return the tiles of exact figures, the largest miss, the key figure and the median miss."""
    amounts = compared_amounts(document)
    promised = [each for each in amounts if each.promised]
    predicted = [each for each in amounts if not each.promised]
    exact = sum(each.exact for each in promised)
    driven = "recorded calls replayed" if promised and all(each.recorded_calls for each in promised) else ""
    found = []
    if promised:
        about = ", ".join(filter(None, [f"of {len(promised):,} promised", driven]))
        found.append(
            Tile("exact figures", f"{exact:,}", change=about, tone="good" if exact == len(promised) else "bad")
        )
    if predicted:
        worst = max(predicted, key=lambda each: each.size)
        where = f"{worst.label}, run {worst.run}: {worst.against_record()}"
        tone: Tone = "warn" if worst.size > LARGE_MISS else "plain"
        found.append(Tile("largest miss", worst.miss(), change=where, tone=tone))
        key = [each for each in predicted if each.name == KEY_FIGURE and each is not worst]
        if key:
            most = max(key, key=lambda each: each.size)
            found.append(Tile(f"{KEY_FIGURE}, run {most.run}", most.miss(), change=most.against_record()))
    shares = [each.size for each in predicted if each.unit != "%" and each.share is not None]
    if len(shares) >= _FEWEST_FOR_MEDIAN:
        found.append(
            Tile("median miss", percent(statistics.median(shares)), change=f"of {len(shares):,} predicted amounts")
        )
    return found

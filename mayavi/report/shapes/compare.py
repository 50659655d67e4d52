"""The page of a comparison: only what differs between runs or sweeps, paired by seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mayavi.report.charts.axes import Axis
from mayavi.report.charts.intervals import intervals
from mayavi.report.numbers import DASH, change, short
from mayavi.report.page import Block, Chart, Column, Page, Provenance, Section, Table, Tile, Tone, Verdict
from mayavi.report.sources.kpi_differences import ROUNDING, KpiDifference, kpi_differences, rounded_only
from mayavi.report.sources.parameter_names import parameter_name, value_name
from mayavi.report.sources.parameters import differing, seeds_text
from mayavi.report.sources.sides import Side, read_sides
from mayavi.scenarios.sweep.result import BAD_DEBT, LIQUIDATED
from mayavi.sim.store import Store

FIELDS = ("scenario", "steps", "chain", "source", "world_digest", "status", "versions")
MOST_ROWS = 16
MOST_CHANGES = 2
"""Parameters that labels and the verdict name; of more, only their number."""
_WORDS = {
    "effect": "differs",
    "no_effect": "equal",
    "not_distinguishable": "not distinguishable",
    "no_interval": "no interval",
}


def compare_page(store: Store, named: Sequence[str]) -> Page:
    """Build the page that compares stored runs or sweeps; the first is the baseline."""
    sides = read_sides(store, named)
    _label_by_parameters(sides)
    base, others = sides[0], sides[1:]
    found = {side.label: kpi_differences(base, side) for side in others}
    lead = others[0]
    sections: list[Section | None] = [
        _figures(base, others, found),
        _parameters(sides),
        _facts(sides),
    ]
    labels = ", ".join(side.label for side in others)
    return Page(
        title=f"{base.label} against {labels}",
        subject=f"Comparison of {base.record.scenario}: {labels} against {base.label}, the baseline",
        verdict=_verdict(base, lead, found[lead.label]),
        tiles=_tiles(base, lead, found[lead.label]),
        summary=tuple(_summary(base, others, found)),
        hero=_hero(base, lead, found[lead.label]),
        sections=tuple(section for section in sections if section is not None),
        provenance=_provenance(sides, named),
        notes=tuple(_notes(base, others)),
    )


def _label_by_parameters(sides: Sequence[Side]) -> None:
    """Name sides by the few parameters in which they differ; their ids stay in the provenance."""
    found = differing([side.record.scenario_text for side in sides])
    if not 0 < len(found) <= MOST_CHANGES or any(len(each or "") > 24 for values in found.values() for each in values):
        return
    labels = []
    for at in range(len(sides)):
        parts = [f"{parameter_name(path)} {_written(values[at])}" for path, values in found.items()]
        labels.append(", ".join(parts))
    if len(set(labels)) == len(sides):
        for side, label in zip(sides, labels, strict=True):
            side.label = label


def _written(value: str | None) -> str:
    return "not set" if value is None else value_name(value)


def _headline(found: Sequence[KpiDifference]) -> KpiDifference | None:
    named = {each.name: each for each in found}
    for name in (BAD_DEBT, LIQUIDATED):
        if name in named:
            return named[name]
    outcomes = [each for each in found if not each.bookkeeping] or list(found)
    known = [each for each in outcomes if each.share is not None]
    return max(known, key=lambda each: abs(each.share or 0.0), default=outcomes[0] if outcomes else None)


def _verdict(base: Side, side: Side, found: Sequence[KpiDifference]) -> Verdict:
    headline = _headline(found)
    if headline is None:
        same = base.digests and base.digests == side.digests
        what = "the same rows" if same else "the same figures"
        return Verdict(f"{base.label} and {side.label} have {what}.", "EQUAL", "good")
    value = headline.value
    sentence = _sentence(base, side, headline)
    paired = headline.paired
    if paired is None or value is None:
        badge, tone = ("DIFFERENT", "plain") if value else ("EQUAL", "good")
        return Verdict(sentence, badge, tone)  # type: ignore[arg-type]
    tones: dict[str, tuple[str, Tone]] = {
        "effect": ("DIFFERENT", "plain"),
        "no_effect": ("EQUAL", "good"),
        "not_distinguishable": ("INDISTINGUISHABLE", "warn"),
        "no_interval": ("INDETERMINATE", "warn"),
    }
    badge, tone = tones[paired.verdict]
    return Verdict(sentence, badge, tone, _paired_text(headline))


def _sentence(base: Side, side: Side, headline: KpiDifference) -> str:
    """State what was changed and what it changed: `With … −45 % instead of −30 %, bad debt is $85 k instead of …`."""
    shown = headline.format
    one, other = shown.write(headline.base), shown.write(headline.other)
    several = len(base.runs) > 1 or len(side.runs) > 1
    what = f"mean {shown.title}" if several else shown.title
    by = f", a change of {change(headline.share)}" if headline.share else ""
    seeds = "one seed" if set(base.runs) == set(side.runs) else "one run each"
    known = "" if several else f" ({seeds}, no interval)"
    found = differing([base.record.scenario_text, side.record.scenario_text])
    if not found:
        return f"{what[:1].upper()}{what[1:]} is {other} in {side.label} and {one} in {base.label}{by}{known}."
    changed = [
        f"{parameter_name(path)} {_written(to)} instead of {_written(was)}"
        for path, (was, to) in list(found.items())[:MOST_CHANGES]
        if max(len(was or ""), len(to or "")) <= 40
    ]
    head = f"With {' and '.join(changed)}"
    if len(changed) < len(found):
        head = f"With {len(found):,} parameters changed{f', such as {changed[0]}' if changed else ''}"
    return f"{head}, {what} is {other} instead of {one}{by}{known}."


def _paired_text(each: KpiDifference) -> str:
    if each.paired is None:
        return ""
    low, high = each.paired.low, each.paired.high
    interval = f"[{_bound(each, low)}, {_bound(each, high)}]" if low is not None else "no interval"
    return f"{_signed(each, each.paired.value)} {interval} over {each.paired.pairs:,} pairs"


def _bound(each: KpiDifference, value: float | None) -> str:
    """Write a difference of a KPI; that of a share in percentage points."""
    if not each.points:
        return each.format.write(value)
    return DASH if value is None else f"{short(value * 100)} points"


def _signed(each: KpiDifference, value: float | None) -> str:
    text = _bound(each, value)
    return f"+{text}" if value is not None and value > 0 and not text.startswith("+") else text


def _tiles(base: Side, side: Side, found: Sequence[KpiDifference]) -> tuple[Tile, ...]:
    headline = _headline(found)
    order = sorted(
        found,
        key=lambda each: (each is not headline, each.bookkeeping, each.name != LIQUIDATED, -abs(each.share or 0.0)),
    )
    tiles = []
    for each in order[:5]:
        interval = _paired_text(each) if each.paired is not None else ""
        tiles.append(
            Tile(
                each.format.title,
                each.format.write(each.other),
                interval=interval,
                change=f"{change(each.share)} against {each.format.write(each.base)}"
                if each.share
                else f"{_signed(each, each.value)} against {each.format.write(each.base)}",
                exact=each.format.exact(each.other),
            )
        )
    return tuple(tiles)


def _summary(base: Side, others: Sequence[Side], found: dict[str, list[KpiDifference]]) -> list[str]:
    sentences = []
    for side in others:
        own = found[side.label]
        every = len({*base.kpis, *side.kpis})
        decided = [each for each in own if each.paired is not None and each.paired.verdict == "effect"]
        text = f"{side.label}: {len(own):,} of {every:,} figures differ from {base.label}"
        shared = len(set(base.runs) & set(side.runs))
        if shared > 1:
            text += f"; {len(decided):,} beyond chance, over {shared:,} seeds that both have"
        sentences.append(f"{text}.")
        if rounded := rounded_only(base, side):
            more = "figure differs" if rounded == 1 else "figures differ"
            sentences.append(f"{rounded:,} more {more} by rounding only ({ROUNDING}): that is equal here.")
        for each in sorted(decided, key=lambda each: -abs(each.share or 0.0))[:3]:
            sentences.append(f"{each.format.title} changes by {_paired_text(each)}.")
    return sentences


def _notes(base: Side, others: Sequence[Side]) -> list[str]:
    found = []
    for side in others:
        shared = set(base.runs) & set(side.runs)
        if len(base.runs) > 1 or len(side.runs) > 1:
            if not shared:
                found.append(f"{side.label} shares no seed with {base.label}: nothing is paired.")
            elif len(shared) < max(len(base.runs), len(side.runs)):
                found.append(f"{side.label}: {len(shared):,} seeds are paired; means are over all runs of a side.")
        if base.record.world_digest != side.record.world_digest:
            found.append(f"{side.label} started from another world than {base.label}.")
    return found


def _hero(base: Side, side: Side, found: Sequence[KpiDifference]) -> Chart | None:
    known = [each for each in found if each.share is not None and math.isfinite(each.share) and not each.bookkeeping]
    if not known:
        return None
    ranked = sorted(known, key=lambda each: -abs(each.share or 0.0))[:MOST_ROWS]
    rows = []
    for each in ranked:
        scale = abs(each.base or 1.0)
        low = each.paired.low / scale if each.paired is not None and each.paired.low is not None else None
        high = each.paired.high / scale if each.paired is not None and each.paired.high is not None else None
        rows.append((each.format.title, each.share, low, high))
    most = ranked[0]
    pairs = max((each.paired.pairs for each in ranked if each.paired is not None), default=0)
    how = (
        f"paired by {pairs:,} seeds, with 95 % intervals where there are any"
        if pairs
        else "single runs, which have no interval"
    )
    return intervals(
        f"{most.format.title.capitalize()} changes most: {change(most.share)}",
        f"Figures with {side.label}, change against {base.label}; {how}. The table below has shares, actions and gas",
        rows,
        Axis(f"change against {base.label}", "change"),
        reference=(0.0, base.label),
        wide=True,
    )


def _figures(base: Side, others: Sequence[Side], found: dict[str, list[KpiDifference]]) -> Section | None:
    blocks: list[Block] = []
    for side in others:
        rows: list[tuple[Any, ...]] = []
        for each in sorted(found[side.label], key=lambda each: each.bookkeeping):
            paired = each.paired
            interval = (
                f"[{_bound(each, paired.low)}, {_bound(each, paired.high)}]"
                if paired and paired.low is not None
                else None
            )
            verdict = _WORDS[paired.verdict] if paired else None
            if paired and paired.pairs_needed:
                verdict = f"{verdict}; {paired.pairs_needed:,} pairs are needed"
            value = each.value
            rows.append(
                (each.format.title, each.format.write(each.base), each.format.write(each.other),
                 None if value is None else _signed(each, value), change(each.share) if each.share else None,
                 interval, verdict)
            )  # fmt: skip
        columns: tuple[Column, ...] = (
            Column("figure"), Column(base.label, "text"), Column(side.label, "text"), Column("difference", "text"),
            Column("change", "text"), Column("95 % interval, paired", "text"), Column("verdict"),
        )  # fmt: skip
        kept = [at for at in range(len(columns)) if at < 4 or any(row[at] is not None for row in rows)]
        columns = tuple(columns[at] for at in kept)
        rows = [tuple(row[at] for at in kept) for row in rows]
        blocks.append(Table(columns, tuple(rows), title=side.label, empty="Every figure is equal."))
    return Section("figures", "Figures that differ", tuple(blocks))


def _parameters(sides: Sequence[Side]) -> Section:
    found = differing([side.record.scenario_text for side in sides])
    rows = tuple(
        (path, *(None if value is None else value[:200] for value in values)) for path, values in found.items()
    )
    columns = (Column("parameter", "code"), *(Column(side.label, "code") for side in sides))
    empty = "The scenarios are equal."
    return Section("parameters", "Parameters that differ", (Table(columns, rows, empty=empty),))


def _facts(sides: Sequence[Side]) -> Section | None:
    rows: list[tuple[Any, ...]] = [("seeds", *(seeds_text(list(side.runs)) for side in sides))]
    for name in FIELDS:
        values = [getattr(side.record, name) for side in sides]
        if name == "versions":
            keys = dict.fromkeys(key for value in values for key in value)
            rows += [(f"version of {key}", *(value.get(key) for value in values)) for key in keys]
        else:
            rows.append((name.replace("_", " "), *(str(value) for value in values)))
    different = tuple(row for row in rows if len(set(row[1:])) > 1)
    if not different:
        return None
    columns = (Column("fact"), *(Column(side.label, "code") for side in sides))
    return Section("facts", "Everything else that differs", (Table(columns, different),))


def _provenance(sides: Sequence[Side], named: Sequence[str]) -> Provenance:
    facts = []
    for side in sides:
        runs = list(side.runs.values())
        shown = ", ".join(runs[:4]) + (f" and {len(runs) - 4:,} more" if len(runs) > 4 else "")
        facts.append((side.label, f"{side.record.scenario} on {side.record.world}: {shown}"))
        facts.append((f"digest of {side.label}", side.record.digest))
    note = "The command compares the stored results again: it needs their store, and executes nothing."
    return Provenance(
        tuple(facts), f"mayavi report compare {' '.join(named)}", f"{len(sides):,} results compared", note
    )

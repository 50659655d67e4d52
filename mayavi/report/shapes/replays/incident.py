"""The page of a replayed incident: predicted against recorded, asset by asset, counterfactuals and prices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from mayavi.report.charts.axes import Axis, Xs
from mayavi.report.charts.intervals import intervals
from mayavi.report.charts.lines import Line, lines
from mayavi.report.numbers import change, percent
from mayavi.report.page import Block, Chart, Column, Page, Provenance, Section, Table, Text, Tile
from mayavi.report.run.words import plural
from mayavi.report.shapes.replays.incident_accuracy import (
    LARGE_MISS,
    accuracy_tiles,
    compared_amounts,
    points,
    verdict_of,
)
from mayavi.report.sources.quoting import quoted
from mayavi.sim.store import Store

PRICES = """
SELECT subject, list(step ORDER BY step) AS steps, list(timestamp ORDER BY step) AS times,
       list(number ORDER BY step) AS prices
FROM market_snapshots WHERE run_id = {run} AND metric = 'price' AND step >= 0
GROUP BY subject ORDER BY subject
"""
MOST_LINES = 5
_CHANGED = 1e-9
_MOST_HOURS = 96
"""Length of a run from which on charts count days."""
Document = Mapping[str, Any]


def incident_page(document: Document) -> Page:
    """Build the page of a document of `mayavi replay incident --json`.

    Prices are read from the store that the document names, if it is there.
    """
    sections: list[Section] = []
    for name, run in document["runs"].items():
        sections.append(_run_section(name, run))
    counterfactuals = [_counterfactual(document, each, at) for at, each in enumerate(document["counterfactuals"])]
    sections += counterfactuals
    if document["unpredicted"]:
        sections.append(Section("unpredicted", "Recorded, and not predicted", (_unpredicted(document),)))
    sections.append(Section("facts", "Facts and assumptions", tuple(_facts(document))))
    return Page(
        title=f"{document['name']}: {document['title']}",
        subject=f"Incident of {document['date']} on {document['protocol']}: {document['title']}",
        verdict=verdict_of(document),
        tiles=_tiles(document),
        summary=(document["summary"], *_summary(document)),
        hero=_accuracy(document),
        sections=tuple(sections),
        provenance=_provenance(document),
        notes=tuple(_notes(document)),
    )


def _tiles(document: Document) -> tuple[Tile, ...]:
    failed = sum(run["failures"]["failed"] for run in document["runs"].values())
    attempted = sum(run["failures"].get("attempted", 0) for run in document["runs"].values())
    changes = plural(len(document["counterfactuals"]), "counterfactual")
    return (
        *accuracy_tiles(document),
        Tile("failed actions", f"{failed:,}", change=f"of {attempted:,} attempted" if attempted else "none failed"),
        Tile("runs", f"{len(document['runs']):,}", change=changes),
    )


def _summary(document: Document) -> list[str]:
    found = []
    for name, run in document["runs"].items():
        exact = sum(figure["exact"] is True for figure in run["figures"])
        given = sum(bool(figure["input"]) for figure in run["figures"])
        kind = "Recorded calls replayed" if run["recorded_calls"] else "Our own market"
        text = f"{kind}, run {name}: {run['title']}, driven by {run['record']}."
        parts = [f"{number:,} {'is' if number == 1 else 'are'} {what}" for number, what in _kinds(exact, given)]
        found.append(f"{text} Of {plural(len(run['figures']), 'figure')}, {' and '.join(parts)}.")
    return found


def _kinds(exact: int, given: int) -> list[tuple[int, str]]:
    """Number of exact figures, and of inputs if there are any."""
    return [(exact, "exact"), *([(given, "an input" if given == 1 else "inputs")] if given else [])]


def _notes(document: Document) -> list[str]:
    found = []
    if any(each.size > LARGE_MISS for each in compared_amounts(document) if not each.promised):
        found.append(
            f"A prediction misses the record by more than {percent(LARGE_MISS)}: the reasons are beside the figures of"
            " its run."
        )
    for name, run in document["runs"].items():
        failures = run["failures"]
        if failures["failed"]:
            told = f"Run {name}: {failures['failed']:,} of {failures['attempted']:,} actions failed"
            found.append(f"{told}{_commonest(failures)}.")
    if any(run["recorded_calls"] for run in document["runs"].values()) and document["counterfactuals"]:
        found.append(
            "Recorded liquidators do not react to a change: they repeat their calls, and nobody else liquidates."
        )
    return found


def _commonest(failures: Mapping[str, Any]) -> str:
    """The commonest reason of failures with its count; amounts in what was tried do not tell reasons apart."""
    reasons = Counter[str]()
    for each in failures.get("reasons", ()):
        first = (each["reason"].strip().splitlines() or [""])[0]
        reasons[first.rpartition(" reverted: ")[2].partition(": ")[0]] += each["count"]
    if not reasons:
        return ""
    ((reason, times),) = reasons.most_common(1)
    return f", {'all' if len(reasons) == 1 else f'{times:,}'} of them by: {reason.rstrip('.')}"


def _accuracy(document: Document) -> Chart | None:
    amounts = [each for each in compared_amounts(document) if each.share is not None]
    if not amounts:
        return None
    several = len(document["runs"]) > 1
    rows: list[tuple[str, float | None, float | None, float | None]] = []
    for each in amounts:
        label = f"{each.asset}: {' = '.join(each.names)}"
        rows.append((f"{each.run}: {label}" if several else label, each.share, None, None))
    most = max(amounts, key=lambda each: each.size)
    equal = sum(not each.share for each in amounts)
    title = f"{equal:,} of {plural(len(rows), 'figure')} equal{'s' if equal == 1 else ''} the record"
    if most.share:
        where = f"{most.label} of run {most.run}" if several else most.label
        title += f"; the largest miss is {where}: {most.miss()}"
    return intervals(
        title,
        "Simulated less recorded, as a share of the recorded figure (of percentages in points); inputs are left out",
        rows,
        Axis("difference from the record", "change"),
        reference=(0.0, "recorded"),
        wide=True,
    )


def _run_section(name: str, run: Mapping[str, Any]) -> Section:
    rows = tuple(
        (
            figure["asset"], figure["name"], _amount(figure["recorded"], figure["unit"]),
            _amount(figure["simulated"], figure["unit"]), _amount(figure["difference"], figure["unit"], sign=True),
            _share(figure), _kept(figure), figure["source"],
        )
        for figure in run["figures"]
    )  # fmt: skip
    columns = (
        Column("asset"), Column("figure"), Column("recorded", "text"), Column("simulated", "text"),
        Column("difference", "text"), Column("share", "text"), Column("verdict"), Column("source"),
    )  # fmt: skip
    blocks: list[Block] = []
    if (chart := _prices(run)) is not None:
        blocks.append(chart)
    blocks.append(Table(columns, rows, title="Recorded against simulated", command=f"mayavi report {run['run_id']}"))
    reasons = [
        f"{figure['asset']}, {figure['name']}: {figure['why']}"
        for figure in run["figures"]
        if figure["why"] and figure["difference"] is not None and Decimal(figure["difference"])
    ]
    if reasons:
        blocks += [Text(("Why figures differ:",)), Text(tuple(reasons), bullets=True)]
    return Section(f"run-{name}", f"{name}: {run['title']}", tuple(blocks), lead=f"Driven by {run['record']}.")


def _share(figure: Mapping[str, Any]) -> str | None:
    """Difference as a share of the recorded figure; None of percentages and of a recorded zero."""
    if figure["difference"] is None or figure["unit"] == "%":
        return None
    difference, recorded = Decimal(figure["difference"]), Decimal(figure["recorded"])
    if not recorded:
        return change(0.0) if not difference else None
    return change(float(difference / abs(recorded)))


def _kept(figure: Mapping[str, Any]) -> str:
    if figure["exact"] is False:
        return "DIFFERS"
    if figure["input"]:
        return "input"
    if figure["exact"]:
        return "exact" if not Decimal(figure["difference"]) else f"within {figure['within']}"
    return "prediction"


def _prices(run: Mapping[str, Any]) -> Chart | None:
    """Draw the prices of a run as changes since its beginning: those that move most; None without the store."""
    path = Path(run["store"])
    if not path.exists():
        return None
    rows = Store(path).sql(PRICES.format(run=quoted(run["run_id"]))).records()
    moved = [
        (max(abs(price / row["prices"][0] - 1) for price in row["prices"]), row)
        for row in rows
        if len(row["prices"]) > 1 and row["prices"][0]
    ]
    kept = [row for size, row in sorted(moved, key=lambda each: (-each[0], each[1]["subject"])) if size > _CHANGED]
    if not kept:
        return None
    first = kept[0]
    same = [row for row in kept if row["steps"] == first["steps"]][:MOST_LINES]
    moves = [price / first["prices"][0] - 1 for price in first["prices"]]
    far, end = max(moves, key=abs), moves[-1]
    title = f"{first['subject']} moves most: {change(end)} at the end"
    if abs(far) > abs(end) + _CHANGED:
        extreme = f"{change(far)} at its {'peak' if far > 0 else 'lowest'}"
        title = f"{first['subject']} moves most: {extreme}, {change(end)} at the end"
    return lines(
        title,
        f"Prices of the run since its beginning; {len(same)} of {len(rows):,} series, those that move most",
        _elapsed(first["times"]),
        [Line(row["subject"], [price / row["prices"][0] - 1 for price in row["prices"]], step=True) for row in same],
        Axis("change since the beginning", "change"),
        source=f"run {run['run_id']}; the clock of the simulated chain is not that of the incident",
        wide=True,
    )


def _elapsed(times: Sequence[int]) -> Xs:
    """Time since the beginning: the simulated chain has its own calendar, on which the incident did not happen."""
    seconds = [time - times[0] for time in times]
    unit, length = ("days", 86_400) if seconds[-1] > _MOST_HOURS * 3_600 else ("hours", 3_600)
    return Xs([round(each / length, 4) for each in seconds], f"{unit} since the beginning of the run", "number")


def _counterfactual(document: Document, each: Mapping[str, Any], at: int) -> Section:
    blocks: list[Block] = []
    for name, effects in each["effects"].items():
        units = [figure["unit"] for figure in document["runs"][name]["figures"]]
        rows: list[tuple[str, float | None, float | None, float | None]] = []
        table, in_points = [], []
        for effect, unit in zip(effects, units, strict=True):
            base, moved = effect["simulated"], effect["effect"]
            share = float(Decimal(moved) / abs(Decimal(base))) if base and moved and Decimal(base) else None
            if unit == "%" and moved is not None:
                share = float(Decimal(moved))
            if share is not None:
                rows.append((f"{effect['asset']}: {effect['name']}", share, None, None))
                in_points.append(unit == "%")
            cells = [effect["asset"], effect["name"], _amount(base, unit), _amount(effect["changed"], unit)]
            cells += [_amount(moved, unit, sign=True), change(share) if unit != "%" else None]
            if "interaction" in effect:
                cells.append(_amount(effect["interaction"], unit, sign=True))
            table.append(tuple(cells))
        if rows:
            at_most = max(range(len(rows)), key=lambda place: abs(rows[place][1] or 0.0))
            most = rows[at_most]
            size = points(most[1] or 0.0) if in_points[at_most] else change(most[1])
            title = f"{each['change']} changes nothing here" if not most[1] else f"{most[0]} changes most: {size}"
            about = (
                f"Effect on run {name}: changed less simulated, as a share of the simulated figure (of percentages in"
                " points)"
            )
            blocks.append(intervals(title, about, rows, Axis("effect", "change"), reference=(0.0, "as it was")))
        columns = [
            Column("asset"),
            Column("figure"),
            *(Column(label, "text") for label in ("simulated", "changed", "effect", "share")),
        ]
        if effects and "interaction" in effects[0]:
            columns.append(Column("interaction", "text"))
        command = f"mayavi report {each['run_ids'][name]}" if name in each["run_ids"] else ""
        blocks.append(Table(tuple(columns), tuple(table), title=f"Run {name}", command=command))
    return Section(f"counterfactual-{at}", f"What if {each['change']}?", tuple(blocks))


def _unpredicted(document: Document) -> Table:
    rows = tuple((each["what"], each["recorded"], each["why"], each["source"]) for each in document["unpredicted"])
    return Table((Column("what"), Column("recorded"), Column("why it is not predicted"), Column("source")), rows)


def _facts(document: Document) -> list[Block]:
    rows = tuple((each["what"], each["value"], each["source"]) for each in document["facts"])
    found: list[Block] = [Table((Column("fact"), Column("value"), Column("source")), rows, title="Recorded facts")]
    if document["assumptions"]:
        found.append(Text(("What the record does not say, and the replay assumes:",)))
        found.append(Text(tuple(document["assumptions"]), bullets=True))
    return found


def _amount(value: str | None, unit: str, *, sign: bool = False) -> str | None:
    """Format a decimal text: `63,605,103.12 USDC`, `−10.3 %`; None where there is none."""
    if value is None:
        return None
    number = Decimal(value) * (100 if unit == "%" else 1)
    size = abs(number)
    places = 0 if number == number.to_integral_value() else 2 if size >= 100 or unit == "%" else 6
    text = f"{size:,.{places}f}"
    if number and not any(digit in text for digit in "123456789"):
        text = f"{size:.1e}"
    minus = "−" if number < 0 else "+" if sign and number > 0 else ""
    tail = "points" if unit == "%" and sign else unit
    return f"{minus}{text} {tail}".strip()


def _provenance(document: Document) -> Provenance:
    facts = [("incident", document["name"]), ("seed", str(document["seed"]))]
    for name, run in document["runs"].items():
        facts += [(f"run {name}", run["run_id"]), (f"digest of {name}", run["digest"])]
    for each in document["counterfactuals"]:
        facts += [(f"run {name}, {each['change']}", run_id) for name, run_id in each["run_ids"].items()]
    changes = [each["change"] for each in document["counterfactuals"] if each["change"] != "all together"]
    command = " ".join(
        [f"mayavi replay incident {document['name']}", *(f"--counterfactual {text}" for text in changes)]
    )
    if str(document["seed"]) != "0":
        command += f" --seed {document['seed']}"
    return Provenance(tuple(facts), command, f"seed {document['seed']} · {document['date']} · {document['protocol']}")

"""The page of a replayed incident: predicted against recorded, asset by asset, counterfactuals and prices."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from mayavi.report.charts.axes import Axis, Xs
from mayavi.report.charts.intervals import intervals
from mayavi.report.charts.lines import Line, lines
from mayavi.report.numbers import change, percent
from mayavi.report.page import Block, Chart, Column, Page, Provenance, Section, Table, Text, Tile, Verdict
from mayavi.report.sources.quoting import quoted
from mayavi.sim.store import Store

PRICES = """
SELECT subject, list(step ORDER BY step) AS steps, list(block_number ORDER BY step) AS blocks,
       list(timestamp ORDER BY step) AS times, list(number ORDER BY step) AS prices
FROM market_snapshots WHERE run_id = {run} AND metric = 'price' GROUP BY subject ORDER BY subject
"""
MOST_LINES = 5
_CHANGED = 1e-9
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
        verdict=_verdict(document),
        tiles=_tiles(document),
        summary=(document["summary"], *_summary(document)),
        hero=_accuracy(document),
        sections=tuple(sections),
        provenance=_provenance(document),
        notes=tuple(_notes(document)),
    )


def _figures(document: Document) -> list[tuple[str, Mapping[str, Any]]]:
    return [(name, figure) for name, run in document["runs"].items() for figure in run["figures"]]


def _share(figure: Mapping[str, Any]) -> float | None:
    """Difference as a share of the recorded figure; that of percentages in points; None where there is none."""
    if figure["difference"] is None:
        return None
    difference, recorded = Decimal(figure["difference"]), Decimal(figure["recorded"])
    if figure["unit"] == "%":
        return float(difference)
    if not recorded:
        return 0.0 if not difference else None
    return float(difference / abs(recorded))


def _verdict(document: Document) -> Verdict:
    promised = [figure for _, figure in _figures(document) if figure["within"] is not None and not figure["input"]]
    kept = [figure for figure in promised if figure["exact"]]
    if not document["exact"]:
        wrong = next(figure for _, figure in _figures(document) if figure["exact"] is False)
        recorded, simulated = (_amount(wrong[key], wrong["unit"]) for key in ("recorded", "simulated"))
        sentence = f"The replay does not reproduce {wrong['asset']}, {wrong['name']}: recorded {recorded}, "
        sentence += f"simulated {simulated}."
        return Verdict(sentence, "FAIL", "bad")
    if promised:
        sentence = f"The replay reproduces all {len(kept):,} figures that it promises exactly"
    else:
        sentence = "The replay promises no exact figure: its figures are predictions"
    predicted = [_share(figure) for _, figure in _figures(document) if not figure["input"] and figure["within"] is None]
    known = [abs(share) for share in predicted if share is not None]
    if known:
        sentence += (
            f"; {len(known):,} predictions miss the record by {percent(sorted(known)[len(known) // 2])} at the median"
        )
    return Verdict(f"{sentence}.", "PASS" if promised else "INDETERMINATE", "good" if promised else "warn")


def _tiles(document: Document) -> tuple[Tile, ...]:
    figures = [figure for _, figure in _figures(document)]
    promised = [figure for figure in figures if figure["within"] is not None and not figure["input"]]
    exact = sum(bool(figure["exact"]) for figure in promised)
    predictions = [figure for figure in figures if figure["within"] is None and not figure["input"]]
    shares = sorted(abs(share) for share in map(_share, predictions) if share is not None)
    failed = sum(run["failures"]["failed"] for run in document["runs"].values())
    attempted = sum(run["failures"].get("attempted", 0) for run in document["runs"].values())
    found = [
        Tile(
            "exact figures",
            f"{exact:,}",
            change=f"of {len(promised):,} promised",
            tone="good" if exact == len(promised) else "bad",
        )
    ]
    if shares:
        found.append(Tile("median miss", percent(shares[len(shares) // 2]), change=f"of {len(shares):,} predictions"))
        found.append(Tile("largest miss", percent(shares[-1]), change="of the recorded figure"))
    found.append(
        Tile("failed actions", f"{failed:,}", change=f"of {attempted:,} attempted" if attempted else "none failed")
    )
    found.append(
        Tile("runs", f"{len(document['runs']):,}", change=f"{len(document['counterfactuals']):,} counterfactuals")
    )
    return tuple(found)


def _summary(document: Document) -> list[str]:
    found = []
    for name, run in document["runs"].items():
        exact = sum(figure["exact"] is True for figure in run["figures"])
        given = sum(bool(figure["input"]) for figure in run["figures"])
        text = f"{name}: {run['title']}, driven by {run['record']}. {exact:,} figures are exact"
        found.append(f"{text}, {given:,} are inputs." if given else f"{text}.")
    return found


def _notes(document: Document) -> list[str]:
    found = []
    for name, run in document["runs"].items():
        failures = run["failures"]
        if failures["failed"]:
            reason = failures["reasons"][0]["reason"] if failures.get("reasons") else ""
            first = (reason.strip().splitlines() or [""])[0]
            found.append(f"{name}: {failures['failed']:,} of {failures['attempted']:,} actions failed: {first}")
    if any(run["recorded_calls"] for run in document["runs"].values()) and document["counterfactuals"]:
        found.append(
            "Recorded liquidators do not react to a change: they repeat their calls, and nobody else liquidates."
        )
    return found


def _accuracy(document: Document) -> Chart | None:
    rows: list[tuple[str, float | None, float | None, float | None]] = []
    for name, figure in _figures(document):
        share = None if figure["input"] else _share(figure)
        if share is not None:
            label = f"{figure['asset']}: {figure['name']}"
            rows.append((f"{name}: {label}" if len(document["runs"]) > 1 else label, share, None, None))
    if not rows:
        return None
    most = max(rows, key=lambda row: abs(row[1] or 0.0))
    exact = sum(not row[1] for row in rows)
    title = f"All {len(rows):,} figures equal the record"
    if most[1]:
        title = f"{exact:,} of {len(rows):,} figures equal the record; the largest miss is {change(most[1])}"
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
            None if figure["unit"] == "%" else change(_share(figure)), _kept(figure), figure["source"],
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
    end = first["prices"][-1] / first["prices"][0] - 1
    return lines(
        f"{first['subject']} moves most: {change(end)} at the end",
        f"Prices of the run since its beginning; {len(same)} of {len(rows):,} series, those that move most",
        Xs(first["times"], time=True, steps=first["steps"], blocks=first["blocks"]),
        [Line(row["subject"], [price / row["prices"][0] - 1 for price in row["prices"]], step=True) for row in same],
        Axis("change since the beginning", "change"),
        source=f"run {run['run_id']}",
        wide=True,
    )


def _counterfactual(document: Document, each: Mapping[str, Any], at: int) -> Section:
    blocks: list[Block] = []
    for name, effects in each["effects"].items():
        units = [figure["unit"] for figure in document["runs"][name]["figures"]]
        rows: list[tuple[str, float | None, float | None, float | None]] = []
        table = []
        for effect, unit in zip(effects, units, strict=True):
            base, moved = effect["simulated"], effect["effect"]
            share = float(Decimal(moved) / abs(Decimal(base))) if base and moved and Decimal(base) else None
            if unit == "%" and moved is not None:
                share = float(Decimal(moved))
            if share is not None:
                rows.append((f"{effect['asset']}: {effect['name']}", share, None, None))
            cells = [effect["asset"], effect["name"], _amount(base, unit), _amount(effect["changed"], unit)]
            cells += [_amount(moved, unit, sign=True), change(share) if unit != "%" else None]
            if "interaction" in effect:
                cells.append(_amount(effect["interaction"], unit, sign=True))
            table.append(tuple(cells))
        if rows:
            most = max(rows, key=lambda row: abs(row[1] or 0.0))
            title = (
                f"{each['change']} changes nothing here"
                if not most[1]
                else f"{most[0]} changes most: {change(most[1])}"
            )
            about = f"Effect on run {name}: changed less simulated, as a share of the simulated figure"
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

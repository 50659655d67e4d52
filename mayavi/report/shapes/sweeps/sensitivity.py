"""The effects of assumptions on a figure: a tornado of paired differences with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mayavi.report.charts.axes import Axis
from mayavi.report.charts.intervals import intervals
from mayavi.report.figure_formats import FigureFormat, figure_format
from mayavi.report.page import Chart, Column, Section, Table, Text, Verdict

MOST_MOVES = 24
"""Moves that the chart shows; the table has all."""
_WORDS = {
    "effect": "effect",
    "no_effect": "no effect",
    "not_distinguishable": "not distinguishable from zero",
    "no_interval": "no interval",
}


def tornado(found: Mapping[str, Any]) -> Chart:
    """Draw the paired difference of every move, the assumption with the largest effect on top."""
    shown = figure_format(found["figure"], found["unit"], found["chain"])
    rows = []
    for effect in found["assumptions"]:
        for move in effect["moves"]:
            each = move["difference"]
            label = f"{effect['assumption']}: {effect['base']} → {move['value']}"
            rows.append((label, shown.value(each["value"]), shown.value(each["low"]), shown.value(each["high"])))
    seeds = len(found["seeds"])
    base = shown.write(found["base"]["mean"])
    return intervals(
        headline(found, shown),
        f"Paired difference of the mean {shown.title} to the base of {base}, with 95 % intervals; {seeds:,} seeds",
        rows[:MOST_MOVES],
        Axis(f"change of the mean {shown.title}", shown.format),
        reference=(0.0, "base"),
        source=f"sweep {found['sweep_id']}",
        wide=True,
    )


def headline(found: Mapping[str, Any], shown: FigureFormat) -> str:
    """State which assumption decides, if one does."""
    for effect in found["assumptions"]:
        moved = [move for move in effect["moves"] if move["difference"]["verdict"] == "effect"]
        if moved:
            most = max(moved, key=lambda move: abs(move["difference"]["value"]))
            by = most["difference"]["value"]
            words = "raises" if by > 0 else "lowers"
            change = shown.write(abs(by)).lstrip("+")
            return f"{effect['assumption']} decides most: {most['value']} {words} mean {shown.title} by {change}"
    return f"No assumption moves the mean {shown.title} by more than chance explains"


def sensitivity_verdict(found: Mapping[str, Any]) -> Verdict:
    """State the largest effect as the verdict of a page."""
    shown = figure_format(found["figure"], found["unit"], found["chain"])
    sentence = headline(found, shown)
    decided = not sentence.startswith("No assumption")
    moves = [move["difference"] for effect in found["assumptions"] for move in effect["moves"]]
    known = [each for each in moves if each["verdict"] == "effect"]
    interval = ""
    if known:
        most = max(known, key=lambda each: abs(each["value"]))
        bounds = f"[{shown.write(most['low'])}, {shown.write(most['high'])}], 95 % interval"
        interval = f"change of mean {shown.title} {shown.write(most['value'])} {bounds}, {most['pairs']:,} paired seeds"
    return Verdict(f"{sentence}.", "DECISIVE" if decided else "INDETERMINATE", "plain" if decided else "warn", interval)


def sensitivity_section(found: Mapping[str, Any]) -> Section:
    """The tornado with its table and what was left out."""
    shown = figure_format(found["figure"], found["unit"], found["chain"])
    exact = shown.exact_format
    rows = []
    for effect in found["assumptions"]:
        for move in effect["moves"]:
            each = move["difference"]
            verdict = _WORDS.get(each["verdict"], each["verdict"])
            if each.get("pairs_needed"):
                verdict += f"; {each['pairs_needed']:,} seeds are needed"
            numbers = (shown.value(move["mean"]), *(shown.value(each[key]) for key in ("value", "low", "high")))
            rows.append((effect["assumption"], effect["base"], move["value"], *numbers, each["pairs"], verdict))
    columns = (
        Column("assumption", "code"), Column("base"), Column("moved to"), Column(f"mean {shown.title}", exact),
        Column("difference", exact), Column("low", exact), Column("high", exact), Column("pairs", "count"),
        Column("verdict"),
    )  # fmt: skip
    left_out = [
        f"{each['assumption']}{'=' + each['value'] if each.get('value') else ''}: {each['reason']}"
        for each in found.get("skipped", ())
    ]
    blocks: list[Any] = [tornado(found), Table(columns, tuple(rows), title="All moves")]
    if left_out:
        blocks += [Text(("Not moved:",)), Text(tuple(left_out), bullets=True)]
    return Section("sensitivity", "Which assumption decides", tuple(blocks))

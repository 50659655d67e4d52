"""Verdict, tiles and summary of a sweep: value at risk, expected shortfall, probability of loss, with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mayavi.report.figure_formats import FigureFormat, figure_format, interval_text, worst_is_low
from mayavi.report.numbers import percent
from mayavi.report.page import Tile, Tone, Verdict
from mayavi.report.shapes.sweeps.worst import worst_words
from mayavi.report.sources.sweep import SweepData, SweepPoint
from mayavi.scenarios.sweep.result import BAD_DEBT, LIQUIDATED
from mayavi.statistics.estimate import Estimate
from mayavi.statistics.quantiles import AT_RISK

QUANTILE = (
    "SELECT quantile_cont(number, {share}) FROM kpis JOIN runs USING (run_id)"
    " WHERE sweep_id = '{sweep}' AND status = 'finished' AND name = '{name}'"
)
SHORTFALL = "expected shortfall of bad debt, 95\u00a0%"


@dataclass(frozen=True, slots=True)
class RiskFigure:
    """One estimate of a point: its short name, what it is, and how it is written."""

    short: str
    what: str
    estimate: Estimate
    format: FigureFormat
    query: str = ""


def at_risk_name(name: str) -> str:
    """Name of the quantile in the bad tail: VaR of bad debt, LaR of liquidated value, else p95 or p5."""
    return {BAD_DEBT: "VaR 95\u00a0%", LIQUIDATED: "LaR 95\u00a0%"}.get(name, "p5" if worst_is_low(name) else "p95")


def at_risk(point: SweepPoint, name: str) -> Estimate:
    """The quantile in the bad tail of a KPI."""
    found = point.summary.figures[name]
    return found.p5 if worst_is_low(name) else found.p95


def format_in(data: SweepData, name: str) -> FigureFormat:
    """The format of a KPI of the sweep."""
    for point in data.points:
        if name in point.kpis:
            return figure_format(name, point.kpis[name].unit, data.chain)
    return figure_format(name, "", data.chain)


def risk_figures(data: SweepData, point: SweepPoint) -> Iterator[RiskFigure]:
    """Yield the headline estimates of a point."""
    figures, sweep = point.summary.figures, data.record.sweep_id
    alone = len(data.points) == 1
    every = "over all runs" if alone else "over its runs"

    def query(text: str) -> str:
        return text if alone else ""

    if BAD_DEBT in figures:
        loss, shown = figures[BAD_DEBT], format_in(data, BAD_DEBT)
        where = f"WHERE sweep_id = '{sweep}' AND status = 'finished' AND name = '{BAD_DEBT}'"
        share = f"SELECT avg(CAST(number > 0 AS DOUBLE)) FROM kpis JOIN runs USING (run_id) {where}"
        mean = f"SELECT avg(number) FROM kpis JOIN runs USING (run_id) {where}"
        quantile = QUANTILE.format(share=0.95, sweep=sweep, name=BAD_DEBT)
        level = "95 % of the runs leave less bad debt"
        yield RiskFigure(f"{at_risk_name(BAD_DEBT)} of bad debt", level, loss.p95, shown, query(quantile))
        yield RiskFigure(SHORTFALL, f"bad debt of {_tail_runs(loss.count)}", loss.expected_shortfall, shown)
        yield RiskFigure(
            "probability of bad debt", "share of runs that leave any", loss.probability_above_zero,
            FigureFormat("p", "percent"), query(share),
        )  # fmt: skip
        yield RiskFigure("mean bad debt", every, loss.mean, shown, query(mean))
    elif data.headline is not None and data.headline in figures:
        name = data.headline
        found, shown = figures[name], format_in(data, name)
        tail = 0.05 if worst_is_low(name) else 0.95
        mean = (
            "SELECT avg(number) FROM kpis JOIN runs USING (run_id)"
            f" WHERE sweep_id = '{sweep}' AND status = 'finished' AND name = '{name}'"
        )
        yield RiskFigure(f"mean {shown.title}", every, found.mean, shown, query(mean))
        yield RiskFigure(
            "median", shown.title, found.p50, shown, query(QUANTILE.format(share=0.5, sweep=sweep, name=name))
        )
        what = f"{tail * 100:g} % quantile, the bad end"
        yield RiskFigure(
            f"{at_risk_name(name)} of {shown.title}", what, at_risk(point, name), shown,
            query(QUANTILE.format(share=tail, sweep=sweep, name=name)),
        )  # fmt: skip
    if LIQUIDATED in figures:
        quantile = QUANTILE.format(share=0.95, sweep=sweep, name=LIQUIDATED)
        label, what = f"{at_risk_name(LIQUIDATED)} of liquidated value", "95 % of the runs liquidate less"
        yield RiskFigure(label, what, figures[LIQUIDATED].p95, format_in(data, LIQUIDATED), query(quantile))


def _tail_runs(count: int) -> str:
    """Name the runs that the expected shortfall rests on: `the one worst of 20 runs`."""
    runs = math.ceil(round(count * (1 - AT_RISK), 9))
    return f"the one worst of {count:,} runs" if runs == 1 else f"the worst 5 %, {runs:,} of {count:,} runs"


def tiles(data: SweepData) -> tuple[Tile, ...]:
    """Tiles of the only point, or of the worst point of the grid, which each of them names with its runs."""
    if not data.with_runs:
        return ()
    worst, _ = extremes(data)
    found = []
    for each in risk_figures(data, worst):
        where = f"at {data.values_of(worst)}, {len(worst.run_ids):,} runs"
        found.append(
            Tile(
                each.short,
                each.format.write(each.estimate.value),
                interval=each.format.interval(each.estimate),
                change=f"{each.what}; {where}" if len(data.with_runs) > 1 else each.what,
                exact=each.format.exact(each.estimate.value),
                source=each.query,
            )
        )
    source = f"SELECT count(*) FROM runs WHERE sweep_id = '{data.record.sweep_id}' AND status = 'finished'"
    missing = data.planned - data.finished
    change = f"{missing:,} of {data.planned:,} missing" if missing > 0 else "all that were planned"
    found.append(
        Tile(
            "runs of all points" if len(data.points) > 1 else "runs",
            f"{data.finished:,}",
            change=change,
            source=source,
            tone="warn" if missing > 0 else "plain",
        )
    )
    return tuple(found[:6])


def extremes(data: SweepData) -> tuple[SweepPoint, SweepPoint]:
    """The worst and the best point by the tail of the headline KPI; the same point without a grid."""
    name = data.headline
    points = [point for point in data.with_runs if name in point.summary.figures]
    if not points or name is None:
        return data.with_runs[0], data.with_runs[0]

    def badness(point: SweepPoint) -> float:
        tail = at_risk(point, name).value
        return -tail if worst_is_low(name) else tail

    return max(points, key=badness), min(points, key=badness)


def verdict(data: SweepData) -> Verdict:
    """State the risk in one sentence."""
    name = data.headline
    if name is None:
        done = f"{len(data.failed):,} ended early" if data.failed else "none has ended"
        return Verdict(f"No run of this sweep has finished: {done} of {data.planned:,} planned.", "NO RUNS", "warn")
    shown, (worst, best) = format_in(data, name), extremes(data)
    found = at_risk(worst, name)
    if worst is not best:
        return _grid_verdict(data, name, worst, best)
    interval = _interval_line(shown, found, f"{at_risk_name(name)} of {shown.title}")
    count = worst.summary.figures[name].count
    if count == 1:
        sentence = f"The one finished run has a {shown.title} of {shown.write(found.value)}: too few for any claim."
        return Verdict(sentence, "INDETERMINATE", "warn")
    if name == BAD_DEBT:
        loss = worst.summary.figures[name]
        if not loss.maximum:
            most = percent(loss.probability_above_zero.high)
            sentence = f"None of {count:,} runs left bad debt: the probability of a loss is at most {most}."
            return Verdict(sentence, "NO LOSS", "good", interval_text(loss.probability_above_zero, percent))
        sentence = f"In 95 % of all cases bad debt stays below {shown.write(found.value)}"
        sentence += f"; {percent(loss.probability_above_zero.value)} of {count:,} runs leave any."
        if not found.complete:
            sentence += f" {_too_few(found, at_risk_name(name), count)}"
        return Verdict(sentence, *_badge(worst, name), interval)
    mean = worst.summary.figures[name].mean
    sentence = f"The mean {shown.title} is {shown.write(mean.value)} over {count:,} runs."
    return Verdict(sentence, *_badge(worst, name), _interval_line(shown, mean, "mean"))


def _grid_verdict(data: SweepData, name: str, worst: SweepPoint, best: SweepPoint) -> Verdict:
    """State the range over a grid, what is worst beyond chance, and why no badge is given if none is."""
    shown, found, title = format_in(data, name), at_risk(worst, name), at_risk_name(name)
    first, last = (shown.write(at_risk(each, name).value) for each in (best, worst))
    count = worst.summary.figures[name].count
    sentence = f"{title} of {shown.title} ranges from {first} to {last} over {len(data.with_runs):,} combinations. "
    sentence += f"{worst_words(data, name, worst)}"
    if first == last:
        sentence = f"{title} of {shown.title} is {first} at all {len(data.with_runs):,} combinations."
    badge, tone = _badge(worst, name)
    if badge == "INDETERMINATE":
        sentence += f" {_too_few(found, title, count)}"
    what = f"{title} of {shown.title} at {data.name_of(worst)}, {count:,} runs:"
    return Verdict(sentence, badge, tone, _interval_line(shown, found, what))


def _too_few(found: Estimate, title: str, count: int) -> str:
    """Explain an estimate without an interval: `20 runs give no upper bound on VaR (59 are needed).`."""
    bound = "upper bound on" if found.high is None and found.low is not None else "interval of"
    needed = f" ({found.runs_needed:,} are needed)" if found.runs_needed else ""
    return f"{count:,} runs give no {bound} {title}{needed}."


def _interval_line(shown: FigureFormat, found: Estimate, what: str) -> str:
    """Write an estimate with its interval, or what is known of it: `VaR $12 k [$10 k, $15 k], 95 % interval`."""
    text = f"{what} {shown.write(found.value)}"
    if found.complete:
        return f"{text} {shown.interval(found)}, 95 % interval"
    bound = "" if found.low is None and found.high is None else f", {shown.interval(found)} with 95 % confidence"
    return f"{text}{bound}; {found.missing()}"


def _badge(point: SweepPoint, name: str) -> tuple[str, Tone]:
    found = point.summary.figures[name]
    if name == BAD_DEBT:
        if not found.maximum:
            return "NO LOSS", "good"
        return ("LOSS", "bad") if found.p95.complete else ("INDETERMINATE", "warn")
    return ("ESTIMATE", "plain") if found.mean.complete else ("INDETERMINATE", "warn")


def missing_evidence(data: SweepData) -> list[str]:
    """Say which intervals are withheld, at which points, and how many runs they take."""
    found: dict[tuple[str, str, int], list[str]] = {}
    for point in data.with_runs:
        for each in risk_figures(data, point):
            if text := each.estimate.missing():
                count = next(iter(point.summary.figures.values())).count
                short = each.short[:1].upper() + each.short[1:]
                found.setdefault((short, text, count), []).append(data.values_of(point))
    notes = []
    for (short, text, count), places in found.items():
        where = "" if len(places) == len(data.with_runs) else f" at {_listed(places)}"
        notes.append(f"{short}{where}: {text}, and there are {count:,} runs{' a point' if data.axes else ''}.")
    return notes


def _listed(places: Sequence[str], most: int = 4) -> str:
    shown = [f"({each})" if " · " in each else each for each in places[:most]]
    return ", ".join(shown) + (f" and {len(places) - most:,} other points" if len(places) > most else "")

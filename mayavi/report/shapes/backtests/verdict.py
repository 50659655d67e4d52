"""What a backtest found: verdict, tiles and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mayavi.portfolio.backtest.backtest import BOUND
from mayavi.portfolio.backtest.formatting import TITLES, figure
from mayavi.report.numbers import change, percent, written_numbers
from mayavi.report.page import Tile, Verdict
from mayavi.report.run.words import plural
from mayavi.report.shapes.backtests.lead import (
    JUDGED,
    amount_text,
    comparison_of,
    field_of,
    interval_text,
    is_drawn,
    rival_of,
    rivals_of,
    verdict_word,
)
from mayavi.report.shapes.learning.comparisons import TONES

_TILES = ("total_return", "sharpe", "max_drawdown", "volatility", "cost")


def verdict_on(document: Mapping[str, Any], lead: str) -> Verdict:
    """Return the verdict on the lead against its rival."""
    found = comparison_of(document, lead)
    if found is None:
        return Verdict("There is one portfolio, and nothing to compare it with.", "NO CLAIM", "warn")
    each, forward = found
    word, rival = verdict_word(document, lead), rival_of(document, lead)
    kind = ", the strongest rule," if rivals_of(document, lead)[0] == rival else ""
    many = f"{document['market']['episodes']:,} {'markets' if is_drawn(document) else 'windows'}"
    number, what = field_of(document)
    who = f"{lead}, the fastest growing of {number:,} {what}," if number > 1 else lead
    sentence = {
        "better": f"{who} grows faster than {rival}{kind} on the same {many}",
        "worse": f"{who} grows slower than {rival}{kind} on the same {many}",
        "indistinguishable": f"On {many}, {who} cannot be told apart from {rival}{kind.rstrip(',')}",
        "saturated": f"No claim about {who.rstrip(',')}: too few independent {many.split(' ', 1)[1]}",
    }[word]
    difference = each["difference"]
    sign = 1 if forward else -1
    ends = sorted(sign * end for end in (difference["low"], difference["high"]) if end is not None)
    interval = f"[{figure(JUDGED, ends[0])}, {figure(JUDGED, ends[1])}]" if len(ends) == 2 else "no interval"
    value = f"Paired difference of log growth: {figure(JUDGED, sign * difference['value'])}"
    return Verdict(f"{sentence}.", word, TONES[word], f"{value} {interval}")


def tiles_of(document: Mapping[str, Any], lead: str) -> tuple[Tile, ...]:
    """Return the tiles of the lead, beside its rival."""
    metrics, rival = document["strategies"][lead]["metrics"], rival_of(document, lead)
    found = []
    for metric in _TILES:
        other = document["strategies"][rival]["metrics"][metric]["value"] if rival else None
        beside = [f"{rival}: {amount_text(metric, other)}"] if other is not None else []
        if metric == "cost":
            capital = document["env"]["config"]["initial_capital"]
            beside.insert(0, f"of ${capital:,.0f} invested" + ("" if is_drawn(document) else " in each window"))
        title = {"total_return": f"return of {lead}", "cost": "trading cost"}.get(metric, TITLES[metric])
        found.append(
            Tile(
                f"mean {title}" if is_drawn(document) else title,
                amount_text(metric, metrics[metric]["value"]),
                interval=interval_text(metric, metrics[metric]),
                change="; ".join(beside),
                exact=repr(metrics[metric]["value"]),
            )
        )
    return tuple(found)


def summary_of(document: Mapping[str, Any], lead: str) -> list[str]:
    """Return the summary in sentences."""
    one, drawn, found = document["strategies"][lead], is_drawn(document), []
    told = {name: figure(name, one["metrics"][name]["value"]) for name in ("total_return", "sharpe", "max_drawdown")}
    number, what = field_of(document)
    if number > 1:
        found.append(
            f"This page is about {lead} because it grew fastest of {number:,} {what} on these very episodes. It was"
            " picked after seeing the results, which flatters it."
        )
    if drawn:
        found.append(
            f"{lead} returns {told['total_return']} on average, with a mean Sharpe ratio of {told['sharpe']}. The"
            f" largest drawdown of an episode is {told['max_drawdown']} on average."
        )
    else:
        found.append(
            f"{lead} returns {told['total_return']} over the whole history, with a Sharpe ratio of {told['sharpe']} and"
            f" a largest drawdown of {told['max_drawdown']}."
        )
    episodes = "episodes" if drawn else "windows"
    found.append(
        f"It loses money in {percent(one['losing_episodes'])} of the {episodes}; the worst of them returns"
        f" {change(one['worst_episode'])}. {plural(one['stopped'], episodes[:-1])} ended early at the largest drawdown"
        " allowed."
    )
    if (compared := comparison_of(document, lead)) is not None:
        reason = written_numbers(compared[0]["reason"])
        found.append(f"{compared[0]['strategy']} against {compared[0]['against']}: {reason}.")
    bound = figure("total_return", document[BOUND]["total_return"]["value"])
    found.append(f"Nobody could have returned more than {bound}{' on average' if drawn else ''}, in hindsight.")
    return found


def notes_of(document: Mapping[str, Any]) -> list[str]:
    """Return what limits the result."""
    found = []
    if document["in_sample"]:
        found.append(
            "In sample: a policy here may have been trained on the markets it plays. Nothing on this page shows how it"
            " performs elsewhere."
        )
    found += [f"No interval: {reason}." for reason in document["no_interval"]]
    found += [f"{note[:1].upper()}{note[1:]}." for note in document["interval_notes"]]
    if document["market"].get("assumed"):
        found.append(f"Filled by a rule, for want of data: {', '.join(document['market']['assumed'])}.")
    return found

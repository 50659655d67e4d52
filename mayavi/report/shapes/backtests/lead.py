"""Which portfolio the page of a backtest is about, and which rule it is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mayavi.portfolio.backtest.formatting import figure

JUDGED = "log_growth"
"""The metric that verdicts are about."""


def growth_of(document: Mapping[str, Any], name: str) -> float:
    """Return the log growth of a portfolio."""
    return float(document["strategies"][name]["metrics"][JUDGED]["value"])


def lead_of(document: Mapping[str, Any]) -> str:
    """The portfolio that the page is about: the best policy, else the best rule, by log growth."""
    names = document["subjects"] or list(document["strategies"])
    return str(max(names, key=lambda name: growth_of(document, name)))


def comparison_of(document: Mapping[str, Any], lead: str) -> tuple[Mapping[str, Any], bool] | None:
    """The comparison of the lead with the strongest rule it is compared with, and whether the lead is its subject."""
    own = {lead, lead.partition("@")[0]}
    judged = [each for each in (*document["pooled"], *document["comparisons"]) if each["metric"] == JUDGED]
    for rival in rivals_of(document, lead):
        for each in judged:
            if each["strategy"] in own and each["against"] == rival:
                return each, True
            if each["strategy"] == rival and each["against"] in own:
                return each, False
    return None


def rivals_of(document: Mapping[str, Any], lead: str) -> list[str]:
    """Rules other than the lead, the fastest growing first."""
    rules = [name for name in document["strategies"] if name != lead and name not in document["subjects"]]
    return sorted(rules, key=lambda name: -growth_of(document, name))


def rival_of(document: Mapping[str, Any], lead: str) -> str | None:
    """The rule that the verdict compares the lead with."""
    found = comparison_of(document, lead)
    if found is None:
        return None
    each, forward = found
    return str(each["against"] if forward else each["strategy"])


def verdict_word(document: Mapping[str, Any], lead: str) -> str:
    """The verdict on the lead; empty without a comparison."""
    found = comparison_of(document, lead)
    if found is None:
        return ""
    word = str(found[0]["verdict"])
    return word if found[1] else {"better": "worse", "worse": "better"}.get(word, word)


def field_of(document: Mapping[str, Any]) -> tuple[int, str]:
    """Number and kind of the portfolios that the lead was picked from."""
    subjects = document["subjects"]
    return (len(subjects), "policies") if subjects else (len(document["strategies"]), "rules")


def is_drawn(document: Mapping[str, Any]) -> bool:
    """Whether the market is simulated: metrics are then means over its episodes."""
    return bool(document["market"]["kind"] == "simulated")


def amount_text(metric: str, value: float) -> str:
    """Format a metric with its unit."""
    return f"${figure(metric, value)}" if metric == "cost" else figure(metric, value)


def interval_text(metric: str, estimate: Mapping[str, Any]) -> str:
    """Format the interval of an estimate."""
    low, high = estimate["low"], estimate["high"]
    return (
        "no interval" if low is None or high is None else f"[{amount_text(metric, low)}, {amount_text(metric, high)}]"
    )

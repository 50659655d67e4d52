"""The page of a backtest: growth, drawdown and weights of portfolios on the same markets, with paired verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mayavi.report.page import Page, Provenance, Section
from mayavi.report.shapes.backtests.curves import drawdown_chart, equity_chart, weight_charts
from mayavi.report.shapes.backtests.lead import lead_of
from mayavi.report.shapes.backtests.tables import (
    figure_table,
    figures_lead,
    settings_table,
    verdict_section,
    window_table,
)
from mayavi.report.shapes.backtests.verdict import notes_of, summary_of, tiles_of, verdict_on


def backtest_page(document: Mapping[str, Any]) -> Page:
    """Build the page of a document of `mayavi.portfolio.backtest.document`."""
    market, config = document["market"], document["env"]["config"]
    lead = lead_of(document)
    sections = [
        Section("drawdown", "Drawdown", (drawdown_chart(document, lead),)),
        Section("weights", "What the portfolios hold", tuple(weight_charts(document, lead))),
        verdict_section(document),
        Section("figures", "All figures", (figure_table(document),), lead=figures_lead(document)),
    ]
    if market["kind"] == "historical":
        sections.append(Section("windows", "Windows", (window_table(document),)))
    sections.append(Section("settings", "Settings", (settings_table(document),)))
    return Page(
        title=f"Backtest of USDY, mETH and MI4: {lead}",
        subject=f"Backtest of USDY, mETH and MI4: {_market_text(market, config)}",
        verdict=verdict_on(document, lead),
        tiles=tiles_of(document, lead),
        summary=tuple(summary_of(document, lead)),
        hero=equity_chart(document, lead),
        sections=tuple(sections),
        provenance=_provenance(document),
        notes=tuple(notes_of(document)),
    )


def _market_text(market: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    many, costs = f"{market['episodes']:,}", f"costs of {config['rebalance_cost_bps']:g} bps and gas"
    if market["kind"] == "historical":
        first, last = market["windows"][0][0], market["windows"][-1][1]
        return (
            f"{many} consecutive windows of {market['hours']:,} hours of {market['source']}, {first} to {last}, {costs}"
        )
    return f"{many} drawn markets of {market['hours']:,} hours of the {config['split']} split, {costs}"


def _provenance(document: Mapping[str, Any]) -> Provenance:
    facts = [("market digest", str(document["env"]["world_digest"]))]
    facts += [("schema", f"{document['schema']} {document['version']}"), ("seed", str(document["settings"]["seed"]))]
    for model in document["models"]:
        facts.append(
            (f"policy {model['name']}", ", ".join(f"{key} {value}" for key, value in model.items() if key != "name"))
        )
    facts += [(f"version of {name}", version) for name, version in document["versions"].items()]
    digest = str(document["env"]["world_digest"])[:12]
    summary = f"{document['market']['kind']} market, digest {digest}… · seed {document['settings']['seed']}"
    return Provenance(tuple(facts), document["command"] or "", summary)

"""Tables and JSON of a replayed incident."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING, Any

from mayavi.cli.console.output import Column, print_note, print_table

if TYPE_CHECKING:
    from mayavi.scenarios.incidents.registry import Incident
    from mayavi.scenarios.incidents.replay import ComparedFigure, ComparedRun, Counterfactual, IncidentReport

NONE = "–"


def print_report(report: IncidentReport) -> None:
    """Print the incident, a table for each run with the reasons of its differences, and the counterfactuals."""
    config = report.incident.config
    print(f"{config.title} · {config.protocol} · {config.date}")
    print(config.summary)
    for run in report.runs.values():
        _print_run(run)
    if config.unpredicted:
        print("\nrecorded, and not predicted")
        for each in config.unpredicted:
            print(f"  {each.what}: {each.recorded}. {each.why}")
    for counterfactual in report.counterfactuals:
        _print_counterfactual(report, counterfactual)
    print()
    for assumption in config.assumptions:
        print_note(f"assumed: {assumption}")
    ids = ", ".join(run.run.run_id for run in report.runs.values())
    print_note(f"seed {report.seed} · stored as {ids} · `--json` has facts and sources")


def _print_run(run: ComparedRun) -> None:
    print(f"\n{run.name}: {run.title}")
    print_note(f"  driven by {run.record}")
    columns = [
        Column("asset", right=False),
        Column("figure", right=False),
        Column("recorded"),
        Column("simulated"),
        Column("difference"),
        Column("share"),
        Column("", right=False),
    ]
    print_table(columns, [_cells(figure) for figure in run.figures])
    for figure in run.figures:
        if figure.expected.why and figure.difference:
            print(f"  {figure.expected.asset}, {figure.expected.name}: {figure.expected.why}")


def _cells(figure: ComparedFigure) -> list[str]:
    expected = figure.expected
    verdict = {True: "exact" if not figure.difference else "as exact as promised", False: "DIFFERS", None: ""}
    return [
        expected.asset,
        expected.name,
        amount(expected.recorded, expected.unit),
        amount(figure.simulated, expected.unit),
        amount(figure.difference, expected.unit, sign=True),
        NONE if expected.unit == "%" else _share(figure.difference, expected.recorded),
        verdict[figure.exact],
    ]


def _print_counterfactual(report: IncidentReport, counterfactual: Counterfactual) -> None:
    from mayavi.scenarios.incidents.replay import TOGETHER

    together = counterfactual.change == TOGETHER
    print(f"\ncounterfactual: {counterfactual.change}")
    columns = [Column("run", right=False), Column("asset", right=False), Column("figure", right=False)]
    columns += [Column("simulated"), Column("changed"), Column("effect")]
    columns += [Column("of it together only")] if together else []
    rows = []
    for name, effects in counterfactual.effects.items():
        for index, effect in enumerate(effects):
            unit = effect.expected.unit
            row = [name, effect.expected.asset, effect.expected.name]
            row += [amount(effect.base, unit), amount(effect.changed, unit)]
            row.append(amount(effect.difference, unit, sign=True))
            if together:
                row.append(amount(report.interaction(name, index), unit, sign=True))
            rows.append(row)
    print_table(columns, rows)


def print_list(incidents: Sequence[Incident]) -> None:
    """Print one row per incident."""
    columns = [Column("name", right=False), Column("date", right=False), Column("protocol", right=False)]
    columns += [Column("figures"), Column("what happened", right=False)]
    print_table(
        columns,
        [
            [
                each.config.name,
                each.config.date,
                each.config.protocol,
                str(_figures(each)),
                each.config.title,
            ]
            for each in incidents
        ],
    )


def summary(incident: Incident) -> dict[str, Any]:
    """Return an incident as JSON data, without its figures."""
    config = incident.config
    return {
        "name": config.name,
        "title": config.title,
        "date": config.date,
        "protocol": config.protocol,
        "summary": config.summary,
        "runs": {name: run.title for name, run in config.runs.items()},
        "figures": _figures(incident),
        "counterfactuals": config.counterfactuals,
    }


def document(report: IncidentReport) -> dict[str, Any]:
    """Return a report as JSON data; figures are decimal text."""
    config = report.incident.config
    return {
        **summary(report.incident),
        "seed": str(report.seed),
        "exact": report.exact,
        "facts": [each.model_dump() for each in config.facts],
        "assumptions": config.assumptions,
        "runs": {name: _run_document(run) for name, run in report.runs.items()},
        "unpredicted": [each.model_dump() for each in config.unpredicted],
        "counterfactuals": [_counterfactual_document(report, each) for each in report.counterfactuals],
    }


def _run_document(run: ComparedRun) -> dict[str, Any]:
    return {
        "title": run.title,
        "record": run.record,
        "run_id": run.run.run_id,
        "digest": run.run.digest,
        "scenario": run.run.scenario,
        "store": str(run.run.store_path),
        "figures": [
            {
                "asset": figure.expected.asset,
                "name": figure.expected.name,
                "unit": figure.expected.unit,
                "recorded": _text(figure.expected.recorded),
                "simulated": _text(figure.simulated),
                "difference": _text(figure.difference),
                "within": _text(figure.expected.within),
                "exact": figure.exact,
                "source": figure.expected.source,
                "why": figure.expected.why,
            }
            for figure in run.figures
        ],
    }


def _counterfactual_document(report: IncidentReport, counterfactual: Counterfactual) -> dict[str, Any]:
    from mayavi.scenarios.incidents.replay import TOGETHER

    return {
        "change": counterfactual.change,
        "run_ids": {name: run.run_id for name, run in counterfactual.runs.items()},
        "effects": {
            name: [
                {
                    "asset": effect.expected.asset,
                    "name": effect.expected.name,
                    "simulated": _text(effect.base),
                    "changed": _text(effect.changed),
                    "effect": _text(effect.difference),
                    **(
                        {"together_only": _text(report.interaction(name, index))}
                        if counterfactual.change == TOGETHER
                        else {}
                    ),
                }
                for index, effect in enumerate(effects)
            ]
            for name, effects in counterfactual.effects.items()
        },
    }


def amount(value: Decimal | None, unit: str, *, sign: bool = False) -> str:
    """Format a figure: `63,605,103.12 USDC`, `−10.30 %`, `0.9351`; an en dash where there is none."""
    if value is None:
        return NONE
    number = value * 100 if unit == "%" else value
    size = abs(number)
    places = 0 if number == number.to_integral_value() and unit != "%" else 2 if size >= 100 or unit == "%" else 6
    text = f"{number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN):,f}" if places else f"{number:,.0f}"
    if number and not Decimal(text.replace(",", "")):
        text = f"{number:.1e}"
    text = text.replace("-", "−")
    if sign and number > 0:
        text = f"+{text}"
    return f"{text} {unit}".strip()


def _share(difference: Decimal | None, recorded: Decimal) -> str:
    if difference is None or not recorded:
        return NONE
    text = f"{float(difference / recorded):+.2%}".replace("%", " %")
    return "0.00 %" if text[1:] == "0.00 %" else text.replace("-", "−")


def _text(value: Decimal | None) -> str | None:
    return None if value is None else f"{value:f}"


def _figures(incident: Incident) -> int:
    return sum(len(run.figures) for run in incident.config.runs.values())

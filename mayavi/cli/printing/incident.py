"""Tables and JSON of a replayed incident."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from mayavi.cli.console.output import Column, is_terminal, print_note, print_table
from mayavi.cli.printing.run import short_reason

if TYPE_CHECKING:
    from mayavi.scenarios.incidents.measures import Failures
    from mayavi.scenarios.incidents.models import ExpectedFigure
    from mayavi.scenarios.incidents.real_blocks import ReplayedCalls
    from mayavi.scenarios.incidents.registry import Incident
    from mayavi.scenarios.incidents.replay import ComparedFigure, ComparedRun, Counterfactual, IncidentReport

NONE = "–"
NO_DECIMALS_FROM = 1_000
MOST_DIFFERENCES = 10
NARROW = 100
"""Width of a terminal below which asset and figure share a column."""
REPEATED = "note: recorded liquidators do not react to a change; they repeat their calls, and nobody else liquidates"


def print_report(report: IncidentReport) -> None:
    """Print the incident, a table for each run with the reasons of its differences, and the counterfactuals."""
    config = report.incident.config
    print(f"{config.title} · {config.protocol} · {config.date}")
    print_wrapped(config.summary)
    for run in report.runs.values():
        _print_run(run, replayed=report.real_blocks is not None)
    if report.real_blocks is not None:
        _print_real_blocks(report.real_blocks)
    if config.unpredicted:
        print("\nrecorded, and not predicted")
        for each in config.unpredicted:
            print_wrapped(f"{each.what}: {each.recorded}. {each.why}", indent="  ")
    for counterfactual in report.counterfactuals:
        _print_counterfactual(report, counterfactual)
    print()
    for assumption in config.assumptions:
        print_wrapped(f"assumed: {assumption}", note=True)
    stored = ", ".join(run.run.run_id for run in report.runs.values())
    changed = ", ".join(run.run_id for each in report.counterfactuals for run in each.runs.values())
    stored += f", counterfactuals as {changed}" if changed else ""
    print_wrapped(f"seed {report.seed} · stored as {stored} · `--json` has facts and sources", note=True)


def _print_run(run: ComparedRun, *, replayed: bool) -> None:
    print(f"\n{run.name}: {run.title}")
    print_wrapped(f"driven by {run.record}", indent="  ", note=True)
    columns = [
        *_label_columns(),
        Column("recorded", whole=True),
        *([Column("replayed", whole=True)] if replayed else []),
        Column("simulated", whole=True),
        Column("difference", whole=True),
        Column("share", whole=True),
        Column("", right=False),
    ]
    print_table(columns, [_cells(figure, replayed=replayed) for figure in run.figures])
    for figure in run.figures:
        if figure.expected.why and figure.difference:
            text = f"{figure.expected.asset}, {figure.expected.name}: {figure.expected.why}"
            print_wrapped(text, indent="  ")
    _print_failures(run.failures, recorded_calls=run.recorded_calls)


def _print_failures(failures: Failures | None, *, recorded_calls: bool) -> None:
    if failures is not None:
        print_wrapped(describe_failures(failures, recorded_calls=recorded_calls), indent="  ")


def describe_failures(failures: Failures, *, recorded_calls: bool = False) -> str:
    """Count failed actions with the commonest reason: `29 of 385 recorded calls reverted, all of them: …`."""
    reasons = Counter[str]()
    for reason, count in failures.reasons.items():
        reasons[short_reason(reason)] += count
    ((commonest, times),) = reasons.most_common(1)
    kinds = " and ".join(failures.kinds)
    what = "recorded calls" if recorded_calls and kinds == "liquidate" else f"actions of kind {kinds}"
    verb = "reverted" if all(" reverted: " in reason for reason in failures.reasons) else "failed"
    often = "all of them" if len(reasons) == 1 else f"most often ({times:,} times)"
    return f"{failures.failed:,} of {failures.attempted:,} {what} {verb}, {often}: {commonest}"


def _print_real_blocks(real: ReplayedCalls) -> None:
    """Print how the executed blocks compare with the chain."""
    report, totals = real.report, real.report.totals
    print("\nreal blocks: the recorded transactions, executed in their places")
    for each in report.differences[:MOST_DIFFERENCES]:
        print_wrapped(f"differs: {each}", indent="  ")
    if len(report.differences) > MOST_DIFFERENCES:
        print_wrapped(
            f"… and {len(report.differences) - MOST_DIFFERENCES:,} more blocks; --json lists them", indent="  "
        )
    exact = f"{totals['exact_transactions']:,} of {totals['matched']:,} transactions"
    print_wrapped(
        f"{exact} in {totals['exact_blocks']:,} of {totals['blocks']:,} blocks are exact: status, gas, logs, roots, and"
        f" {totals['state_values']:,} values of the state after them",
        indent="  ",
    )
    stored = f"{totals['blocks'] - report.replayed:,} were stored" if report.replayed < totals["blocks"] else ""
    now = f"{report.replayed:,} blocks executed now with {report.requests:,} requests"
    print_wrapped("; ".join(filter(None, [now, stored])), indent="  ", note=True)


def _cells(figure: ComparedFigure, *, replayed: bool) -> list[str]:
    expected = figure.expected
    verdict = {
        True: "exact" if not figure.difference else "as exact as promised",
        False: "DIFFERS",
        None: "input" if expected.input else "",
    }
    return [
        *_labels(expected),
        amount(expected.recorded, expected.unit),
        *([amount(figure.replayed, expected.unit)] if replayed else []),
        amount(figure.simulated, expected.unit),
        difference(figure.difference, expected.unit),
        NONE if expected.unit == "%" else _share(figure.difference, expected.recorded),
        verdict[figure.exact],
    ]


def _label_columns() -> list[Column]:
    """Return the columns of asset and figure, one for both on a narrow terminal."""
    names = ["figure"] if _is_narrow() else ["asset", "figure"]
    return [Column(name, right=False) for name in names]


def _labels(expected: ExpectedFigure) -> list[str]:
    return [f"{expected.asset}: {expected.name}"] if _is_narrow() else [expected.asset, expected.name]


def _is_narrow() -> bool:
    return is_terminal(sys.stdout) and get_terminal_size((120, 24)).columns < NARROW


def _print_counterfactual(report: IncidentReport, counterfactual: Counterfactual) -> None:
    from mayavi.scenarios.incidents.replay import TOGETHER

    together = counterfactual.change == TOGETHER
    columns = _label_columns()
    columns += [Column(title, whole=True) for title in ("simulated", "changed", "effect")]
    columns += [Column("interaction", whole=True)] if together else []
    for name, effects in counterfactual.effects.items():
        print(f"\ncounterfactual: {counterfactual.change} · {name}")
        rows = []
        for index, effect in enumerate(effects):
            unit = effect.expected.unit
            row = _labels(effect.expected)
            row += [amount(effect.base, unit), amount(effect.changed, unit), difference(effect.difference, unit)]
            row += [difference(report.interaction(name, index), unit)] if together else []
            rows.append(row)
        print_table(columns, rows)
        calls = report.runs[name].recorded_calls
        _print_failures(counterfactual.failures[name], recorded_calls=calls)
        if calls:
            print_wrapped(REPEATED, indent="  ")


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


def print_keys(incident: Incident, keys: Mapping[str, Mapping[str, str]]) -> None:
    """Print the runs of an incident, and the keys that a counterfactual can change, with their values by run."""
    runs = incident.config.runs
    print(f"{incident.config.name} · {incident.config.title}")
    for name, run in runs.items():
        print(f"  {name}: {run.title}")
    columns = [Column("key", right=False), *(Column(name, right=False) for name in runs)]
    print_table(columns, [[key, *(values.get(name, NONE) for name in runs)] for key, values in keys.items()])
    for each in incident.config.counterfactuals:
        print_note(f"such as: mayavi replay incident {incident.config.name} --counterfactual '{each}'")


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
        "schema": "mayavi-incident",
        "version": 1,
        **summary(report.incident),
        "seed": str(report.seed),
        "exact": report.exact,
        "facts": [each.model_dump() for each in config.facts],
        "assumptions": config.assumptions,
        "runs": {name: _run_document(run) for name, run in report.runs.items()},
        "real_blocks": None if report.real_blocks is None else report.real_blocks.report.to_json(),
        "unpredicted": [each.model_dump() for each in config.unpredicted],
        "counterfactuals": [_counterfactual_document(report, each) for each in report.counterfactuals],
    }


def _run_document(run: ComparedRun) -> dict[str, Any]:
    return {
        "title": run.title,
        "record": run.record,
        "recorded_calls": run.recorded_calls,
        "failures": _failures_document(run.failures),
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
                "replayed": _text(figure.replayed),
                "simulated": _text(figure.simulated),
                "difference": _text(figure.difference),
                "within": _text(figure.expected.within),
                "input": figure.expected.input,
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
        "failures": {name: _failures_document(each) for name, each in counterfactual.failures.items()},
        "effects": {
            name: [
                {
                    "asset": effect.expected.asset,
                    "name": effect.expected.name,
                    "simulated": _text(effect.base),
                    "changed": _text(effect.changed),
                    "effect": _text(effect.difference),
                    **(
                        {"interaction": _text(report.interaction(name, index))}
                        if counterfactual.change == TOGETHER
                        else {}
                    ),
                }
                for index, effect in enumerate(effects)
            ]
            for name, effects in counterfactual.effects.items()
        },
    }


def _failures_document(failures: Failures | None) -> dict[str, Any]:
    if failures is None:
        return {"failed": 0}
    reasons = sorted(failures.reasons.items(), key=lambda each: (-each[1], each[0]))
    return {
        "failed": failures.failed,
        "attempted": failures.attempted,
        "kinds": list(failures.kinds),
        "reasons": [{"reason": reason, "count": count} for reason, count in reasons],
    }


def amount(value: Decimal | None, unit: str, *, sign: bool = False) -> str:
    """Format a figure: `63,605,103 USDC`, `−10.30 %`, `0.935100`; an en dash where there is none."""
    if value is None:
        return NONE
    number = value * 100 if unit == "%" else value
    size = abs(number)
    whole = size >= NO_DECIMALS_FROM or number == number.to_integral_value()
    places = 2 if unit == "%" else 0 if whole else 2 if size >= 100 else 6
    text = f"{number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN):,f}" if places else f"{number:,.0f}"
    if number and not Decimal(text.replace(",", "")):
        text = f"{number:.1e}"
    text = text.replace("-", "−")
    if sign and number > 0:
        text = f"+{text}"
    return f"{text} {unit}".strip()


def difference(value: Decimal | None, unit: str) -> str:
    """Format the difference of two figures with its sign; that of percentages is in points: `+0.59 points`."""
    text = amount(value, unit, sign=True)
    return text.removesuffix("%") + "points" if unit == "%" and value is not None else text


def print_wrapped(text: str, *, indent: str = "", note: bool = False) -> None:
    """Print a paragraph, wrapped to the width of a terminal and on one line in a pipe; `note` dims it."""
    lines = [indent + text]
    if is_terminal(sys.stdout):
        width = get_terminal_size((120, 24)).columns
        lines = wrap(
            text,
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    for line in lines:
        print_note(line) if note else print(line)


def _share(difference: Decimal | None, recorded: Decimal) -> str:
    if difference is None or not recorded:
        return NONE
    text = f"{float(difference / recorded):+.2%}".replace("%", " %")
    return "0.00 %" if text[1:] == "0.00 %" else text.replace("-", "−")


def _text(value: Decimal | None) -> str | None:
    return None if value is None else f"{value:f}"


def _figures(incident: Incident) -> int:
    return sum(len(run.figures) for run in incident.config.runs.values())

"""Render a page to one self-contained HTML file: data, style, scripts and Plotly inlined.

The same page gives the same bytes: there is no clock, no random id, and dictionaries keep their order.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from mayavi.report.kept_templates import kept_templates
from mayavi.report.numbers import DASH, FORMATS, shortened
from mayavi.report.page import ActionLog, Block, Cell, Chart, Column, Page, Scrubber, Table
from mayavi.report.plotly import plotly_source

SCRIPTS = ("theme.js", "format.js", "clicks.js", "charts.js", "log.js", "scrubber.js", "keys.js")
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_LONG = 16
_LOG_FIELDS = ("seq", "step", "block", "timestamp", "agent", "account", "action", "status", "call", "reason", "gas")


def render(page: Page) -> str:
    """Return the page as HTML."""
    hero = ("answer-0", page.hero)
    sections = [
        (section, [(f"{section.id}-{number}", block) for number, block in enumerate(_widened(section.blocks))])
        for section in page.sections
    ]
    blocks = [hero, *(each for _, named in sections for each in named)]
    charts = {name: _chart_data(block) for name, block in blocks if isinstance(block, Chart)}
    lists: dict[str, int] = {}
    data = {
        "charts": _interned(_finite(charts), lists),
        "logs": {name: _log_data(block) for name, block in blocks if isinstance(block, ActionLog)},
        "scrubbers": {name: _scrubber_data(block) for name, block in blocks if isinstance(block, Scrubber)},
        "lists": [json.loads(text) for text in lists],
    }
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            page=page,
            hero=hero,
            sections=sections,
            data=embedded(data),
            styles=Markup(_asset("report.css")),
            scripts=[Markup(_asset(name)) for name in SCRIPTS],
            plotly=Markup(_inline(plotly_source())) if charts else "",
        )
    )


def cell_text(value: Cell, column: Column) -> str:
    """Format a table cell: numbers by the column's format, a dash for None and NaN."""
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value or DASH
    if column.format in FORMATS:
        return FORMATS[column.format](value)
    return str(value) if isinstance(value, int) else FORMATS["number"](value)


def prose(text: str) -> Markup:
    """Escape a sentence and set what stands between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def embedded(data: object) -> Markup:
    """Encode `data` as JSON that is safe inside a `<script>` element."""
    text = json.dumps(_finite(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.translate(_ESCAPES))


def _widened(blocks: Sequence[Block]) -> list[Block]:
    """Let a chart that would stand alone in a row of two take the whole row."""
    result = list(blocks)
    place = 0
    while place < len(result):
        end = place
        while end < len(result) and isinstance(chart := result[end], Chart) and not chart.wide:
            end += 1
        last = result[end - 1]
        if (end - place) % 2 and isinstance(last, Chart):
            result[end - 1] = replace(last, wide=True)
        place = end + 1
    return result


def _chart_data(chart: Chart) -> dict[str, Any]:
    return {
        "title": chart.title,
        "traces": chart.traces,
        "layout": chart.layout,
        "time": chart.time,
        "table": _table_data(chart.table),
    }


def _table_data(table: Table) -> dict[str, Any]:
    return {
        "columns": [[column.label, column.format, column.unit] for column in table.columns],
        "data": [list(column) for column in zip(*table.rows, strict=True)],
    }


def _log_data(log: ActionLog) -> dict[str, Any]:
    """Columns of the log; texts that repeat, such as names of agents, are stored once."""
    words: dict[str, int] = {}
    columns: dict[str, list[Any]] = {}
    for name in (*_LOG_FIELDS, "details"):
        values = [getattr(row, name) for row in log.rows]
        if name in {"agent", "account", "action", "status", "reason"}:
            values = [words.setdefault(value, len(words)) for value in values]
        columns[name] = [_parsed(each) for each in values] if name == "details" else values
    return {"words": list(words), "columns": columns, "total": log.total}


def _parsed(details: str) -> Any:
    """The fields of an action; JSON inside of JSON would take a third more."""
    try:
        return json.loads(details)
    except ValueError:
        return details


def _scrubber_data(scrubber: Scrubber) -> dict[str, Any]:
    return {
        "steps": scrubber.steps,
        "blocks": scrubber.blocks,
        "timestamps": scrubber.timestamps,
        "figures": scrubber.figures,
        "actions": scrubber.actions,
        "failed": scrubber.failed,
    }


def _finite(value: Any) -> Any:
    """Replace NaN and infinities, which JSON does not have, by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value


def _interned(value: Any, lists: dict[str, int]) -> Any:
    """Replace long lists by `{"$": n}`: charts over one timeline, and the tables behind them, share most of theirs."""
    if isinstance(value, dict):
        return {key: _interned(each, lists) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) < _LONG:
        return [_interned(each, lists) for each in value]
    return {"$": lists.setdefault(json.dumps(value, ensure_ascii=False), len(lists))}


def _inline(source: str) -> str:
    """Keep a script from closing its own element."""
    return source.replace("</script", "<\\/script").replace("<!--", "<\\!--")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("mayavi.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=kept_templates(),
    )
    environment.filters |= {"cell": cell_text, "shortened": shortened, "prose": prose}
    return environment


@cache
def _asset(name: str) -> str:
    return files("mayavi.report").joinpath("templates", name).read_text(encoding="utf-8")

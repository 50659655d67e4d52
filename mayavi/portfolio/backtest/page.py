"""HTML page of a backtest: charts, tables, verdicts, and the command that reproduces it.

The page is one self-contained file without scripts. It depends on the document alone: the same document gives the same
bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from mayavi.portfolio.backtest.backtest import BOUND
from mayavi.portfolio.backtest.metrics import METRICS
from mayavi.portfolio.backtest.svg_charts import Line, Ticks, even_ticks, legend, line_chart, stacked_chart
from mayavi.portfolio.market.data import ASSETS

NAMES = dict(zip(ASSETS, ("USDY", "mETH", "MI4"), strict=True))
SHARES = {"total_return", "cagr", "volatility", "max_drawdown", "time_in_drawdown", "value_at_risk",
          "expected_shortfall"}  # fmt: skip
"""Metrics shown in percent."""
TITLES = {
    "total_return": "return",
    "log_growth": "log growth",
    "cagr": "CAGR",
    "volatility": "volatility",
    "sharpe": "Sharpe",
    "sortino": "Sortino",
    "calmar": "Calmar",
    "max_drawdown": "max drawdown",
    "time_in_drawdown": "time in drawdown",
    "value_at_risk": "VaR 95 %, an hour",
    "expected_shortfall": "ES 95 %, an hour",
    "turnover": "turnover",
    "cost": "cost, $",
}


def render_page(document: Mapping[str, Any]) -> str:
    """Render a document of `document_of` as HTML."""
    market, strategies = document["market"], list(document["strategies"])
    heading = _heading(market, document["env"]["config"])
    warned = (
        '<p class="warning" role="note">In sample: a policy here may have been trained on the markets it plays. '
        "Nothing on this page shows how it performs elsewhere.</p>"
        if document["in_sample"]
        else ""
    )
    body = [
        f"<h1>Backtest of USDY, mETH and MI4</h1><p>{escape(heading)}</p>{warned}",
        _section("Equity", _equity(document)),
        _section("Drawdown", _drawdown(document)),
        _section("Weights", _weights(document)),
        _section("Figures", _figures(document)),
        _section("Verdicts", _verdicts(document)),
    ]
    if market["kind"] == "historical":
        body.append(_section("Windows", _windows(market, document["strategies"], strategies)))
    body.append(_section("Reproduce", _again(document)))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>Backtest: {escape(heading)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _heading(market: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    many = f"{market['episodes']:,}"
    costs = f"costs of {config['rebalance_cost_bps']:g} bps and gas"
    if market["kind"] == "historical":
        windows = market["windows"]
        return (
            f"{many} consecutive windows of {market['hours']:,} hours of {market['source']}, "
            f"{windows[0][0]} to {windows[-1][1]}, {costs}"
        )
    return f"{many} drawn markets of {market['hours']:,} hours, {config['split']} split, {costs}"


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


def _ticks(document: Mapping[str, Any], hours: Sequence[float]) -> Ticks:
    market = document["market"]
    if market["kind"] == "historical":
        return [(at * market["hours"], begin[:10]) for at, (begin, _) in enumerate(market["windows"])][
            :: max(1, len(market["windows"]) // 6)
        ]
    return even_ticks(hours[-1], "days", each=24.0)


def _lines(document: Mapping[str, Any], what: str) -> tuple[Sequence[float], list[Line]]:
    curves, subjects = document["curves"], document["subjects"] or list(document["strategies"])[:1]
    hours = next(iter(curves.values()))["hours"]
    lines = []
    for at, (name, curve) in enumerate(curves.items()):
        values, band = curve[what], None
        if what == "equity":
            rows = [[each - 1 for each in row] for row in values]
            values = rows[len(rows) // 2]
            band = (rows[0], rows[2]) if len(rows) == 3 and name in subjects else None
        lines.append(Line(name, values, at, band, name in subjects))
    return hours, lines


def _equity(document: Mapping[str, Any]) -> str:
    hours, lines = _lines(document, "equity")
    drawn = document["market"]["kind"] == "simulated"
    caption = (
        "The median of all episodes; the band contains 90 % of the episodes of the thick line."
        if drawn
        else "Consecutive windows, each started anew with the initial capital and weights."
    )
    about = f"{caption} At the end: " + ", ".join(f"{line.name} {line.values[-1] * 100:+.2f} %" for line in lines) + "."
    chart = line_chart("Growth of the capital", about, hours, lines, ticks=_ticks(document, hours))
    return f"<p>{caption}</p>{_wide(chart)}{legend([line.name for line in lines])}"


def _drawdown(document: Mapping[str, Any]) -> str:
    hours, lines = _lines(document, "drawdown")
    caption = (
        "Loss from the highest value so far, mean of all episodes."
        if document["market"]["kind"] == "simulated"
        else "Loss from the highest value so far."
    )
    about = (
        f"{caption} At the deepest: " + ", ".join(f"{line.name} {max(line.values) * 100:.2f} %" for line in lines) + "."
    )
    lines = [Line(each.name, [-value for value in each.values], each.colour, None, each.strong) for each in lines]
    chart = line_chart("Drawdown", about, hours, lines, ticks=_ticks(document, hours))
    return f"<p>{caption}</p>{_wide(chart)}"


def _wide(chart: str) -> str:
    """Wrap a chart so that narrow windows scroll it instead of shrinking its labels."""
    return f'<div class="scroll wide" tabindex="0">{chart}</div>'


def _weights(document: Mapping[str, Any]) -> str:
    charts = []
    for name, curve in document["curves"].items():
        layers = [(NAMES[asset], [each[at] for each in curve["weights"]]) for at, asset in enumerate(ASSETS)]
        means = ", ".join(f"{label} {sum(values) / len(values) * 100:.0f} %" for label, values in layers)
        chart = stacked_chart(f"Weights of {name}", f"On average {means}.", curve["hours"], layers)
        charts.append(f"<figure>{chart}<figcaption>{escape(name)}: {means}</figcaption></figure>")
    return f'{legend(list(NAMES.values()), area=True)}<div class="grid-of-charts">{"".join(charts)}</div>'


def _figures(document: Mapping[str, Any]) -> str:
    share = f"{document['settings']['confidence'] * 100:g} %"
    how = (
        "of means over whole episodes"
        if document["market"]["kind"] == "simulated"
        else f"over blocks of {document['settings']['block_hours']} hours"
    )
    head = "".join(f'<th scope="col" title="{escape(METRICS[name])}">{TITLES[name]}</th>' for name in METRICS)
    rows = []
    for name, one in document["strategies"].items():
        cells = "".join(_cell(metric, one["metrics"][metric]) for metric in METRICS)
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{cells}<td>{one["stopped"]:,}</td></tr>')
    bound = document[BOUND]
    cells = "".join(_cell(metric, bound[metric]) if metric in bound else "<td>–</td>" for metric in METRICS)
    rows.append(f'<tr><th scope="row">{BOUND} (upper bound)</th>{cells}<td>–</td></tr>')
    missing = "".join(f"<p>No interval: {escape(reason)}.</p>" for reason in document["no_interval"])
    missing += "".join(f"<p>Note: {escape(note)}.</p>" for note in document["interval_notes"])
    return (
        f"<p>Below each figure its {share} confidence interval, {how}, or none where none can be trusted. Stopped "
        f"episodes ended early at the largest drawdown allowed; their value stays constant from then on.</p>{missing}"
        f'<div class="scroll"><table><thead><tr><th scope="col">portfolio</th>{head}<th scope="col">stopped</th>'
        f"</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(metric: str, estimate: Mapping[str, Any]) -> str:
    low, high = estimate["low"], estimate["high"]
    interval = "no interval"
    if low is not None and high is not None:
        interval = f"{figure(metric, low)} to {figure(metric, high)}"
    return f"<td>{figure(metric, estimate['value'])}<small>{interval}</small></td>"


def figure(metric: str, value: float) -> str:
    """Format the value of a metric for people."""
    if metric in SHARES:
        return f"{_fixed(value * 100, 1 if abs(value) >= 1 else 2)} %"
    return _fixed(value, 5 if metric == "log_growth" else 2)


def _fixed(value: float, digits: int) -> str:
    """Format to `digits` places; never prints -0."""
    return f"{round(value, digits) + 0.0:,.{digits}f}"


def _verdicts(document: Mapping[str, Any]) -> str:
    if not document["comparisons"]:
        return "<p>There is only one portfolio, and nothing to compare it with.</p>"
    rows = []
    for each in (*document["pooled"], *document["comparisons"]):
        trainings = f" ({each['trainings']} trainings)" if each["trainings"] > 1 else ""
        difference = each["difference"]
        rows.append(
            f'<tr><th scope="row">{escape(each["strategy"])}{trainings}</th><td>{escape(each["against"])}</td>'
            f"<td>{TITLES[each['metric']]}</td>{_cell(each['metric'], difference)}<td>{each['wins'] * 100:.0f} %</td>"
            f'<td><strong class="{each["verdict"]}">{each["verdict"]}</strong>'
            f"<small>{escape(each['reason'])}</small></td></tr>"
        )
    head = "".join(
        f'<th scope="col">{title}</th>' for title in ("portfolio", "against", "by", "difference", "wins", "verdict")
    )
    return (
        "<p>All portfolios play the same markets, so differences are paired by episode or by hour. Wins are the share "
        "of episodes or windows in which the portfolio has more, ties counting half.</p>"
        f'<div class="scroll"><table class="text"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
        "</div>"
    )


def _windows(market: Mapping[str, Any], strategies: Mapping[str, Any], names: Sequence[str]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    rows = []
    for at, (begin, end) in enumerate(market["windows"]):
        cells = "".join(
            f"<td>{strategies[name]['episodes'][at]['total_return']:.2f} %</td>"
            if "episodes" in strategies[name]
            else "<td>–</td>"
            for name in names
        )
        rows.append(f'<tr><th scope="row">{escape(begin[:10])} to {escape(end[:10])}</th>{cells}</tr>')
    return (
        "<p>The return of each window.</p>"
        f'<div class="scroll"><table><thead><tr><th scope="col">window</th>{head}</tr></thead><tbody>{"".join(rows)}'
        "</tbody></table></div>"
    )


def _again(document: Mapping[str, Any]) -> str:
    config = document["env"]["config"]
    rows = [(key, value) for key, value in config.items()]
    rows += [(f"{key} (backtest)", value) for key, value in document["settings"].items()]
    rows += [("market digest", document["env"]["world_digest"])]
    if document["market"].get("assumed"):
        rows.append(("columns filled by a rule", ", ".join(document["market"]["assumed"])))
    rows += [(f"version of {key}", value) for key, value in document["versions"].items()]
    for model in document["models"]:
        facts = ", ".join(f"{key} {value}" for key, value in model.items() if key != "name")
        rows.append((f"policy {model['name']}", facts))
    listed = "".join(
        f'<tr><th scope="row">{escape(str(key))}</th><td>{escape(str(value))}</td></tr>' for key, value in rows
    )
    command = f"<pre><code>{escape(document['command'])}</code></pre>" if document["command"] else ""
    return (
        f'{command}<details><summary>Configuration</summary><div class="scroll"><table class="text">{listed}</table>'
        "</div></details>"
    )


STYLE = (
    """
:root{--ink:#1b1f24;--quiet:#57606a;--rule:#d0d7de;--paper:#fff;--shade:#f6f8fa;--good:#1a7f37;--bad:#b42318;
--c0:#0550ae;--c1:#b35900;--c2:#1a7f37;--c3:#8250df;--c4:#bf3989;--c5:#6e5a00;--c6:#0a7a82;--c7:#a40e26;--c8:#57606a;
--c9:#3d2c8d;--a0:#4c8ed9;--a1:#e09b4f;--a2:#6fb07f}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--quiet:#9aa4af;--rule:#3b434c;--paper:#0f1419;--shade:#161b22;
--good:#56d364;--bad:#ff7b72;--c0:#6cb6ff;--c1:#f0a45d;--c2:#6bc46d;--c3:#c297ff;--c4:#f78fd0;--c5:#d9c25a;--c6:#58c7d0;
--c7:#ff938a;--c8:#adb7c1;--c9:#a5a0ff;--a0:#3d78bd;--a1:#b8772f;--a2:#4f8a5e}}
*{box-sizing:border-box}body{margin:0;color:var(--ink);background:var(--paper);font:16px/1.5 system-ui,sans-serif}
main{max-width:1080px;margin:0 auto;padding:1.5rem 1rem 4rem}h1{font-size:1.6rem;margin:.2em 0}
h2{font-size:1.2rem;margin:2em 0 .4em}p{max-width:70ch}.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .6rem;border-bottom:1px solid var(--rule);text-align:right;vertical-align:top}
th[scope=row],.text tr>:last-child,thead th:first-child{text-align:left}thead th{background:var(--shade)}
small{display:block;color:var(--quiet);font-size:.78rem;white-space:nowrap}.text td:last-child small{white-space:normal}
.warning{border-left:4px solid var(--bad);padding:.5rem 1rem;background:var(--shade)}
.better{color:var(--good)}.worse{color:var(--bad)}pre{background:var(--shade);padding:.8rem;overflow-x:auto}
svg.chart{width:100%;height:auto;display:block}.wide svg.chart{min-width:620px}.grid-of-charts{display:grid;gap:1rem;
grid-template-columns:repeat(auto-fit,minmax(300px,1fr))}figure{margin:0}figcaption{font-size:.85rem;color:var(--quiet)}
.grid{stroke:var(--rule);fill:none}.tick{fill:var(--quiet);font-size:11px}.end{text-anchor:end}.middle{text-anchor:middle}
.line{fill:none;stroke-width:1.3;stroke-linejoin:round}.strong{stroke-width:2.6}
.dash{stroke-dasharray:5 4}.band{stroke:none;opacity:.14}
.area{stroke:none}.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;padding:0;font-size:.88rem}
.key{width:18px;height:10px;margin-right:.4rem}
"""
    + "".join(f".line.c{at}{{stroke:var(--c{at})}}.band.c{at}{{fill:var(--c{at})}}" for at in range(10))
    + "".join(f".a{at}{{fill:var(--a{at})}}" for at in range(3))
)

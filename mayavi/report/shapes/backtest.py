"""The page of a backtest: growth, drawdown and weights of portfolios on the same markets, with paired verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mayavi.portfolio.backtest.backtest import BOUND
from mayavi.portfolio.backtest.formatting import NAMES, TITLES, figure
from mayavi.portfolio.backtest.metrics import METRICS
from mayavi.portfolio.market.data import ASSETS
from mayavi.report.charts.areas import stacked_areas
from mayavi.report.charts.axes import COLOURS, Axis, Xs
from mayavi.report.charts.intervals import intervals
from mayavi.report.charts.lines import Line, lines
from mayavi.report.numbers import change, percent
from mayavi.report.page import Block, Chart, Column, Page, Provenance, Section, Table, Tile, Verdict
from mayavi.report.shapes.comparisons import TONES

MOST_LINES = 5
MOST_WEIGHTS = 6
_TILES = ("total_return", "sharpe", "max_drawdown", "volatility", "cost")
_JUDGED = "log_growth"


def backtest_page(document: Mapping[str, Any]) -> Page:
    """Build the page of a document of `mayavi.portfolio.backtest.document`."""
    market, config = document["market"], document["env"]["config"]
    lead = _lead(document)
    sections = [
        Section("drawdown", "Drawdown", (_drawdown(document, lead),)),
        Section("weights", "What the portfolios hold", tuple(_weights(document, lead))),
        _verdicts(document),
        Section("figures", "All figures", (_figures(document),), lead=_figures_lead(document)),
    ]
    if market["kind"] == "historical":
        sections.append(Section("windows", "Windows", (_windows(document),)))
    sections.append(Section("settings", "Settings", (_settings(document),)))
    return Page(
        title=f"Backtest of USDY, mETH and MI4: {lead}",
        subject=f"Backtest of USDY, mETH and MI4: {_market_text(market, config)}",
        verdict=_verdict(document, lead),
        tiles=_tiles(document, lead),
        summary=tuple(_summary(document, lead)),
        hero=_equity(document, lead),
        sections=tuple(sections),
        provenance=_provenance(document),
        notes=tuple(_notes(document)),
    )


def _market_text(market: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    many, costs = f"{market['episodes']:,}", f"costs of {config['rebalance_cost_bps']:g} bps and gas"
    if market["kind"] == "historical":
        first, last = market["windows"][0][0], market["windows"][-1][1]
        return (
            f"{many} consecutive windows of {market['hours']:,} hours of {market['source']}, {first} to {last}, {costs}"
        )
    return f"{many} drawn markets of {market['hours']:,} hours of the {config['split']} split, {costs}"


def _growth(document: Mapping[str, Any], name: str) -> float:
    return float(document["strategies"][name]["metrics"][_JUDGED]["value"])


def _lead(document: Mapping[str, Any]) -> str:
    """The portfolio that the page is about: the best policy, else the best rule, by log growth."""
    names = document["subjects"] or list(document["strategies"])
    return str(max(names, key=lambda name: _growth(document, name)))


def _comparison(document: Mapping[str, Any], lead: str) -> tuple[Mapping[str, Any], bool] | None:
    """The comparison of the lead with the strongest rule it is compared with, and whether the lead is its subject."""
    own = {lead, lead.partition("@")[0]}
    judged = [each for each in (*document["pooled"], *document["comparisons"]) if each["metric"] == _JUDGED]
    for rival in _rivals(document, lead):
        for each in judged:
            if each["strategy"] in own and each["against"] == rival:
                return each, True
            if each["strategy"] == rival and each["against"] in own:
                return each, False
    return None


def _rivals(document: Mapping[str, Any], lead: str) -> list[str]:
    """Rules other than the lead, the fastest growing first."""
    rules = [name for name in document["strategies"] if name != lead and name not in document["subjects"]]
    return sorted(rules, key=lambda name: -_growth(document, name))


def _verdict(document: Mapping[str, Any], lead: str) -> Verdict:
    found = _comparison(document, lead)
    if found is None:
        return Verdict("There is one portfolio, and nothing to compare it with.", "NO CLAIM", "warn")
    each, forward = found
    word = each["verdict"]
    if not forward:
        word = {"better": "worse", "worse": "better"}.get(word, word)
    rival = each["against"] if forward else each["strategy"]
    kind = ", the strongest rule," if _rivals(document, lead)[0] == rival else ""
    many = (
        f"{document['market']['episodes']:,} {'windows' if document['market']['kind'] == 'historical' else 'markets'}"
    )
    sentence = {
        "better": f"{lead} grows faster than {rival}{kind} on the same {many}",
        "worse": f"{lead} grows slower than {rival}{kind} on the same {many}",
        "indistinguishable": f"{many} do not tell {lead} from {rival}{kind.rstrip(',')}",
        "saturated": f"No claim about {lead}: too few independent {many.split(' ', 1)[1]}",
    }[word]
    difference = each["difference"]
    sign = 1 if forward else -1
    ends = sorted(sign * end for end in (difference["low"], difference["high"]) if end is not None)
    interval = f"[{figure(_JUDGED, ends[0])}, {figure(_JUDGED, ends[1])}]" if len(ends) == 2 else "no interval"
    value = f"log growth {figure(_JUDGED, sign * difference['value'])}"
    return Verdict(f"{sentence}.", word, TONES[word], f"{value} {interval}")


def _tiles(document: Mapping[str, Any], lead: str) -> tuple[Tile, ...]:
    metrics, found = document["strategies"][lead]["metrics"], []
    found_rival = _comparison(document, lead)
    rival = next(
        (
            name
            for name in _rivals(document, lead)
            if found_rival and name in (found_rival[0]["against"], found_rival[0]["strategy"])
        ),
        None,
    )
    for metric in _TILES:
        other = document["strategies"][rival]["metrics"][metric]["value"] if rival else None
        found.append(
            Tile(
                f"{TITLES[metric]} of {lead}" if metric == "total_return" else TITLES[metric],
                figure(metric, metrics[metric]["value"]),
                interval=_interval(metric, metrics[metric]),
                change=f"{figure(metric, other)} of {rival}" if other is not None else "",
                exact=repr(metrics[metric]["value"]),
            )
        )
    return tuple(found)


def _interval(metric: str, estimate: Mapping[str, Any]) -> str:
    low, high = estimate["low"], estimate["high"]
    return "no interval" if low is None or high is None else f"[{figure(metric, low)}, {figure(metric, high)}]"


def _summary(document: Mapping[str, Any], lead: str) -> list[str]:
    one, found = document["strategies"][lead], []
    metrics = one["metrics"]
    found.append(
        f"{lead} returns {figure('total_return', metrics['total_return']['value'])} on average, with a Sharpe ratio of"
        f" {figure('sharpe', metrics['sharpe']['value'])} and a largest drawdown of"
        f" {figure('max_drawdown', metrics['max_drawdown']['value'])}."
    )
    found.append(
        f"It loses money in {percent(one['losing_episodes'])} of the episodes; the worst returns"
        f" {change(one['worst_episode'])}. {one['stopped']:,} episodes ended early at the largest drawdown allowed."
    )
    if (compared := _comparison(document, lead)) is not None:
        found.append(f"{compared[0]['strategy']} against {compared[0]['against']}: {compared[0]['reason']}.")
    bound = document[BOUND]["total_return"]
    found.append(f"Nobody could have returned more than {figure('total_return', bound['value'])}, in hindsight.")
    return found


def _notes(document: Mapping[str, Any]) -> list[str]:
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


def _shown(document: Mapping[str, Any], lead: str) -> list[str]:
    """Portfolios that the line charts draw: the lead, the other policies, then the fastest growing rules."""
    others = [name for name in document["strategies"] if name != lead]
    others.sort(key=lambda name: (name not in document["subjects"], -_growth(document, name)))
    return [lead, *others][:MOST_LINES]


def _xs(document: Mapping[str, Any], hours: Sequence[float]) -> Xs:
    return Xs([hour / 24 for hour in hours], "days", "number")


def _equity(document: Mapping[str, Any], lead: str) -> Chart:
    curves = document["curves"]
    series, ends = [], []
    for name in _shown(document, lead):
        rows = curves[name]["equity"]
        middle = [value - 1 for value in rows[len(rows) // 2]]
        low = [value - 1 for value in rows[0]] if len(rows) == 3 and name == lead else None
        high = [value - 1 for value in rows[2]] if len(rows) == 3 and name == lead else None
        series.append(Line(name, middle, low=low, high=high))
        ends.append(middle[-1])
    drawn = document["market"]["kind"] == "simulated"
    about = (
        f"Growth of the capital, median of {document['market']['episodes']:,} episodes; the band has 90 % of {lead}'s"
        if drawn
        else "Growth of the capital over consecutive windows, each started anew with the initial capital"
    )
    if len(series) < len(curves):
        about += f"; {len(series)} of {len(curves):,} portfolios"
    return lines(
        f"{lead} ends at {change(ends[0])}" + (f", {series[1].label} at {change(ends[1])}" if len(series) > 1 else ""),
        about,
        _xs(document, curves[lead]["hours"]),
        series,
        Axis("growth of the capital", "change"),
        marks=[(0.0, "initial capital")],
        wide=True,
    )


def _drawdown(document: Mapping[str, Any], lead: str) -> Chart:
    curves = document["curves"]
    names = _shown(document, lead)
    deepest = max(names, key=lambda name: max(curves[name]["drawdown"]))
    mean = "mean of all episodes" if document["market"]["kind"] == "simulated" else "over consecutive windows"
    return lines(
        f"{deepest} falls deepest: {percent(max(curves[deepest]['drawdown']))} below its peak",
        f"Loss from the highest value so far, {mean}",
        _xs(document, curves[lead]["hours"]),
        [Line(name, [-value for value in curves[name]["drawdown"]]) for name in names],
        Axis("drawdown", "percent"),
        wide=True,
    )


def _weights(document: Mapping[str, Any], lead: str) -> list[Chart]:
    found = []
    for name in [lead, *(each for each in _shown(document, lead) if each != lead)][:MOST_WEIGHTS]:
        curve = document["curves"][name]
        layers = [(NAMES[asset], [row[at] for row in curve["weights"]], COLOURS[at]) for at, asset in enumerate(ASSETS)]
        means = [(label, sum(values) / len(values)) for label, values, _ in layers]
        text = ", ".join(f"{label} {mean * 100:.0f} %" for label, mean in means)
        found.append(
            stacked_areas(
                f"{name}: {text}",
                "Weights over time; the numbers are their means",
                _xs(document, curve["hours"]),
                layers,
                Axis("share of the value", "percent"),
                height=220,
            )
        )
    return found


def _verdicts(document: Mapping[str, Any]) -> Section:
    every = [*document["pooled"], *document["comparisons"]]
    together = {each["strategy"] for each in document["pooled"]}
    shown = [
        each
        for each in every
        if each["metric"] == _JUDGED and (each["trainings"] > 1 or each["strategy"].partition("@")[0] not in together)
    ]
    blocks: list[Block] = []
    if shown:
        rows = [(_pair(each), *(each["difference"][key] for key in ("value", "low", "high"))) for each in shown[:24]]
        decided = sum(each["verdict"] in {"better", "worse"} for each in shown)
        blocks.append(
            intervals(
                f"{decided:,} of {len(shown):,} comparisons are decided",
                "Paired difference of log growth with its interval, on the same markets"
                + (f"; the first 24 of {len(shown):,}" if len(shown) > 24 else ""),
                rows,
                Axis("log growth, portfolio less the other", "number"),
                reference=(0.0, "equal"),
                wide=True,
            )
        )
    table = tuple(
        (
            f"{each['strategy']} ({each['trainings']} trainings)" if each["trainings"] > 1 else each["strategy"],
            each["against"], TITLES[each["metric"]], each["verdict"],
            figure(each["metric"], each["difference"]["value"]), _interval(each["metric"], each["difference"]),
            each["wins"],
        )
        for each in every
    )  # fmt: skip
    columns = (
        Column("portfolio"), Column("against"), Column("by"), Column("verdict"), Column("difference", "text"),
        Column("interval", "text"), Column("wins", "percent"),
    )  # fmt: skip
    empty = "There is only one portfolio, and nothing to compare it with."
    blocks.append(Table(columns, table, empty=empty, note="Wins: share of episodes with more, ties counting half."))
    return Section("verdicts", "Paired differences", tuple(blocks))


def _pair(each: Mapping[str, Any]) -> str:
    many = f" ({each['trainings']} trainings)" if each["trainings"] > 1 else ""
    return f"{each['strategy']}{many} against {each['against']}"


def _figures_lead(document: Mapping[str, Any]) -> str:
    share = f"{document['settings']['confidence'] * 100:g} %"
    if document["market"]["kind"] == "simulated":
        return f"Each figure with its {share} interval over whole episodes, where one can be trusted."
    return f"Each figure with its {share} interval over blocks of {document['settings']['block_hours']} hours."


def _figures(document: Mapping[str, Any]) -> Table:
    """Transposed: one row a metric, one column a portfolio."""
    names = list(document["strategies"])
    rows: list[tuple[Any, ...]] = []
    for metric in METRICS:
        cells = []
        for name in names:
            estimate = document["strategies"][name]["metrics"][metric]
            interval = _interval(metric, estimate)
            cells.append(f"{figure(metric, estimate['value'])} {interval if interval.startswith('[') else ''}".strip())
        bound = document[BOUND].get(metric)
        rows.append((TITLES[metric], *cells, None if bound is None else f"at most {figure(metric, bound['value'])}"))
    rows.append(("stopped early", *(f"{document['strategies'][name]['stopped']:,}" for name in names), None))
    columns = (Column("metric"), *(Column(name, "text") for name in names), Column(BOUND, "text"))
    meaning = "; ".join(f"{TITLES[name]}: {text}" for name, text in METRICS.items())
    return Table(columns, tuple(rows), note=meaning)


def _windows(document: Mapping[str, Any]) -> Table:
    names = list(document["strategies"])
    rows = []
    for at, (begin, end) in enumerate(document["market"]["windows"]):
        cells = []
        for name in names:
            episodes = document["strategies"][name].get("episodes")
            cells.append(None if episodes is None else episodes[at]["total_return"] / 100)
        rows.append((f"{begin[:10]} to {end[:10]}", *cells))
    return Table(
        (Column("window"), *(Column(name, "exact_percent") for name in names)),
        tuple(rows),
        title="Return of each window",
    )


def _settings(document: Mapping[str, Any]) -> Table:
    rows = [(name, str(value)) for name, value in document["env"]["config"].items()]
    rows += [(f"{name} (backtest)", str(value)) for name, value in document["settings"].items()]
    return Table((Column("setting", "code"), Column("value")), tuple(rows))


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

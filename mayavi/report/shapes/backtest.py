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
from mayavi.report.numbers import change, minus_signs, percent
from mayavi.report.page import Block, Chart, Column, Page, Provenance, Section, Table, Tile, Verdict
from mayavi.report.run.words import plural
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


def _rival(document: Mapping[str, Any], lead: str) -> str | None:
    """The rule that the verdict compares the lead with."""
    found = _comparison(document, lead)
    if found is None:
        return None
    each, forward = found
    return str(each["against"] if forward else each["strategy"])


def _word(document: Mapping[str, Any], lead: str) -> str:
    """The verdict on the lead; empty without a comparison."""
    found = _comparison(document, lead)
    if found is None:
        return ""
    word = str(found[0]["verdict"])
    return word if found[1] else {"better": "worse", "worse": "better"}.get(word, word)


def _drawn(document: Mapping[str, Any]) -> bool:
    """Whether the market is simulated: metrics are then means over its episodes."""
    return bool(document["market"]["kind"] == "simulated")


def _field(document: Mapping[str, Any]) -> tuple[int, str]:
    """Number and kind of the portfolios that the lead was picked from."""
    subjects = document["subjects"]
    return (len(subjects), "policies") if subjects else (len(document["strategies"]), "rules")


def _verdict(document: Mapping[str, Any], lead: str) -> Verdict:
    found = _comparison(document, lead)
    if found is None:
        return Verdict("There is one portfolio, and nothing to compare it with.", "NO CLAIM", "warn")
    each, forward = found
    word, rival = _word(document, lead), _rival(document, lead)
    kind = ", the strongest rule," if _rivals(document, lead)[0] == rival else ""
    many = f"{document['market']['episodes']:,} {'markets' if _drawn(document) else 'windows'}"
    number, what = _field(document)
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
    interval = f"[{figure(_JUDGED, ends[0])}, {figure(_JUDGED, ends[1])}]" if len(ends) == 2 else "no interval"
    value = f"Paired difference of log growth: {figure(_JUDGED, sign * difference['value'])}"
    return Verdict(f"{sentence}.", word, TONES[word], f"{value} {interval}")


def _tiles(document: Mapping[str, Any], lead: str) -> tuple[Tile, ...]:
    metrics, rival = document["strategies"][lead]["metrics"], _rival(document, lead)
    found = []
    for metric in _TILES:
        other = document["strategies"][rival]["metrics"][metric]["value"] if rival else None
        beside = [f"{rival}: {_amount(metric, other)}"] if other is not None else []
        if metric == "cost":
            capital = document["env"]["config"]["initial_capital"]
            beside.insert(0, f"of ${capital:,.0f} invested" + ("" if _drawn(document) else " in each window"))
        title = {"total_return": f"return of {lead}", "cost": "trading cost"}.get(metric, TITLES[metric])
        found.append(
            Tile(
                f"mean {title}" if _drawn(document) else title,
                _amount(metric, metrics[metric]["value"]),
                interval=_interval(metric, metrics[metric]),
                change="; ".join(beside),
                exact=repr(metrics[metric]["value"]),
            )
        )
    return tuple(found)


def _amount(metric: str, value: float) -> str:
    """Format a metric with its unit."""
    return f"${figure(metric, value)}" if metric == "cost" else figure(metric, value)


def _interval(metric: str, estimate: Mapping[str, Any]) -> str:
    low, high = estimate["low"], estimate["high"]
    return "no interval" if low is None or high is None else f"[{_amount(metric, low)}, {_amount(metric, high)}]"


def _summary(document: Mapping[str, Any], lead: str) -> list[str]:
    one, drawn, found = document["strategies"][lead], _drawn(document), []
    told = {name: figure(name, one["metrics"][name]["value"]) for name in ("total_return", "sharpe", "max_drawdown")}
    number, what = _field(document)
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
    if (compared := _comparison(document, lead)) is not None:
        reason = minus_signs(compared[0]["reason"])
        found.append(f"{compared[0]['strategy']} against {compared[0]['against']}: {reason}.")
    bound = figure("total_return", document[BOUND]["total_return"]["value"])
    found.append(f"Nobody could have returned more than {bound}{' on average' if drawn else ''}, in hindsight.")
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
    """Portfolios that charts draw: the lead, its rival of the verdict, other policies, the fastest growing rules."""
    rival = _rival(document, lead)
    others = [name for name in document["strategies"] if name != lead]
    others.sort(key=lambda name: (name != rival, name not in document["subjects"], -_growth(document, name)))
    return [lead, *others][:MOST_LINES]


def _xs(document: Mapping[str, Any], hours: Sequence[float]) -> Xs:
    return Xs([round(hour / 24, 3) for hour in hours], "days", "number")


def _equity(document: Mapping[str, Any], lead: str) -> Chart:
    curves = document["curves"]
    series, ends = [], {}
    for name in _shown(document, lead):
        rows = curves[name]["equity"]
        middle = [value - 1 for value in rows[len(rows) // 2]]
        low = [value - 1 for value in rows[0]] if len(rows) == 3 and name == lead else None
        high = [value - 1 for value in rows[2]] if len(rows) == 3 and name == lead else None
        series.append(Line(name, middle, low=low, high=high))
        ends[name] = change(middle[-1])
    about = (
        f"Growth of the capital, median of {document['market']['episodes']:,} episodes (the tiles have means); the band"
        f" has 90 % of {lead}'s"
        if _drawn(document)
        else "Growth of the capital over consecutive windows, each started anew with the initial capital"
    )
    if len(series) < len(curves):
        about += f"; {len(series)} of {len(curves):,} portfolios"
    return lines(
        _equity_title(document, lead, ends),
        about,
        _xs(document, curves[lead]["hours"]),
        series,
        Axis("growth of the capital", "change"),
        marks=[(0.0, "initial capital")],
        wide=True,
    )


def _equity_title(document: Mapping[str, Any], lead: str, ends: Mapping[str, str]) -> str:
    """State the ends of lead and rival, and rank them only if the verdict does."""
    rival, median = _rival(document, lead), " at the median" if _drawn(document) else ""
    if rival is None:
        return f"{lead} ends at {ends[lead]}{median}"
    if _word(document, lead) in {"better", "worse"}:
        return f"{lead} ends at {ends[lead]}{median}, {rival} at {ends[rival]}"
    return f"{lead} and {rival} cannot be told apart: they end at {ends[lead]} and {ends[rival]}{median}"


def _drawdown(document: Mapping[str, Any], lead: str) -> Chart:
    curves, names = document["curves"], _shown(document, lead)
    metric = {name: document["strategies"][name]["metrics"]["max_drawdown"]["value"] for name in names}
    deepest = max(names, key=lambda name: metric[name])
    told = figure("max_drawdown", metric[deepest])
    which = deepest if len(names) == len(curves) else f"Of these {len(names)}, {deepest}"
    title = f"{which} falls deepest: {told} below its peak"
    about = "Loss from the highest value so far, over consecutive windows"
    if _drawn(document):
        title = f"{which} falls deepest: its episodes' largest drawdowns are {told} on average"
        about = (
            "Loss from the highest value so far at each hour, mean of all episodes. It is less deep than the mean of"
            " their largest drawdowns, which fall on different hours"
        )
    return lines(
        title,
        about,
        _xs(document, curves[lead]["hours"]),
        [Line(name, [0.0 - value for value in curves[name]["drawdown"]]) for name in names],
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
        rows = [(_pair(each), *_rounded(each["difference"])) for each in shown[:24]]
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


def _rounded(difference: Mapping[str, float | None]) -> tuple[float | None, float | None, float | None]:
    """Estimate and interval of log growth, with more digits than the interval supports."""
    value, low, high = (
        None if number is None else round(number, 6) for number in (difference[key] for key in ("value", "low", "high"))
    )
    return value, low, high


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

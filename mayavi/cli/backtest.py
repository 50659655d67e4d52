"""`mayavi backtest`: measure portfolio policies and rules on the same paths, with fees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayavi.cli.console.output import Column, print_json, print_note, print_table
from mayavi.cli.console.progress import activity, counted
from mayavi.cli.rl.eval import played_settings
from mayavi.cli.rl.options import ModelsOption, PlaySeedOption, SettingsOption, SplitOption
from mayavi.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from mayavi.portfolio.backtest.backtest import BacktestSettings

PORTFOLIO = "rwa"
UNCLAIMED = "saturated"
"""Verdict without a claim; its reason is printed below the table."""

PoliciesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="RUN|CHECKPOINT",
        help="A training run or a checkpoint (RUN:STEP, RUN:best); may be repeated. Without it, only rules play.",
    ),
]
DataOption = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="FILE|COLUMN=FILE:COLUMN",
        help="Historical data: one file, or one column of a file per --data.",
    ),
]


def backtest(
    env: Annotated[str, typer.Argument(metavar="ENV", help="The environment: rwa.")],
    policies: PoliciesOption = None,
    data: DataOption = None,
    simulated: Annotated[
        bool, typer.Option("--simulated", help="Draw price paths; the default without --data.")
    ] = False,
    episodes: Annotated[
        int | None, typer.Option("--episodes", metavar="N", help="Number of drawn episodes; by default 1,000.")
    ] = None,
    split: SplitOption = "test",
    begin: Annotated[
        str | None, typer.Option("--begin", metavar="TIME", help="Start of the part of --data to play.")
    ] = None,
    end: Annotated[str | None, typer.Option("--end", metavar="TIME", help="End of the part of --data to play.")] = None,
    against: Annotated[
        str | None, typer.Option("--against", metavar="A,B,…", help="Rules to compare with; by default all.")
    ] = None,
    overrides: SettingsOption = None,
    seed: PlaySeedOption = 0,
    block: Annotated[
        int,
        typer.Option(
            "--block-hours",
            metavar="N",
            help="With --data: hours of a block; intervals are computed from means of blocks.",
        ),
    ] = 168,
    minimum: Annotated[
        int,
        typer.Option(
            "--min-distinct", metavar="N", help="Fewer distinct episodes or blocks give the verdict `saturated`."
        ),
    ] = 20,
    in_sample: Annotated[
        bool, typer.Option("--in-sample", help="Also play policies on their training data, with a warning.")
    ] = False,
    models: ModelsOption = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="OUT", help="Write the report as one page.")] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Number of threads; no result depends on it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Backtest portfolio policies and rules on the same price paths, hour by hour and with fees.

    Policies play only data they have not seen: drawn paths of the test split, or windows of history after their
    training data. With several policies, each window is played by the newest one that has not seen it.
    """
    if env != PORTFOLIO:
        raise UnknownName.of("portfolio", env, [PORTFOLIO], f"a backtest plays '{PORTFOLIO}'; `mayavi eval` the others")
    if threads is not None and threads < 1:
        raise UsageError(f"{threads} threads do nothing", "give at least one thread")
    _check_market(data, simulated, episodes, begin, end)
    _check_output(html)
    from mayavi.portfolio.backtest.backtest import EPISODES, BacktestSettings
    from mayavi.statistics.bootstrap import Bootstrap

    settings = BacktestSettings(EPISODES if episodes is None else episodes, seed, Bootstrap(seed), minimum, block)
    config: dict[str, Any] = played_settings(overrides or [], split)
    if data:
        config |= {"data": ", ".join(data), "begin": begin, "end": end}
    names = None if against is None else [each.strip() for each in against.split(",") if each.strip()]
    document = _play(policies or [], models, names, settings, config, in_sample, _command(locals()), threads)
    if html is not None:
        from mayavi.report.render import render
        from mayavi.report.shapes.backtests.backtest import backtest_page

        html.write_text(render(backtest_page(document)), encoding="utf-8")
    if as_json:
        print_json(document)
        return
    print_report(document)
    if html is not None:
        print_note(f"drawn in {html}")


def _play(
    policies: Sequence[str],
    models: Path | None,
    against: Sequence[str] | None,
    settings: BacktestSettings,
    config: Mapping[str, Any],
    in_sample: bool,
    command: str,
    threads: int | None,
) -> dict[str, Any]:
    """Open the policies, play the backtest with a progress bar, and return its document."""
    from mayavi.portfolio.backtest.models import backtest_models
    from mayavi.rl.models import open_model

    with activity("opening policies and markets"):
        found = [open_model(each, models) for each in policies]
    with counted("playing", "portfolios" if "data" in config else "episodes", eta=True) as advance:
        return backtest_models(
            found,
            against,
            settings,
            config=config,
            in_sample=in_sample,
            command=command,
            threads=threads,
            progress=advance,
        )


def _check_market(
    data: list[str] | None, simulated: bool, episodes: int | None, begin: str | None, end: str | None
) -> None:
    if data and simulated:
        raise UsageError("--data and --simulated exclude each other", "give --data or --simulated")
    if data and episodes is not None:
        raise UsageError(
            "--episodes has no effect with --data: all windows that fit are played",
            "leave --episodes out; --begin and --end choose a part",
        )
    if not data and (begin or end):
        raise UsageError(
            "--begin and --end need --data: drawn paths have no dates", "--begin and --end choose a part of --data"
        )
    if data and len(data) > 1 and (plain := [each for each in data if "=" not in each]):
        raise UsageError(
            f"'{plain[0]}' is one of several --data and names no column",
            "write --data eth_price=FILE:COLUMN for each, or one file with all columns",
        )


def _check_output(html: Path | None) -> None:
    if html is None:
        return
    if html.is_dir():
        raise UsageError(f"'{html}' is a folder", "name a file in it")
    if not html.absolute().parent.is_dir():
        raise UsageError(f"there is no folder '{html.absolute().parent}'", "create it, or name another place")


def _command(given: dict[str, Any]) -> str:
    """Command line that reproduces this backtest."""
    import shlex

    parts = ["mayavi", "backtest", given["env"]]
    for option, key in (("--policy", "policies"), ("--data", "data"), ("--set", "overrides")):
        for value in given[key] or []:
            parts += [option, value]
    if not given["data"]:
        parts += ["--simulated", "--episodes", str(given["settings"].episodes)]
    for option, key in (("--begin", "begin"), ("--end", "end"), ("--against", "against"), ("--models", "models")):
        if given[key] is not None:
            parts += [option, str(given[key])]
    parts += ["--split", given["split"], "--seed", str(given["seed"])]
    for option, key, usual in (("--block-hours", "block", 168), ("--min-distinct", "minimum", 20)):
        if given[key] != usual:
            parts += [option, str(given[key])]
    if given["in_sample"]:
        parts.append("--in-sample")
    return shlex.join(parts)


SHOWN = {
    "total_return": "return",
    "cagr": "CAGR",
    "volatility": "vol",
    "sharpe": "Sharpe",
    "sortino": "Sortino",
    "max_drawdown": "max drawdown",
    "turnover": "turnover",
    "cost": "cost $",
}


def print_report(document: dict[str, Any]) -> None:
    """Print a backtest."""
    from mayavi.cli.run import plural
    from mayavi.portfolio.backtest.backtest import BOUND
    from mayavi.portfolio.backtest.formatting import figure

    market, config, settings = document["market"], document["env"]["config"], document["settings"]
    heading = [PORTFOLIO, f"{config['split']} split"]
    if market["kind"] == "historical":
        heading += [market["source"], f"{market['windows'][0][0]} to {market['windows'][-1][1]}"]
        heading += [f"{plural(market['episodes'], 'window')} of {plural(market['hours'], 'hour')}"]
    else:
        heading += [f"{plural(market['episodes'], 'drawn market')} of {plural(market['hours'], 'hour')}"]
    print(" · ".join([*heading, f"{config['rebalance_cost_bps']:g} bps and gas"]))
    if document["in_sample"]:
        print("in sample: a policy here may have been trained on these episodes")
    share = f"{settings['confidence'] * 100:g} %"
    rows = []
    for name, one in document["strategies"].items():
        cells = {metric: figure(metric, one["metrics"][metric]["value"]) for metric in SHOWN}
        cells["sharpe"] += f" {_interval('sharpe', one['metrics']['sharpe'])}"
        cells["total_return"] += f" {_interval('total_return', one['metrics']['total_return'])}"
        rows.append((name, *cells.values(), f"{one['stopped']:,}"))
    bound = figure("total_return", document[BOUND]["total_return"]["value"])
    rows.append((BOUND, f"at most {bound}", *[""] * len(SHOWN)))
    print_table([Column("", right=False), *(Column(title) for title in SHOWN.values()), Column("stopped")], rows)
    compared: dict[tuple[str, str], dict[str, Any]] = {}
    together = {each["strategy"] for each in document["pooled"]}
    alone = [each for each in document["comparisons"] if each["strategy"].partition("@")[0] not in together]
    for each in (*document["pooled"], *alone):
        name = f"all {each['trainings']} of {each['strategy']}" if each["trainings"] > 1 else each["strategy"]
        compared.setdefault((name, each["against"]), {})[each["metric"]] = each
    left = Column("", right=False)
    differences = [
        (
            *pair,
            *(part for metric in ("log_growth", "sharpe") for part in _difference(both[metric])),
            f"{both['log_growth']['wins'] * 100:.0f} %",
        )
        for pair, both in compared.items()
    ]
    if differences:  # empty for a single strategy
        titles = (Column("against", right=False), Column(f"log growth, {share}"), left, Column(f"Sharpe, {share}"))
        print_table([left, *titles, left, Column("wins")], differences)
    if together:
        print_note("comparisons of single trainings are in --json and --html")
    if unclaimed := next((each for each in document["comparisons"] if each["verdict"] == UNCLAIMED), None):
        print_note(f"{UNCLAIMED}: {unclaimed['reason']}")
    for reason in (*document["no_interval"], *document["interval_notes"]):
        print_note(reason)
    if market.get("assumed"):
        print_note(f"filled by a rule, for want of data: {', '.join(market['assumed'])}")


def _difference(paired: dict[str, Any]) -> tuple[str, str]:
    from mayavi.portfolio.backtest.formatting import figure

    metric = paired["metric"]
    return f"{figure(metric, paired['difference']['value'])} {_interval(metric, paired['difference'])}", paired[
        "verdict"
    ]


def _interval(metric: str, estimate: dict[str, float | None]) -> str:
    """Interval of a metric; `–` where none can be trusted."""
    from mayavi.portfolio.backtest.formatting import figure

    low, high = estimate["low"], estimate["high"]
    return "–" if low is None or high is None else f"[{figure(metric, low)}, {figure(metric, high)}]"

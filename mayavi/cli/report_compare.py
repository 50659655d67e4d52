"""`mayavi report compare`: one page of what differs between stored runs or sweeps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mayavi.cli.console.browser import open_in_browser
from mayavi.cli.console.output import print_json
from mayavi.cli.console.progress import activity


def compare(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN…", help="Two or more runs or sweeps: ids or unique parts; the first is the baseline."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The HTML file; by default comparison.html here.")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FILE", help="The database of runs; by default data/runs/runs.duckdb."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a page of what differs between runs or sweeps: parameters, figures, and paired differences.

    Figures of sweeps, and of runs of the same scenario with several seeds, are paired by seed, with intervals.
    """
    from mayavi.report.output import write_html
    from mayavi.report.registry import check_output
    from mayavi.report.render import render
    from mayavi.report.shapes.compare import compare_page
    from mayavi.sim.store import Store

    path = check_output(out or Path("comparison.html"), wanted=".html")
    database = Store(store)
    database.merge(patience_s=0.0)
    with activity(f"comparing {len(names)} results"):
        page = compare_page(database, names)
        write_html(render(page), path)
    if as_json:
        print_json(
            {
                "html": str(path),
                "bytes": path.stat().st_size,
                "badge": page.verdict.badge,
                "verdict": page.verdict.sentence,
            }
        )
    else:
        print(f"{page.verdict.badge}: {page.verdict.sentence}")
        print(f"{path}, {path.stat().st_size:,} bytes")
    if show:
        open_in_browser(path)

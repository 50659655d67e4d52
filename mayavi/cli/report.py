"""`mayavi report`: one self-contained page of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mayavi.cli.console.browser import open_in_browser
from mayavi.cli.console.group import command_group
from mayavi.cli.console.output import print_json, print_note
from mayavi.cli.console.progress import activity
from mayavi.cli.report_compare import compare

HELP = """Write the report of a run, a sweep or a training as one HTML page.

`mayavi report ID` is short for `mayavi report write ID`. ID is a run, sweep or training, a unique part of its id,
`latest`, or the JSON file of an evaluation, a backtest or an incident.

\b
  mayavi report latest --open           the newest run or sweep, shown in the browser
  mayavi report ID --pdf                also as a PDF
  mayavi report latest --kind run       the newest run, also if a sweep was later
  mayavi report compare RUN RUN         only what differs

`mayavi report write --help` lists the options.
"""

app = command_group(HELP, default="write")
app.command("compare", short_help="Write a page of what differs between runs or sweeps.")(compare)


@app.command("write", short_help="Write the report of a result.")
def write(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ID|FILE",
            help="A run, sweep or training: its id, a unique part of it, or `latest`; the JSON file of an evaluation,"
            " a backtest or an incident; or a database of replays.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The HTML file, or a folder for it; by default NAME-ID.html here."),
    ] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="Also print the page to a PDF beside it; needs Chromium.")] = False,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="Only this kind: run, sweep, training or file.")
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FILE", help="The database of runs; by default data/runs/runs.duckdb."),
    ] = None,
    models: Annotated[
        Path | None, typer.Option("--models", metavar="FOLDER", help="The folder of trainings; by default data/models.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write the report of a result: verdict, figures, charts, evidence, in one HTML file that needs no network.

    The page says first what happened, with the numbers behind it; charts open to the actions of a step. The same result
    gives the same bytes. `--pdf` prints it by a headless Chromium.
    """
    from mayavi.report.output import require_chromium, write_html, write_pdf
    from mayavi.report.registry import Places, check_output, find, in_folder
    from mayavi.report.render import render

    found = find(name, Places(store, models), kind)
    path = check_output(in_folder(out, f"{found.stem}.html"), wanted=".html")
    if pdf:
        require_chromium()  # before the work
    with activity(f"building the report of {found.kind} {found.id}"):
        page = found.build()
        html = render(page)
        write_html(html, path)
    printed = None
    if pdf:
        with activity("printing it to PDF"):
            printed = write_pdf(html, path.with_suffix(".pdf"))
    if as_json:
        print_json(
            {
                "kind": found.kind,
                "id": found.id,
                "html": str(path),
                "pdf": str(printed) if printed else None,
                "bytes": path.stat().st_size,
                "badge": page.verdict.badge,
                "verdict": page.verdict.sentence,
            }
        )
    else:
        print(f"{page.verdict.badge}: {page.verdict.sentence}")
        for file in filter(None, (path, printed)):
            print(f"{file}, {file.stat().st_size:,} bytes")
        if not show:
            print_note("`--open` shows it in the browser" + ("" if pdf else ", `--pdf` prints it"))
    if show:
        open_in_browser(path)

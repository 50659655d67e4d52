"""`mayavi backup`: copy the service's data to a folder while it works."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mayavi.cli.console.output import print_facts, print_json, print_note
from mayavi.cli.console.progress import activity


def backup(
    folder: Annotated[Path, typer.Argument(help="New or empty folder of the backup.", metavar="FOLDER")],
    data: Annotated[Path, typer.Option("--data", metavar="FOLDER", help="Folder of the service.")] = Path(
        "data/service"
    ),
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FILE", help="The database of runs; by default data/runs/runs.duckdb."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Copy keys, sessions, queue and runs to FOLDER. The service goes on meanwhile.

    Runs that have not ended are in the copied queue and not in the copied store: a restored service runs them again.
    """
    from mayavi.api.backup import back_up

    with activity("copying the queue and the runs"):
        made = back_up(data, store, folder)
    if as_json:
        files = {"database": str(made.database), "store": str(made.store)}
        print_json({**files, "jobs": made.jobs, "runs": made.runs})
        return
    print_facts([("queue", f"{made.database}, jobs: {made.jobs}"), ("runs", f"{made.store}, runs: {made.runs}")])
    print_note("to restore it, stop the service and copy both files back: docs/deployment.md")

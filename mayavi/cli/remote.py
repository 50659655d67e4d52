"""Options and steps of commands that work on a service instead of this machine: `--remote URL`."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayavi.cli.console.exit_codes import INTERRUPTED
from mayavi.cli.console.output import print_json, print_note
from mayavi.cli.console.progress import activity, counted
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mayavi.api.models.jobs import Event
    from mayavi.client import Client
    from mayavi.scenarios.run.result import Run
    from mayavi.scenarios.sweep.result import Sweep

    Document = dict[str, object]
    """JSON data that a command prints."""

KEY_VARIABLE = "MAYAVI_API_KEY"
LARGEST_TEXT = 262_144

RemoteOption = Annotated[
    str | None,
    typer.Option("--remote", metavar="URL", help="Run on the service at this address: http://127.0.0.1:8420."),
]
KeyFileOption = Annotated[
    Path | None,
    typer.Option("--key-file", metavar="FILE", help="With --remote: file with the key; by default MAYAVI_API_KEY."),
]


def refuse_local_options(options: Mapping[str, object]) -> None:
    """Raise `UsageError` for options that say something about this machine, which a service does not know."""
    for option, value in options.items():
        if value is not None:
            raise UsageError(
                f"{option} cannot be given with --remote",
                "the service has its own worlds, store and workers; leave it out, or run here without --remote",
            )


def refuse_key_file(key_file: Path | None) -> None:
    """Raise `UsageError` for `--key-file` without `--remote`."""
    if key_file is not None:
        raise UsageError("--key-file belongs to --remote", "add --remote URL, or leave it out")


def connect(url: str, key_file: Path | None) -> Client:
    """Return a client of the service at `url`, with the key of the file or of the environment."""
    import os

    if key_file is not None:
        try:
            key = key_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the key file '{key_file}' cannot be read", "it holds the key in one line") from error
    else:
        key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key:
        raise UsageError(f"--remote needs a key, and {KEY_VARIABLE} is not set", "set it, or give --key-file FILE")
    from mayavi.client import Client

    client = Client(url, key)
    client.check()  # a wrong address is known at once
    return client


def submission(scenario: str, chain: str | None, steps: int | None, overrides: list[str]) -> dict[str, Any]:
    """Return the arguments of `Client.submit_run` that name a scenario: a library name, or the text of a file.

    A file is loaded and checked here, and sent complete: with overrides applied and the files it names as data.
    """
    from mayavi.scenarios.loading import is_path, load_scenario

    changes = {path.strip(): value for path, _, value in (option.partition("=") for option in overrides)}
    if not is_path(scenario):
        for option in overrides:
            if "=" not in option:
                raise UsageError(f"'--set {option}' does not set anything", "write it as `--set A.B=C`")
        return {"scenario": scenario, "chain": chain, "steps": steps, "overrides": changes}
    found = load_scenario(Path(scenario), chain=chain, steps=steps, overrides=overrides, import_paths=False)
    size = len(found.text.encode())
    if size > LARGEST_TEXT:
        raise UsageError(
            f"'{scenario}' has {size:,} bytes with the files it names, and a service takes {LARGEST_TEXT:,}",
            "run it here without --remote",
        )
    return {"yaml": found.text, "seed": found.config.seed}


@contextmanager
def following(client: Client, kind: str, job_id: str) -> Iterator[None]:
    """Print how to follow a job that continues after Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        print(
            f"the {kind} goes on: {client.url}/app/{kind}s/{job_id} shows it"
            f" (cancel it there, or by DELETE {client.url}/{kind}s/{job_id})",
            file=sys.stderr,
        )
        raise typer.Exit(INTERRUPTED) from None


def show_progress(events: Iterator[Event], doing: str, unit: str) -> None:
    """Follow events to the end with a progress bar."""
    with ExitStack() as bars:
        waiting = bars.enter_context(ExitStack())
        waiting.enter_context(activity("waiting for a worker"))
        advance: Callable[[int, int], None] | None = None
        for event in events:
            if event.kind == "retried":
                print(f"started again: {event.message}", file=sys.stderr, flush=True)
            if event.kind == "started" and advance is None:
                waiting.close()
                advance = bars.enter_context(counted(doing, unit, eta=True))
            if event.progress is not None and advance is not None and event.progress.phase != "building the world":
                advance(event.progress.done, event.progress.total)


def run_remote(
    client: Client, wanted: dict[str, Any], seed: int | None, document: Callable[[Run], Document] | None
) -> None:
    """Submit a run, follow it, and print what `mayavi run` prints: `document` as JSON, or a summary if it is None."""
    from mayavi.cli.printing.remote import last_line, result_of
    from mayavi.cli.printing.run import summary_lines
    from mayavi.client.client import check_finished
    from mayavi.scenarios.loading import load_text

    as_json = document is not None
    if seed is not None:
        wanted["seed"] = seed
    submitted = client.submit_run(**wanted)
    heading = f"{submitted.scenario} · {submitted.chain} · seed {submitted.seed} · run {submitted.run_id}"
    print(heading, file=sys.stderr if as_json else sys.stdout, flush=True)
    with following(client, "run", submitted.run_id):
        show_progress(client.events(submitted.run_id), f"running {submitted.scenario}", "steps")
        details = client.show(submitted.run_id)
    if details.status != "halted" or not as_json:
        check_finished("run", details.run_id, details.status, details.error)
    run = result_of(client, details)
    if document is not None:
        print_json(document(run) | {"store": client.url})
        check_finished("run", details.run_id, details.status, details.error)
        return
    for line in summary_lines(run, load_text(details.scenario_text, import_paths=False).config):
        print(f"  {line}")
    print_note(f"  {last_line(client, run)}")


def sweep_remote(
    client: Client,
    wanted: dict[str, Any],
    seeds: str,
    grid: list[str],
    *,
    as_json: bool,
    show: Callable[[Sweep, str], None],
) -> None:
    """Submit a sweep and follow it; `show(sweep, last_line)` prints the result."""
    from mayavi.cli.printing.remote import last_line_of_sweep, sweep_of
    from mayavi.client.client import check_finished
    from mayavi.scenarios.sweep.plan import parse_grid, split_values

    parse_grid(grid)  # raises for an invalid axis
    axes = {path.strip(): split_values(values) for path, _, values in (axis.partition("=") for axis in grid)}
    wanted.pop("seed", None)
    submitted = client.submit_sweep(**wanted, seeds=seeds, grid=axes)
    heading = f"{submitted.scenario} · {submitted.runs:,} runs · {submitted.sweep_id}"
    print(heading, file=sys.stderr if as_json else sys.stdout, flush=True)
    with following(client, "sweep", submitted.sweep_id):
        show_progress(client.sweep_events(submitted.sweep_id), "sweeping", "runs")
        details = client.show_sweep(submitted.sweep_id)
    check_finished("sweep", details.sweep_id, details.status, details.error)
    found = sweep_of(client, details)
    show(found, last_line_of_sweep(client, found))

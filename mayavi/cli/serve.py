"""`mayavi serve`: the service and the dashboard."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.output import print_facts, print_note
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.api.service import Service

DATA = Path("data/service")


def serve(
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve example runs from data/demo-service, to this machine only.")
    ] = False,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen on; 0: a free one.", min=0, max=65535)] = 8420,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="Folder of keys, sessions and the queue; by default data/service."),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FILE", help="The database of runs; by default data/runs/runs.duckdb."),
    ] = None,
    models: Annotated[Path | None, typer.Option("--models", metavar="DIR", help="Folder of trainings.")] = None,
    workers: Annotated[
        list[str] | None,
        typer.Option(
            "--workers",
            metavar="N|ADDRESS",
            help="Number of processes that execute jobs, by default 1; `ray://host:10001`: a Ray cluster for sweeps.",
        ),
    ] = None,
    job_seconds: Annotated[
        float, typer.Option("--job-seconds", metavar="S", help="Longest time of a run, and of each run of a sweep.")
    ] = 3600.0,
    job_memory_mb: Annotated[
        int, typer.Option("--job-memory-mb", metavar="MB", help="Most memory of a job.", min=64)
    ] = 4096,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option("--allowed-host", metavar="NAME", help="Another host name to answer to; `*.example.org` works."),
    ] = None,
    secure_cookies: Annotated[
        bool, typer.Option("--secure-cookies", help="Send cookies over HTTPS only: behind a proxy with TLS.")
    ] = False,
    proxy_headers: Annotated[
        str | None,
        typer.Option(
            "--proxy-headers",
            metavar="ADDRESSES",
            help="Trust X-Forwarded-* from these proxies: 10.0.0.1,10.0.1.0/24.",
        ),
    ] = None,
) -> None:
    """Serve runs, sweeps and the dashboard until Ctrl-C or SIGTERM.

    The first start creates a key and prints it once; `mayavi keys` manages keys. Requests are logged to standard error.
    `--demo` has its own folder, runs examples there, and prints a link that logs in.
    """
    from mayavi.api.app import create_app
    from mayavi.api.queue.workers.worker_option import parse_workers
    from mayavi.api.server import bind
    from mayavi.api.server import serve as serve_app
    from mayavi.api.settings import ServiceSettings
    from mayavi.plugins.permission import forbid_import_paths
    from mayavi.sim.store import Store

    forbid_import_paths("the service runs no code that results name")  # in no process, whatever a result says
    processes, ray = parse_workers(workers or ["1"])
    if job_seconds <= 0:
        raise UsageError(f"a limit of {job_seconds:g} seconds lets no job end", "give --job-seconds above zero")
    if demo:
        from mayavi.api import demo as examples

        examples.check_loopback(host)
        data = data or examples.FOLDER
        store = store or data / examples.STORE
    data = data or DATA
    listener = bind(host, port)
    with listener:
        app = create_app(
            ServiceSettings(
                data=data,
                store=Store(store).path,
                models=models,
                workers=processes,
                ray=ray,
                job_seconds=job_seconds,
                job_memory_mb=job_memory_mb,
                secure_cookies=secure_cookies,
                allowed_hosts=(host, *(allowed_host or ())),
                log_requests=not demo,
            )
        )
        app.state.service.claim_data()  # refuses a second server before anything is announced
        if demo:
            announce_demo(host, listener.getsockname()[1], examples.demo_login(app.state.service), data)
            examples.start_examples(app.state.service)
        else:
            announce(app.state.service, host, listener.getsockname()[1], data)
        serve_app(app, listener, proxies=proxy_headers)


def announce_demo(host: str, port: int, key: str, data: Path) -> None:
    """Print the link that fills in the key. What follows `#` stays in the browser: no server and no log sees it."""
    shown = f"[{host}]" if ":" in host else host
    print_facts([("open", f"http://{shown}:{port}/app/#key={key}"), ("key", key), ("data", str(data))])
    print_note("the key is valid until the next start; the examples run now, Ctrl-C ends the demo")
    sys.stdout.flush()


def announce(service: Service, host: str, port: int, data: Path) -> None:
    """Print the address, and the first key or how to make one."""
    shown = f"[{host}]" if ":" in host else host
    where = f" --data {data}" if data != DATA else ""
    create = f"`mayavi keys create NAME --scope full{where}`"
    facts = [("address", f"http://{shown}:{port}"), ("new key", create)]
    if not service.keys.all():
        facts.insert(1, ("key", str(service.keys.create("first key", "full")[1])))
    print_facts(facts)
    if len(facts) == 3:
        print_note("the key is shown this once; log in with it, or send it as `Authorization: Bearer KEY`")
    sys.stdout.flush()

"""`mayavi keys`: create, list and revoke keys of the service."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mayavi.cli.console.group import command_group
from mayavi.cli.console.output import Column, print_facts, print_json, print_note, print_table
from mayavi.cli.serve import DATA
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.api.security.keys import Key, KeyRing

app = command_group("Create, list and revoke keys of the service.")

DataOption = Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder of the service.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
LONGEST_NAME = 80


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Person or program that the key is for.")],
    scope: Annotated[
        Literal["read", "full"], typer.Option("--scope", help="`read` sees runs and results, `full` also changes.")
    ] = "read",
    requests_per_minute: Annotated[
        int | None, typer.Option("--requests-per-minute", help="Most requests a minute.", min=1, max=1_000_000)
    ] = None,
    concurrent_jobs: Annotated[
        int | None, typer.Option("--concurrent-jobs", help="Most jobs that wait or run.", min=1, max=1000)
    ] = None,
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Create a key and print it. It is stored as a hash only, so it cannot be shown again."""
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise UsageError(f"the name {name!r} is empty, unprintable or longer than {LONGEST_NAME} characters")
    key, text = key_ring(data, create=True).create(
        name, scope, requests_per_minute=requests_per_minute, concurrent_jobs=concurrent_jobs
    )
    if as_json:
        print_json({**document(key), "key": str(text)})
        return
    print_facts([("key", str(text)), ("id", key.key_id), ("scope", key.scope)])
    print_note("the key is shown this once")


@app.command("list")
def list_keys(data: DataOption = DATA, as_json: JsonOption = False) -> None:
    """List the keys, newest first, revoked ones included."""
    found = key_ring(data).all()
    if as_json:
        print_json({"data": str(data), "keys": [document(key) for key in found]})
        return
    if not found:
        print_note("no keys yet; `mayavi keys create NAME` makes one")
        return
    columns = [Column(title, right=False) for title in ("id", "name", "scope", "created", "last used", "state")]
    rows = [
        (
            key.key_id,
            key.name,
            key.scope,
            moment(key.created_at) or "",
            moment(key.last_used_at) or "never",
            f"revoked {moment(key.revoked_at)}" if key.revoked_at else "valid",
        )
        for key in found
    ]
    print_table(columns, rows)


@app.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="An id of `mayavi keys list`.")],
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Revoke a key and end its sessions. A running service refuses it from the next request on."""
    key = key_ring(data).revoke(key_id)
    if as_json:
        print_json(document(key))
    else:
        print_facts([("revoked", f"{key.key_id}, {key.name}")])


def key_ring(data: Path, *, create: bool = False) -> KeyRing:
    """Open the keys of a service; raise `UsageError` if the folder has none."""
    from mayavi.api.database import FILE, ServiceDatabase
    from mayavi.api.security.keys import KeyRing

    if not create and not (data / FILE).is_file():
        raise UsageError(
            f"'{data}' has no service", "`mayavi serve` and `mayavi keys create` make one, `--data` names another"
        )
    return KeyRing(ServiceDatabase(data))


def document(key: Key) -> dict[str, object]:
    """Return a key for JSON output, with times in UTC."""
    times = {name: moment(getattr(key, name)) for name in ("created_at", "last_used_at", "revoked_at")}
    return {**asdict(key), **times}


def moment(seconds: float | None) -> str | None:
    """Format a time in UTC."""
    return None if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))

"""The command tree. The file of a command is imported when the command is used, or for the help of all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated

import typer

from mayavi import __version__
from mayavi.cli.console.group import command_group
from mayavi.cli.entries import ENTRIES, Entry, entry_of


def show_version(wanted: bool) -> None:
    """Print the version and exit if `--version` was given."""
    if wanted:
        print(f"mayavi {__version__}")
        raise typer.Exit


def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=show_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks (also MAYAVI_DEBUG=1).")] = False,
) -> None:
    """Options before the command. `--debug` is put into the environment for child processes."""
    if debug:
        os.environ["MAYAVI_DEBUG"] = "1"


def app_of(entries: Iterable[Entry] = ENTRIES) -> typer.Typer:
    """Import the files of `entries` and build their command tree."""
    app = command_group(
        "Economic agents on the real bytecode of DeFi protocols, offline and reproducible.", completion=True
    )
    app.callback()(root)
    for entry in entries:
        module, _, name = entry.target.partition(":")
        found = getattr(import_module(f"mayavi.cli.{module}"), name)
        if entry.summary is None:
            app.add_typer(found, name=entry.name)
        else:
            app.command(entry.name, short_help=entry.summary)(found)
    return app


def app_for(words: Sequence[str]) -> typer.Typer:
    """The command tree with only the command that `words` name: importing and parsing all takes 60 ms."""
    named = entry_of(words)
    return app_of([named] if named else ENTRIES)

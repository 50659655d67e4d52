"""The settings every group of commands shares."""

from __future__ import annotations

import sys

import typer


def command_group(summary: str, *, completion: bool = False) -> typer.Typer:
    """An empty group of commands that shows `summary` and its commands when called with none.

    Help is drawn by Rich on a terminal alone: importing Rich takes as long as everything else `--help` does.
    """
    return typer.Typer(
        help=summary,
        no_args_is_help=True,
        add_completion=completion,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich" if sys.stdout.isatty() else None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

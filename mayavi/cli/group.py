"""The settings every group of commands shares."""

from __future__ import annotations

import sys

import typer

from mayavi.cli.output import is_styled


def command_group(summary: str, *, completion: bool = False) -> typer.Typer:
    """An empty group of commands that shows `summary` and its commands when called with none.

    Help is drawn by Rich on a terminal alone, and not under NO_COLOR: importing Rich takes as long as everything else
    `--help` does.
    """
    return typer.Typer(
        help=summary,
        no_args_is_help=True,
        add_completion=completion,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich" if is_styled(sys.stdout) else None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

"""The settings every group of commands shares."""

from __future__ import annotations

import sys
from typing import Any

import typer
from typer.core import TyperGroup

from mayavi.cli.output import is_styled


def command_group(summary: str, *, completion: bool = False, default: str | None = None) -> typer.Typer:
    """An empty group of commands that shows `summary` and its commands when called with none.

    `default` names the command that is meant where the first word is none of them: `mayavi artifact RUN_ID`. Help is
    drawn by Rich on a terminal alone, and not under NO_COLOR: importing Rich takes as long as everything else `--help`
    does.
    """

    class Group(TyperGroup):
        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            named = default is None or args[0] in self.commands or args[0].startswith("-")
            return super().resolve_command(ctx, args if named else [str(default), *args])

    return typer.Typer(
        cls=Group,
        help=summary,
        no_args_is_help=True,
        add_completion=completion,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich" if is_styled(sys.stdout) else None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

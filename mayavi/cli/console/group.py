"""Settings shared by all command groups."""

from __future__ import annotations

import sys
from typing import Any

import typer
from typer.core import TyperGroup

from mayavi.cli.console.output import is_styled


def command_group(summary: str, *, completion: bool = False, default: str | None = None) -> typer.Typer:
    """An empty group of commands; without arguments it prints its help.

    `default` names the command to use if the first word is not a command: `mayavi artifact RUN_ID`. Rich formats help
    only on a terminal and not under NO_COLOR, because importing it doubles the time of `--help`.
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

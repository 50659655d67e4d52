"""Output of commands: Rich tables on a terminal, plain aligned columns in a pipe, no styles under NO_COLOR."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TextIO


class Column(NamedTuple):
    """A table column. `right` aligns right; `style` is a Rich style for terminals; `whole` never breaks a cell."""

    title: str
    right: bool = True
    style: str = ""
    whole: bool = False


def is_terminal(stream: TextIO) -> bool:
    """Whether `stream` is an interactive terminal."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def is_styled(stream: TextIO) -> bool:
    """Whether `stream` accepts escape sequences: a terminal without NO_COLOR."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print one row per line; in a pipe rows are never wrapped or cut."""
    if is_terminal(sys.stdout):
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
        for column in columns:
            table.add_column(
                column.title,
                justify="right" if column.right else "left",
                style=column.style,
                overflow="fold",
                no_wrap=column.whole,
            )
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        # Without a colour system Rich writes no escape sequences; its own NO_COLOR support keeps bold and dim.
        Console(color_system="auto" if is_styled(sys.stdout) else None).print(table)
        return
    lines = [[column.title for column in columns], *rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    for line in lines:
        cells = (
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        )
        print("  ".join(cells).rstrip())


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print one `name  value` pair per line, values aligned and continuation lines indented."""
    pairs = list(facts)
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        first, *rest = value.split("\n")
        print(f"{paint(name.ljust(width), '2', sys.stdout)}  {first}")
        for line in rest:
            print(f"{'':{width}}  {line}")


def print_note(text: str) -> None:
    """Print a dimmed line."""
    print(paint(text, "2", sys.stdout))


def print_json(document: object) -> None:
    """Print one JSON object on one line, the last line of a command's output."""
    print(json.dumps(document, ensure_ascii=False))


def print_error(message: str, hint: str | None = None) -> None:
    """Print `error: message` to standard error, with the lines of `hint` indented below."""
    sys.stderr.write(f"{paint('error:', '1;31', sys.stderr)} {message}\n")
    for line in (hint or "").splitlines():
        sys.stderr.write(f"  {line}\n")


def paint(text: str, code: str, stream: TextIO) -> str:
    """`text` in the ANSI style `code`, if `stream` accepts styles."""
    return f"\x1b[{code}m{text}\x1b[0m" if is_styled(stream) else text

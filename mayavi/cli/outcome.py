"""How a command ends: every way to fail becomes an exit code and a message that helps."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import typer

from mayavi.cli.output import print_error
from mayavi.errors import MayaviError

FAILURE, MISUSE, INTERRUPTED = 1, 2, 130


def run(arguments: Sequence[str] | None = None) -> int:
    """Execute the command `arguments` name and return its exit code; see `mayavi.cli.main`."""
    from mayavi.cli.app import app

    try:
        result = app(args=arguments, prog_name="mayavi", standalone_mode=False)
        sys.stdout.flush()  # a reader that left is noticed here, not in the interpreter's last breath
        return result if isinstance(result, int) else 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as end:  # the command framework's own way out when the reader of a pipe left
        hush_stdout()
        return end.code if isinstance(end.code, int) else FAILURE
    except BrokenPipeError:
        hush_stdout()
        return FAILURE
    except Exception as error:
        if os.environ.get("MAYAVI_DEBUG"):
            traceback.print_exception(error)
        return explain(error)


def explain(error: Exception) -> int:
    """Print `error` for a person, and return the exit code it deserves."""
    if isinstance(error, MayaviError):
        print_error(str(error), error.hint)
        return error.exit_code
    if isinstance(error, typer.TyperException):
        return explain_misuse(error)
    if isinstance(error, typer.Abort):
        print_error("aborted")
        return FAILURE
    if isinstance(error, OSError) and error.strerror:
        where = f" '{error.filename}'" if error.filename else ""
        print_error(f"{error.strerror[:1].lower()}{error.strerror[1:]}{where}")
        return FAILURE
    print_error(
        f"unexpected {type(error).__name__}: {error}",
        "this is a fault of mayavi itself; `mayavi --debug …` shows where it happened",
    )
    return FAILURE


def explain_misuse(error: typer.TyperException) -> int:
    """A wrong command, option or value, in the same words as every other error."""
    context = getattr(error, "ctx", None)
    message = error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(f"{message.rstrip()}\n")
        return MISUSE
    message, suggestion = split_suggestion(message)
    hints = [suggestion] if suggestion else []
    if context is not None:
        hints.append(f"`{context.command_path} --help` shows how it is called")
    print_error(message[:1].lower() + message[1:].strip().rstrip("."), "  ".join(hints) or None)
    return error.exit_code


def split_suggestion(message: str) -> tuple[str, str]:
    """The framework puts near names behind the message in two ways; here they are a hint."""
    head, _, names = message.partition(" (Possible options: ")
    if names:
        return head, f"did you mean {names.rstrip(')').replace(', ', ' or ')}?"
    head, _, names = message.partition(" Did you mean ")
    return head, f"did you mean {names}" if names else ""


def hush_stdout() -> None:
    """Let nobody write to a pipe whose reader has left: the interpreter would complain while it shuts down."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

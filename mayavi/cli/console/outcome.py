"""Run a command and turn every exception into an exit code and a helpful message."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import NamedTuple

import typer

from mayavi.cli.app import app_for
from mayavi.cli.console.exit_codes import FAILURE, INTERRUPTED, MISUSE
from mayavi.cli.console.output import print_error, print_json
from mayavi.errors import MayaviError
from mayavi.setup_errors import setup_fault

OFF = {"", "0", "false", "no", "off"}


class Failure(NamedTuple):
    """Message, hint and exit code of an error."""

    message: str
    hint: str | None = None
    exit_code: int = FAILURE


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command in `arguments` and return its exit code; see `mayavi.cli.main`."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        result = app_for(words)(args=words, prog_name="mayavi", standalone_mode=False)
        sys.stdout.flush()  # a closed pipe shows here, not at interpreter shutdown
        return result if isinstance(result, int) else 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as end:  # how the command framework reports a closed pipe
        silence_stdout()
        return end.code if isinstance(end.code, int) else FAILURE
    except BrokenPipeError:
        silence_stdout()
        return FAILURE
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # Python wraps one that comes while a class is made
            return INTERRUPTED
        if os.environ.get("MAYAVI_DEBUG", "").strip().lower() not in OFF:
            traceback.print_exception(error)
        return explain(error, as_json="--json" in words)


def explain(error: Exception, *, as_json: bool = False) -> int:
    """Print `error`, as JSON too if requested, and return its exit code."""
    failure = failure_of(error)
    try:
        sys.stdout.flush()
        if as_json:
            print_json({"error": failure.message, "hint": failure.hint, "exit_code": failure.exit_code})
            sys.stdout.flush()
    except OSError:  # standard output itself failed: a full disk, a closed pipe
        silence_stdout()
    if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help text, not an error
        sys.stderr.write(f"{failure.message}\n")
    else:
        print_error(failure.message, failure.hint)
    return failure.exit_code


def failure_of(error: Exception) -> Failure:
    """Message, hint and exit code for `error`."""
    if isinstance(error, MayaviError):
        return Failure(str(error), error.hint, error.exit_code)
    if isinstance(error, typer.TyperException):
        return misuse_of(error)
    if isinstance(error, typer.Abort):
        return Failure("aborted")
    if isinstance(error, ImportError) and (fault := setup_fault(error)):
        return Failure(str(fault), fault.hint, fault.exit_code)
    if isinstance(error, OSError) and error.strerror:
        where = f" '{error.filename}'" if error.filename else ""
        return Failure(f"{error.strerror[:1].lower()}{error.strerror[1:]}{where}")
    return Failure(
        f"unexpected {type(error).__name__}: {error}",
        "this is a bug in mayavi; `mayavi --debug …` shows where it happened",
    )


def misuse_of(error: typer.TyperException) -> Failure:
    """Failure for a wrong command, option or value."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return Failure(error.format_message().rstrip(), None, MISUSE)
    message, suggestion = split_suggestion(error)
    hints = [suggestion] if suggestion else []
    context = getattr(error, "ctx", None)
    if context is not None:
        hints.append(f"`{context.command_path} --help` shows the usage")
    return Failure(message[:1].lower() + message[1:].strip().rstrip("."), "  ".join(hints) or None, error.exit_code)


def split_suggestion(error: typer.TyperException) -> tuple[str, str]:
    """Message, and the nearest name as a hint."""
    near: Sequence[str] = getattr(error, "possibilities", None) or ()
    if near:
        from difflib import get_close_matches

        best = get_close_matches(getattr(error, "option_name", ""), near, n=1, cutoff=0.0)
        return error.message, f"did you mean {best[0]}?"
    head, _, names = error.format_message().partition(" Did you mean ")
    return head, f"did you mean {names}" if names else ""


def silence_stdout() -> None:
    """Redirect standard output to /dev/null, so that the interpreter does not complain at shutdown."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

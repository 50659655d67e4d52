"""The `mayavi` command line: one file a command, everything heavy imported inside the function that needs it.

`mayavi --help` must stay instant, so no module here imports NumPy, the kernel, Rich or a protocol at its top level;
tests/cli/test_startup.py pins that.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

__all__ = ["main"]

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `mayavi` with `arguments` (the process's own by default) and return its exit code.

    0 is success, 1 a failure, 2 a misuse, 130 an interruption. No exception escapes: an error is one `error: …` line
    on standard error, with the next step below it where one is known.
    """
    replace_closed_streams()
    with quiet_interruption():
        if arguments is None:  # the process is ours alone
            from mayavi.cli.process import prepare_process

            prepare_process()
        from mayavi.cli.outcome import run
    return run(arguments)


@contextmanager
def quiet_interruption() -> Iterator[None]:
    """Let an interruption end the process at once and quietly: there is nothing to tidy up while modules load."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # ignored, or another program's business
        yield
        return

    def leave(_number: int, _frame: FrameType | None) -> None:
        os._exit(INTERRUPTED)

    try:
        signal.signal(signal.SIGINT, leave)
    except ValueError:  # not the main thread, which alone is interrupted
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def replace_closed_streams() -> None:
    """Give standard streams that the caller closed a place to go, so that no file opened later takes their number."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (open to the end)

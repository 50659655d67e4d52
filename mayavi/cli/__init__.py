"""The `mayavi` command line: one file per command, a folder for a group of several files.

No module here imports NumPy, the kernel, Rich or a protocol at its top level, so that `mayavi --help` stays fast;
tests/cli/test_startup.py checks that.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from mayavi.cli.console.exit_codes import INTERRUPTED

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `mayavi` with `arguments` (the process's own by default) and return its exit code.

    0 is success, 1 a failure, 2 a misuse, 130 an interruption. No exception escapes: an error prints one `error: …`
    line to standard error, and a hint below it if there is one.
    """
    replace_closed_streams()
    with quiet_interruption():
        if arguments is None:  # the process is ours alone
            prepare_command()
        from mayavi.cli.console.outcome import run
    return run(arguments)


def prepare_command() -> None:
    """Set up this process for a fast start of the command that it is to run."""
    from mayavi.cli.entries import entry_of
    from mayavi.startup.process import prepare_process

    named = entry_of(sys.argv[1:])
    if named and named.name == "run":  # multiplies no matrices, and OpenBLAS takes 30 ms to start its threads
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    prepare_process(named.name if named else None)


@contextmanager
def quiet_interruption() -> Iterator[None]:
    """Exit at once on Ctrl-C while modules load: there is nothing to clean up."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # ignored, or another handler is set
        yield
        return

    def leave(_number: int, _frame: FrameType | None) -> None:
        os._exit(INTERRUPTED)

    try:
        signal.signal(signal.SIGINT, leave)
    except ValueError:  # not the main thread, which gets all signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def replace_closed_streams() -> None:
    """Replace closed standard streams, so that no file opened later takes their descriptor."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (open to the end)

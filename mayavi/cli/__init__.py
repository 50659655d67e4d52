"""The `mayavi` command line: one file a command, everything heavy imported inside the function that needs it.

`mayavi --help` must stay instant, so no module here imports NumPy, the kernel, Rich or a protocol at its top level;
tests/cli/test_startup.py pins that.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `mayavi` with `arguments` (the process's own by default) and return its exit code.

    0 is success, 1 a failure, 2 a misuse, 130 an interruption. No exception escapes: an error is one `error: …` line
    on standard error, with the next step below it where one is known.
    """
    from mayavi.cli.outcome import run

    return run(arguments)

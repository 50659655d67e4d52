"""Interrupt commands as a terminal does."""

from __future__ import annotations

import signal


def heed_interruptions() -> None:
    """Reset SIGINT in a child process (`preexec_fn`): shells start background jobs with the signal ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)

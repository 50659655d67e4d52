"""Exit codes of the `mayavi` command."""

FAILURE, MISUSE, INTERRUPTED = 1, 2, 130

"""The option `--workers` of `mayavi serve`."""

from __future__ import annotations

from collections.abc import Sequence

from mayavi.errors import UsageError

MOST_WORKERS = 256


def parse_workers(words: Sequence[str]) -> tuple[int, str | None]:
    """Return the number of worker processes and the address of a Ray cluster, if one is named.

    `["2"]` are two processes; `["ray://host:10001"]` is one, and sweeps run on the cluster; both may be given.
    """
    number, address = None, None
    for word in (each.strip() for each in words):
        if word.isascii() and word.isdigit():
            if number is not None:
                raise UsageError("--workers names two numbers of processes", "leave one out")
            number = int(word)
            if number > MOST_WORKERS:
                raise UsageError(f"{number} worker processes are too many", f"at most {MOST_WORKERS}")
        elif word == "auto" or word.startswith("ray://") or ":" in word:
            if address is not None:
                raise UsageError("--workers names two Ray clusters", "leave one out")
            address = word
        else:
            raise UsageError(
                f"--workers {word} is neither a number of processes nor a Ray cluster",
                "give a number, or an address: ray://host:10001, host:6379, auto",
            )
    return 1 if number is None else number, address

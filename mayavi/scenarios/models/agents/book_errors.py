"""Collect the errors of a book, so that one message lists them all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mayavi.errors import BadScenario

MOST_LISTED = 10
"""Most errors that are listed; of the others only the number is."""


class BookErrors:
    """Errors of a book, in the order of its lines."""

    def __init__(self) -> None:
        self.found: list[BadScenario] = []

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Keep a `BadScenario` that the body raises, and go on after it."""
        try:
            yield
        except BadScenario as error:
            self.found.append(error)

    def raise_any(self) -> None:
        """Raise one error that lists all that were collected; do nothing if there is none."""
        if not self.found:
            return
        first, *others = self.found
        hints = [first.hint] if first.hint else []
        hints += [f"also {each.message}" for each in others[: MOST_LISTED - 1]]
        if len(self.found) > MOST_LISTED:
            hints.append(f"and {len(self.found) - MOST_LISTED:,} more")
        raise BadScenario(first.message, "\n".join(hints) or None)

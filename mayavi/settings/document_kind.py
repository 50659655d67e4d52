"""Wording and error class of messages about one kind of settings document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mayavi.errors import UsageError

Place = tuple[str | int, ...]
"""Path to a value: keys of mappings and indexes of lists."""


@dataclass(frozen=True, slots=True)
class DocumentKind:
    """Wording of errors about one kind of document. Each package with settings defines its own kind."""

    noun: str = "settings file"
    error: type[UsageError] = UsageError
    """Raised for content that does not fit; a file that cannot be read is always a plain `UsageError`."""
    owner: str | None = None
    """Subject of flat settings, such as "a training": errors then say "setting 'x'" instead of a path."""
    missing_hint: str | None = None
    """Hint where the file does not exist."""
    empty_hint: str | None = None
    """Hint where the file holds nothing."""
    start_hint: str | None = None
    """Hint where the file holds something other than a mapping."""
    size_hint: str | None = None
    """Hint where the file is too large."""
    keys_hint: str | None = None
    """Hint for an unknown key that resembles none; by default the known keys are listed."""
    other_keys: tuple[str, ...] = ()
    """Keys beside those of the model, which a misspelt key may mean."""
    place_hints: Mapping[Place, str] = field(default_factory=dict)
    """Hints for a value that is missing, or a collection of the wrong length, at a place."""
    override_example: str = "key=value"
    named_sections: tuple[str, ...] = ()
    """Top-level mappings whose keys are names: an override must not invent a new one by misspelling."""
    dotted_sections: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Top-level mappings whose keys contain dots, with the keys that may follow such a key in an override."""
    tag_keys: tuple[str, ...] = ()
    """Keys that select the model of a mapping, such as `kind`: another value replaces the mapping, not merges."""

    def subject(self, place: Iterable[str | int]) -> str:
        """Name of the value at `place` in a sentence: `agents.borrowers.count`, or `setting 'horizon'`."""
        path = dotted(place)
        if not path:
            return f"the {self.noun}"
        return path if self.owner is None else f"setting '{path}'"


def dotted(place: Iterable[str | int]) -> str:
    """Join a place with dots: `agents.borrowers.count`."""
    return ".".join(map(str, place))

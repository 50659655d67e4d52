"""`ActionSearch`: find actions by their words, as the log shows them: calls, amounts and changes."""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mayavi.api.reading.runs.state_changes import state_changes
from mayavi.report.run.actions import describe

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_CHARACTERS = 48 * 2**20
"""Size of all words in memory; the words of a longer log are made anew for each search."""
_BATCH = 10_000
_WORDS = "SELECT seq, agent, account, kind, status, reason, details FROM actions WHERE run_id = $1 ORDER BY seq"
_ALL = "SELECT seq FROM actions WHERE run_id = $1"
_RAW = "SELECT seq FROM actions WHERE run_id = $1 AND contains(lower(details), $2::VARCHAR)"
_SEPARATOR = re.compile(r"(?<=\d),(?=\d{3})")
_NUMBER = re.compile(r"\d+(\.\d+)?(?!\d)")


class ActionSearch:
    """Words of the logs that were searched last, so that typing on costs no decoding."""

    def __init__(self, most_characters: int = MOST_CHARACTERS) -> None:
        self._most = most_characters
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, dict[int, str]] = OrderedDict()
        self._characters = 0

    def find(
        self,
        connection: DuckDBPyConnection,
        run_id: str,
        decimals: Mapping[str, int],
        text: str,
        version: Hashable | None = None,
    ) -> set[int]:
        """Return `seq` of the actions with `text` in what the log shows of them, or in their exact fields.

        The words are kept under `version`, which names an ended run; None keeps nothing. Thousands separators, the
        kind of minus and zeros after the last decimal do not matter.
        """
        sought = " ".join(plain(text).split())
        if not sought:
            return {seq for (seq,) in connection.execute(_ALL, [run_id]).fetchall()}
        pattern = _pattern(sought)
        kept = self._words(version)
        words = _words(connection, run_id, decimals) if kept is None else iter(kept.items())
        if kept is None and version is not None:
            made = dict(words)
            self._keep(version, made)
            words = iter(made.items())
        found = {seq for seq, shown in words if (pattern.search(shown) if pattern else sought in shown)}
        raw = connection.execute(_RAW, [run_id, text.lower()]).fetchall()
        return found | {seq for (seq,) in raw}

    def _words(self, version: Hashable | None) -> dict[int, str] | None:
        with self._lock:
            if version is None or version not in self._kept:
                return None
            self._kept.move_to_end(version)
            return self._kept[version]

    def _keep(self, version: Hashable, words: dict[int, str]) -> None:
        size = sum(map(len, words.values()))
        with self._lock:
            if size > self._most or version in self._kept:
                return
            self._kept[version] = words
            self._characters += size
            while self._characters > self._most:
                _, gone = self._kept.popitem(last=False)
                self._characters -= sum(map(len, gone.values()))


def plain(text: str) -> str:
    """Return lower-case text with hyphens for minus signs, and numbers without thousands separators."""
    return _SEPARATOR.sub("", text.lower().replace("−", "-").replace("\u00a0", " "))


def _pattern(sought: str) -> re.Pattern[str] | None:
    """Return a pattern in which `1234.5 usdc` finds `1234.50 usdc`, and `12` finds `12.00`; None without numbers."""
    parts: list[str] = []
    end = 0
    for number in _NUMBER.finditer(sought):
        parts += [re.escape(sought[end : number.start()]), re.escape(number[0])]
        parts.append("0*" if number[1] else r"(?:\.0+)?")
        end = number.end()
    if not parts:
        return None
    return re.compile("".join([*parts, re.escape(sought[end:])]))


def _words(connection: DuckDBPyConnection, run_id: str, decimals: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """Yield `seq` and everything that the log shows of each action."""
    rows = connection.execute(_WORDS, [run_id])
    while batch := rows.fetchmany(_BATCH):
        for seq, agent, account, kind, status, reason, written in batch:
            details = parsed(written)
            changes = state_changes(kind, status, details, decimals)
            shown = [agent, account, kind, f"{status}: {reason}", describe(kind, details, decimals), *changes]
            yield seq, plain("\n".join(shown))


def parsed(details: str) -> dict[str, Any]:
    """Return the exact fields of an action; none where they cannot be read."""
    try:
        found = json.loads(details)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}

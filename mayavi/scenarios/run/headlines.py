"""What is told at the end of a run, counted while its rows go by: nothing has to be read back."""

from __future__ import annotations

import json
import re
from collections import Counter

from mayavi.sim.rows import ActionRow, Recorder, RunEnd, RunInfo, SnapshotRow

_NUMBER = re.compile(r"(?<![\w./-])(?<!reverted: )(?:0x[0-9a-fA-F]{40}|\d[\d_,]*(?:\.\d+)?)(?![\w/])")
"""Amounts and addresses, but not the digits of a name, nor the number of an error."""


def gist(reason: str) -> str:
    """A reason without its amounts, so that those of one kind count together."""
    return _NUMBER.sub("…", reason)


class Headlines:
    """Hands every row on to `recorder`, and counts."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.info: RunInfo | None = None
        self.ended: RunEnd | None = None
        self.kinds: Counter[str] = Counter()
        """Successful actions by kind."""
        self.failures: Counter[str] = Counter()
        """Failed actions by reason, whatever the numbers in it."""
        self.raised: Counter[str] = Counter()
        """Agents whose own code broke, by name."""
        self.liquidated = ""
        """The first account that was liquidated."""
        self.first: dict[tuple[str, str], SnapshotRow] = {}
        """The market as the run found it, by subject and metric …"""
        self.last: dict[tuple[str, str], SnapshotRow] = {}
        """… and as it left it."""

    def begin(self, info: RunInfo) -> None:
        """The run starts."""
        self.info = info
        self._recorder.begin(info)

    def record(self, actions: list[ActionRow], snapshots: list[SnapshotRow]) -> None:
        """A step is done."""
        for row in actions:
            if row.status == "success":
                self.kinds[row.kind] += 1
                if row.kind == "liquidate" and not self.liquidated:
                    self.liquidated = str(json.loads(row.details).get("borrower", ""))
            elif row.status == "failed":
                self.failures[gist(row.reason)] += 1
            else:
                self.raised[row.agent] += 1
        for figure in snapshots:
            key = (figure.subject, figure.metric)
            self.first.setdefault(key, figure)
            self.last[key] = figure
        self._recorder.record(actions, snapshots)

    def end(self, end: RunEnd) -> None:
        """The run is over."""
        self.ended = end
        self._recorder.end(end)

    def prices(self, subject: str | None, token: str) -> tuple[float, float] | None:
        """The first and the last price of `subject`, or of `token` on any lending market."""
        for key, before in self.first.items():
            of, metric = key
            if metric == "price" and (of == subject or (subject is None and of.rpartition(".")[2] == token)):
                return before.number, self.last[key].number
        return None

"""`ChangedParameters`: the parameters of listed runs that differ from their library scenario."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from hashlib import md5
from types import MappingProxyType
from typing import TYPE_CHECKING

from fastapi.concurrency import run_in_threadpool

from mayavi.sim.store import Store
from mayavi.sim.store.database.schema import listed
from mayavi.sim.store.database.views import reading

if TYPE_CHECKING:
    from mayavi.api.reading.runs.bodies import IndexedRun

MOST_KEPT = 20_000
PATIENCE_S = 0.3
MOST_SHOWN = 12
"""Parameters of a run in a list; the page of the run has them all."""
_LONGEST = 60
_TEXTS = "SELECT scenario, chain, scenario_text FROM runs WHERE list_contains({run_ids}, run_id)"
_MOST_OFFERED = 256
_RUNNING: set[asyncio.Future[None]] = set()
"""Tasks in the background: the event loop keeps no reference to them."""
log = logging.getLogger(__name__)
_NONE: Mapping[str, str] = MappingProxyType({})


class ChangedParameters:
    """Values by dotted key for each scenario text, which the runs of a sweep point share."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Mapping[str, str]] = OrderedDict()
        self._offered: OrderedDict[str, tuple[str, str, str]] = OrderedDict()

    def offer(self, fingerprint: str, scenario: str, chain: str, text: str) -> None:
        """Give a scenario text that was read for another purpose, so that it need not be read again."""
        if fingerprint not in self._known:
            self._offered[fingerprint] = scenario, chain, text
            while len(self._offered) > _MOST_OFFERED:
                self._offered.popitem(last=False)

    def known(self, fingerprint: str | None) -> Mapping[str, str]:
        """Return what is known of a scenario text; empty where nothing differs, or where it was not read yet."""
        return _NONE if fingerprint is None else self._known.get(fingerprint, _NONE)

    def is_read(self, fingerprint: str | None) -> bool:
        """Whether the scenario text has been read."""
        return fingerprint is None or fingerprint in self._known

    def unread(self, runs: Iterable[IndexedRun]) -> dict[str, str]:
        """Return a run by each fingerprint of a scenario text that has to be read first."""
        found = {run.fingerprint: run.run_id for run in runs if run.fingerprint is not None}
        return {fingerprint: run_id for fingerprint, run_id in found.items() if fingerprint not in self._known}

    async def read_soon(self, runs: Iterable[IndexedRun]) -> bool:
        """Read the scenarios of runs in a thread; False if that takes longer than a list should wait.

        The first time loads the library of scenarios, about a second of a processor. The reading goes on then, and a
        later list has its results.
        """
        unread = self.unread(runs)
        if not unread:
            return True
        task = asyncio.ensure_future(run_in_threadpool(self.read, unread))
        done, _ = await asyncio.wait({task}, timeout=PATIENCE_S)
        if task in done:
            task.result()
        else:
            _RUNNING.add(task)
            task.add_done_callback(_finished)
        return task in done

    def read(self, unread: Mapping[str, str]) -> None:
        """Read the scenarios of runs, by fingerprint. Blocks for about a millisecond each."""
        with self._lock:
            rows, missing = [], []
            for fingerprint, run_id in unread.items():
                if (offered := self._offered.pop(fingerprint, None)) is not None:
                    rows.append(offered)
                elif fingerprint not in self._known:
                    missing.append(run_id)
            if missing:
                with reading(self._store.path) as connection:
                    rows += connection.execute(_TEXTS.format(run_ids=listed(missing))).fetchall()
            for scenario, chain, text in rows:
                name = md5(text.encode(), usedforsecurity=False).hexdigest()
                if name not in self._known:
                    self._known[name] = short_changes(scenario, chain, text)
            while len(self._known) > MOST_KEPT:
                self._known.popitem(last=False)


def _finished(task: asyncio.Future[None]) -> None:
    _RUNNING.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        log.warning("the parameters of runs could not be read: %s", error)


def short_changes(scenario: str, chain: str, text: str) -> Mapping[str, str]:
    """Return the values that differ from the library's scenario, shortened and at most `MOST_SHOWN`, by dotted key."""
    from mayavi.report.run.parameters import OWN_OPTIONS, changes, shown_value

    found = changes(scenario, chain, text) or []
    kept = [(key, shown_value(value)) for key, _, value in found if key not in OWN_OPTIONS]
    return {key: value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…" for key, value in kept[:MOST_SHOWN]}

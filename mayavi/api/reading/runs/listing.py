"""Filter, sort and page the runs of the index."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from itertools import islice

from mayavi.api.errors import ApiError
from mayavi.api.models.base import Order, Problem
from mayavi.api.models.jobs import JobStatus
from mayavi.api.reading.runs.bodies import IndexedRun
from mayavi.api.reading.runs.index import Runs
from mayavi.api.reading.runs.orders import Value


@dataclass(frozen=True, slots=True)
class Wanted:
    """Filters, order and cursor of a request for runs."""

    scenario: str | None = None
    chain: str | None = None
    status: tuple[JobStatus, ...] = ()
    sweep_id: str | None = None
    search: str | None = None
    single: bool = False
    sort: str = "submitted_at"
    order: Order = "desc"
    limit: int = 100
    cursor: str | None = None

    def fits(self, run: IndexedRun) -> bool:
        """Whether the run is part of the list."""
        return (
            (self.scenario is None or run.scenario == self.scenario)
            and (self.chain is None or self.chain in (run.chain, run.world))
            and (not self.status or run.status in self.status)
            and (self.sweep_id is None or run.sweep_id == self.sweep_id)
            and not (self.single and run.sweep_id is not None)
            and (not self.search or self.search.lower() in run.found_by)
        )

    @property
    def choice(self) -> tuple[object, ...]:
        """Filter and order, without the page."""
        return (self.sort, self.scenario, self.chain, self.status, self.sweep_id, self.search, self.single)


@dataclass(frozen=True, slots=True)
class RunPage:
    """A page of the list: its runs, the number of all that fit, and the cursor of the page after it."""

    runs: list[IndexedRun]
    total: int
    following: str | None

    def body(self) -> bytes:
        """Return the page as JSON of `Listing[RunSummary]`."""
        tail = f'],"total":{self.total},"next":{json.dumps(self.following)}}}'
        return b'{"items":[' + b",".join(run.body for run in self.runs) + tail.encode()


def page_of(runs: Runs, wanted: Wanted) -> RunPage:
    """Return a page of the list. 422 for a cursor of another list."""
    cursor = None if wanted.cursor is None else _decoded(wanted.cursor, wanted)
    chosen = runs.orders.get(wanted, runs.by_id.values())
    keys = list(islice(chosen.after(cursor, wanted.order), wanted.limit + 1))
    following = _encoded(keys[wanted.limit - 1], wanted) if len(keys) > wanted.limit else None
    return RunPage([runs.by_id[run_id] for _, run_id in keys[: wanted.limit]], len(chosen), following)


def _encoded(last: tuple[Value | None, str], wanted: Wanted) -> str:
    text = json.dumps([wanted.sort, wanted.order, *last], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decoded(cursor: str, wanted: Wanted) -> tuple[Value | None, str]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        sort, order, value, run_id = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, TypeError):
        raise _wrong("it is not the `next` of an answer") from None
    if (sort, order) != (wanted.sort, wanted.order):
        raise _wrong("it belongs to a list in another order")
    text = wanted.sort in {"scenario", "chain", "status"}
    valid = isinstance(value, str) if text else isinstance(value, int | float) and not isinstance(value, bool)
    if not isinstance(run_id, str) or not (valid or value is None):
        raise _wrong("it is not the `next` of an answer")
    return value, run_id


def _wrong(why: str) -> ApiError:
    problem = Problem(message=f"the cursor cannot be used: {why}", field="cursor")
    return ApiError(422, problem.message, "leave it out for the first page", problems=(problem,))

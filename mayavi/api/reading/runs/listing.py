"""Filter, sort and page the runs of the index."""

from __future__ import annotations

import base64
import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from mayavi.api.errors import ApiError
from mayavi.api.models.base import Order, Problem
from mayavi.api.models.jobs import JobStatus
from mayavi.api.reading.runs.bodies import IndexedRun
from mayavi.api.reading.runs.index import Runs

Value = str | int | float
Key = tuple[Value, str]

SORTS: dict[str, Callable[[IndexedRun], Value | None]] = {
    "submitted_at": attrgetter("begun"),
    "scenario": attrgetter("scenario"),
    "chain": attrgetter("chain"),
    "seed": attrgetter("seed"),
    "status": attrgetter("status"),
    "seconds": attrgetter("seconds"),
    "actions": attrgetter("actions"),
    "bad_debt": attrgetter("bad_debt"),
}
"""Values by which lists are sorted. A run of the command line counts as submitted when it started."""


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
            and (self.chain is None or run.chain == self.chain)
            and (not self.status or run.status in self.status)
            and (self.sweep_id is None or run.sweep_id == self.sweep_id)
            and not (self.single and run.sweep_id is not None)
            and (not self.search or self.search.lower() in run.found_by)
        )

    @property
    def is_filtered(self) -> bool:
        """Whether some runs may be left out."""
        chosen = (self.scenario, self.chain, self.sweep_id)
        return any(each is not None for each in chosen) or bool(self.status or self.search or self.single)


@dataclass(frozen=True, slots=True)
class Sorted:
    """Runs in ascending order: those with a value and their keys, then those without one, by id."""

    runs: list[IndexedRun]
    keys: list[Key]
    without: list[IndexedRun]
    ids: list[str]

    def only(self, wanted: Wanted) -> Sorted:
        """The runs that fit."""
        places = [place for place, run in enumerate(self.runs) if wanted.fits(run)]
        without = [run for run in self.without if wanted.fits(run)]
        return Sorted(
            [self.runs[place] for place in places],
            [self.keys[place] for place in places],
            without,
            [run.run_id for run in without],
        )

    def after(self, cursor: tuple[Value | None, str] | None, order: Order) -> Iterator[tuple[IndexedRun, Value | None]]:
        """Yield runs with their values, from the one after the cursor; runs without a value come last."""
        value, run_id = cursor if cursor is not None else (None, "")
        start, start_without = 0, 0
        if order == "asc":
            if cursor is not None:
                start = len(self.keys) if value is None else bisect_right(self.keys, (value, run_id))
                start_without = bisect_right(self.ids, run_id) if value is None else 0
            places: Sequence[int] = range(start, len(self.runs))
            places_without: Sequence[int] = range(start_without, len(self.without))
        else:
            start, start_without = len(self.keys), len(self.ids)
            if cursor is not None:
                start = 0 if value is None else bisect_left(self.keys, (value, run_id))
                start_without = bisect_left(self.ids, run_id) if value is None else len(self.ids)
            places = range(start - 1, -1, -1)
            places_without = range(start_without - 1, -1, -1)
        for place in places:
            yield self.runs[place], self.keys[place][0]
        for place in places_without:
            yield self.without[place], None


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
    chosen = in_order(runs, wanted.sort)
    if wanted.is_filtered:
        chosen = chosen.only(wanted)
    found: list[IndexedRun] = []
    following = None
    last: tuple[Value | None, str] = (None, "")
    for run, value in chosen.after(cursor, wanted.order):
        if len(found) == wanted.limit:
            following = _encoded(last, wanted)
            break
        found.append(run)
        last = (value, run.run_id)
    return RunPage(found, len(chosen.runs) + len(chosen.without), following)


def in_order(runs: Runs, sort: str) -> Sorted:
    """Return all runs sorted by a value; computed once for each state of the index."""
    known = runs.orders.get(sort)
    if known is None:
        value_of = SORTS[sort]
        keyed: list[tuple[Value, str, IndexedRun]] = []
        without: list[tuple[str, IndexedRun]] = []
        for run_id, run in runs.by_id.items():
            value = value_of(run)
            if value is None:
                without.append((run_id, run))
            else:
                keyed.append((value, run_id, run))
        keyed.sort(key=lambda each: each[:2])
        without.sort(key=lambda each: each[0])
        known = runs.orders[sort] = Sorted(
            [run for _, _, run in keyed],
            [(value, run_id) for value, run_id, _ in keyed],
            [run for _, run in without],
            [run_id for run_id, _ in without],
        )
    found: Sorted = known
    return found


def _encoded(last: tuple[Value | None, str], wanted: Wanted) -> str:
    text = json.dumps([wanted.sort, wanted.order, *last], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decoded(cursor: str, wanted: Wanted) -> tuple[Value | None, str]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        sort, order, value, run_id = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, TypeError):
        raise _wrong("it is none that an answer gave as `next`") from None
    if (sort, order) != (wanted.sort, wanted.order):
        raise _wrong("it belongs to a list in another order")
    text = wanted.sort in {"scenario", "chain", "status"}
    valid = isinstance(value, str) if text else isinstance(value, int | float) and not isinstance(value, bool)
    if not isinstance(run_id, str) or not (valid or value is None):
        raise _wrong("it is none that an answer gave as `next`")
    return value, run_id


def _wrong(why: str) -> ApiError:
    problem = Problem(message=f"the cursor cannot be used: {why}", field="cursor")
    return ApiError(422, problem.message, "leave it out for the first page", problems=(problem,))

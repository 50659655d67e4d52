"""`RunOrders`: lists of runs that follow changes, so that a page needs no look at all runs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Protocol

from mayavi.api.models.base import Order
from mayavi.api.reading.runs.bodies import IndexedRun

Value = str | int | float
Key = tuple[Value, str]

SORTS: dict[str, Callable[[IndexedRun], Value | None]] = {
    "submitted_at": attrgetter("begun"),
    "scenario": attrgetter("scenario"),
    "chain": attrgetter("world"),
    "seed": attrgetter("seed"),
    "status": attrgetter("status"),
    "seconds": attrgetter("seconds"),
    "actions": attrgetter("actions"),
    "bad_debt": attrgetter("bad_debt"),
}
"""Values by which lists are sorted. A run of the command line counts as submitted when it started."""
MOST_KEPT = 16


class Choice(Protocol):
    """Filter and sort order of a list."""

    @property
    def sort(self) -> str:
        """Name of a value of `SORTS`."""

    @property
    def choice(self) -> Hashable:
        """Cache key: equal for lists with the same filter and order."""

    def fits(self, run: IndexedRun) -> bool:
        """Whether the run is part of the list."""


class RunOrder:
    """Run ids in ascending order of a value; runs without the value come last."""

    def __init__(self, chosen: Choice, runs: Iterable[IndexedRun]) -> None:
        self._fits, self._value_of = chosen.fits, SORTS[chosen.sort]
        self.keys: list[Key] = []
        self.without: list[str] = []
        for run in runs:
            if self._fits(run):
                value = self._value_of(run)
                if value is None:
                    self.without.append(run.run_id)
                else:
                    self.keys.append((value, run.run_id))
        self.keys.sort()
        self.without.sort()

    def __len__(self) -> int:
        return len(self.keys) + len(self.without)

    def replace(self, old: IndexedRun | None, new: IndexedRun | None) -> None:
        """Follow a change of a run: None before it came, and after it was removed."""
        gone = None if old is None or not self._fits(old) else (self._value_of(old), old.run_id)
        come = None if new is None or not self._fits(new) else (self._value_of(new), new.run_id)
        if gone == come:
            return
        if gone is not None:
            if gone[0] is None:
                del self.without[bisect_left(self.without, gone[1])]
            else:
                del self.keys[bisect_left(self.keys, gone)]
        if come is not None:
            if come[0] is None:
                insort(self.without, come[1])
            else:
                insort(self.keys, (come[0], come[1]))

    def after(self, cursor: tuple[Value | None, str] | None, order: Order) -> Iterator[tuple[Value | None, str]]:
        """Yield values and ids, from the one after the cursor; runs without a value come last."""
        value, run_id = cursor if cursor is not None else (None, "")
        start, start_without = 0, 0
        if order == "asc":
            if cursor is not None:
                start = len(self.keys) if value is None else bisect_right(self.keys, (value, run_id))
                start_without = bisect_right(self.without, run_id) if value is None else 0
            places: Sequence[int] = range(start, len(self.keys))
            places_without: Sequence[int] = range(start_without, len(self.without))
        else:
            start, start_without = len(self.keys), len(self.without)
            if cursor is not None:
                start = 0 if value is None else bisect_left(self.keys, (value, run_id))
                start_without = bisect_left(self.without, run_id) if value is None else len(self.without)
            places = range(start - 1, -1, -1)
            places_without = range(start_without - 1, -1, -1)
        for place in places:
            yield self.keys[place]
        for place in places_without:
            yield None, self.without[place]


class RunOrders:
    """The orders that were asked for lately."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, RunOrder] = OrderedDict()

    def get(self, chosen: Choice, runs: Iterable[IndexedRun]) -> RunOrder:
        """Return an order; the first time it is made from all `runs`."""
        found = self._kept.pop(chosen.choice, None)
        if found is None:
            found = RunOrder(chosen, runs)
        self._kept[chosen.choice] = found
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return found

    def replace(self, old: IndexedRun | None, new: IndexedRun | None) -> None:
        """Follow a change of a run in all orders."""
        for order in self._kept.values():
            order.replace(old, new)

    def clear(self) -> None:
        """Forget all orders, when most runs have changed."""
        self._kept.clear()

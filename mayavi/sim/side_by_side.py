"""Interleave runs: advance each to its next market figures, then read those of all runs in one kernel call.

No row, digest or error of a run depends on the runs beside it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import cached_property
from time import perf_counter

from mayavi.evm.fork.together import call_each
from mayavi.sim.figure_table import FigureTable
from mayavi.sim.market_figures import BatchReader, Call
from mayavi.sim.market_snapshot import MarketSnapshotHook
from mayavi.sim.rows import RunEnd
from mayavi.sim.runner import Runner
from mayavi.sim.scheduler import Scheduler

_Parts = Generator[None, None, RunEnd]


def run_side_by_side(runners: Sequence[Runner]) -> tuple[list[RunEnd], BaseException | None]:
    """Run all runners; return the results, and the exception of the first run that failed, if any.

    After a failure only the results of earlier runs are returned, as of sequential runs.
    """
    shared = [_shared_hooks(runner.scheduler) for runner in runners]
    going = {number: runner.run_in_parts(before_figures=True) for number, runner in enumerate(runners)}
    ends: dict[int, RunEnd] = {}
    failure: BaseException | None = None
    while going:
        for number, parts in list(going.items()):
            try:
                next(parts)
            except StopIteration as end:
                ends[number] = end.value
                del going[number]
            except BaseException as error:
                failure = error
                del going[number]
                first = number if isinstance(error, Exception) else _interrupt_first(going, number, error)
                going = {each: parts for each, parts in going.items() if each < first}
                ends = {each: end for each, end in ends.items() if each < first}
                break
        read_together([hook for number in going for hook in shared[number]])
    return [ends[number] for number in sorted(ends)], failure


def _interrupt_first(going: dict[int, _Parts], number: int, error: BaseException) -> int:
    """Raise `error` in the first unfinished run, unless that is `number`; return the number of the first."""
    first = min([*going, number])
    if first < number:
        try:
            going.pop(first).throw(error)
        except type(error):
            pass
    return first


def read_together(hooks: Sequence[_SharedHook]) -> None:
    """Read the market figures due now, for hooks of runs of one scenario, and pass them to these hooks.

    Readers without batched calls read later, by themselves. Runs with equal outputs after the same step share figures.
    """
    alike: dict[tuple[int, tuple[Call, ...]], list[_SharedHook]] = {}
    for each in hooks:
        world = each.scheduler.world
        if each.hook.is_due(world) and each.calls:
            alike.setdefault((world.step, each.calls), []).append(each)
    for (_, calls), due in alike.items():
        _read_alike(calls, due)


def _read_alike(calls: Sequence[Call], hooks: Sequence[_SharedHook]) -> None:
    started = perf_counter()
    forks = [due.scheduler.world.fork for due in hooks]
    before = [fork.kernel_seconds for fork in forks]
    known: dict[tuple[bytes | None, ...], list[FigureTable | None]] = {}
    for due, listed in zip(hooks, call_each(forks, calls), strict=True):
        outputs = tuple(listed)
        if outputs not in known:
            known[outputs] = due.figures_of(outputs)
        due.hand_over(known[outputs])
    kernel = [fork.kernel_seconds - seconds for fork, seconds in zip(forks, before, strict=True)]
    share = (perf_counter() - started - sum(kernel)) / len(hooks)
    for due, seconds in zip(hooks, kernel, strict=True):
        due.scheduler.seconds["hooks"] += share
        due.scheduler.away_seconds -= share + seconds


class _SharedHook:
    """A hook of one run whose figures are read with those of other runs, and the calls of its readers."""

    def __init__(self, scheduler: Scheduler, hook: MarketSnapshotHook) -> None:
        self.scheduler, self.hook = scheduler, hook

    @cached_property
    def readers(self) -> list[tuple[BatchReader, tuple[Call, ...]]]:
        """Readers with batched calls, which are the same after every step."""
        world = self.scheduler.world
        return [(each, each.calls(world)) for each in self.hook.readers if isinstance(each, BatchReader)]

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """Calls of all readers."""
        return tuple([call for _, calls in self.readers for call in calls])

    def figures_of(self, outputs: Sequence[bytes | None]) -> list[FigureTable | None]:
        """Return the figures of each reader, None for one that must read by itself."""
        found: list[FigureTable | None] = []
        start = 0
        for reader, calls in self.readers:
            own = outputs[start : start + len(calls)]
            start += len(calls)
            found.append(reader.figures_of(self.scheduler.world, own) if own else None)
        return found

    def hand_over(self, figures: Sequence[FigureTable | None]) -> None:
        """Give the hook the figures of its readers; they are valid until the state of the chain changes."""
        read = zip(self.readers, figures, strict=True)
        known = {reader: figures for (reader, _), figures in read if figures is not None}
        self.hook.take(self.scheduler.world.fork.marker, known)


def _shared_hooks(scheduler: Scheduler) -> list[_SharedHook]:
    return [_SharedHook(scheduler, each) for each in scheduler.hooks if isinstance(each, MarketSnapshotHook)]

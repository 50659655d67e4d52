"""Shrink a case whose modes differ: drop what the difference does not need, for a bounded time."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.fuzz.playing import Account, Case, Difference, difference

CACHE = "MAYAVI_CACHE_DIR"


@contextmanager
def aside() -> Iterator[None]:
    """Let files of differences go to a folder that is deleted: each attempt would leave one in the cache."""
    before = os.environ.get(CACHE)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[CACHE] = folder
        try:
            yield
        finally:
            os.environ.pop(CACHE) if before is None else os.environ.update({CACHE: before})


class Shrinker:
    """Smallest case found so far whose modes differ."""

    def __init__(self, case: Case, found: Difference, seconds: float) -> None:
        self.case, self.found = case, found
        self.until = time.monotonic() + seconds

    def shrink(self) -> tuple[Case, Difference]:
        """Shrink until nothing more can be dropped or the time is over."""
        with aside():
            self.drop_all()
        return self.case, self.found

    def drop_all(self) -> None:
        """Drop of everything what can be dropped."""
        self.attempt(replace(self.case, events=self.case.events[: self.found.event + 1]))
        before = ""
        while before != (before := repr(self.case)) and not self.is_over():
            self.events()
            self.rows()
            self.programs()
            self.accounts()
            self.words()

    def is_over(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self.until

    def attempt(self, smaller: Case) -> bool:
        """Keep a smaller case if its modes still differ: with `check` if they do there, which needs fewer calls."""
        if self.is_over():
            return False
        for mode in dict.fromkeys(("check", self.found.mode)):
            try:
                found = difference(smaller, (mode,))
            except Exception:  # what is left is no case: code that cannot be assembled, a word of another program
                continue
            if found is not None:
                self.case, self.found = smaller, found
                return True
        return False

    def drop(self, items: Sequence[Any], rebuilt: Callable[[list[Any]], Case], least: int = 0) -> None:
        """Drop ever smaller parts of a list, down to `least` items."""
        kept, size = list(items), len(items)
        while size and not self.is_over():
            at = 0
            while at < len(kept) and not self.is_over():
                fewer = kept[:at] + kept[at + size :]
                if len(fewer) >= least and self.attempt(rebuilt(fewer)):
                    kept = fewer
                else:
                    at += size
            size //= 2

    def events(self) -> None:
        """Drop events."""
        self.drop(self.case.events, lambda events: replace(self.case, events=events))

    def rows(self) -> None:
        """Drop rows of a fleet."""
        if self.case.rows > 1:
            self.drop(range(self.case.rows), partial(with_rows, self.case), least=1)

    def programs(self) -> None:
        """Drop operations of programs."""
        for number in range(len(self.case.programs)):
            whole, operations = self.case.programs[number]

            def rebuilt(some: list[Any], number: int = number, whole: bool = whole) -> Case:
                programs = list(self.case.programs)
                programs[number] = whole, some
                return replace(self.case, programs=programs)

            self.drop(operations, rebuilt)

    def accounts(self) -> None:
        """Drop accounts, opcodes and slots."""
        for place in list(self.case.accounts):
            self.attempt(replace(self.case, accounts={a: b for a, b in self.case.accounts.items() if a != place}))
        for place in list(self.case.accounts):
            account = self.case.accounts[place]
            if isinstance(account.code, str):
                self.drop(account.code.split(), partial(self.with_code, place))
            self.drop(list(account.storage.items()), partial(self.with_storage, place))
            self.attempt(self.with_account(place, balance=0))

    def with_code(self, place: bytes, words: list[str]) -> Case:
        """Return the case with other code of an account."""
        return self.with_account(place, code=" ".join(words))

    def with_storage(self, place: bytes, slots: list[tuple[int, int]]) -> Case:
        """Return the case with other slots of an account."""
        return self.with_account(place, storage=dict(slots))

    def with_account(self, place: bytes, **fields: Any) -> Case:
        """Return the case with other fields of an account."""
        account: Account = replace(self.case.accounts[place], **fields)
        return replace(self.case, accounts=self.case.accounts | {place: account})

    def words(self) -> None:
        """Make words small, and the block usual."""
        for at, word in enumerate(self.case.words):
            for simple in (0, 1):
                if word > 1:
                    words = [*self.case.words[:at], simple, *self.case.words[at + 1 :]]
                    if self.attempt(replace(self.case, words=words)):
                        break
        self.attempt(replace(self.case, floats=[]))
        if self.case.block:
            self.attempt(replace(self.case, block={}))
        if self.case.threads > 1:
            self.attempt(replace(self.case, threads=1))


def with_rows(case: Case, rows: list[int]) -> Case:
    """Return a case of a fleet with some of its rows."""
    events = [_of_rows(event, rows, case.rows) for event in case.events]
    return replace(case, rows=len(rows), events=[event for event in events if event])


def _of_rows(event: tuple[Any, ...], rows: list[int], before: int) -> tuple[Any, ...] | None:
    """Return an event with some of its rows; None if nothing is left of it."""
    new = {row: at for at, row in enumerate(rows)}

    def inputs(given: dict[str, bytes]) -> dict[str, bytes]:
        columns = {name: np.frombuffer(each, np.uint8).reshape(before, -1) for name, each in given.items()}
        return {name: column[rows].tobytes() for name, column in columns.items()}

    match event:
        case "run", program, given:
            return "run", program, inputs(given)
        case "only", program, some, given:
            left = [new[row] for row in some if row in new]
            return ("only", program, left, inputs(given)) if left else None
        case "change", row, changes:
            return ("change", new[row], changes) if row in new else None
        case "reset", some:
            return "reset", [new[row] for row in some if row in new]
        case ("copy_row" | "keep_and_put") as kind, source, to:
            return (kind, new[source], new[to]) if source in new and to in new else None
    return event

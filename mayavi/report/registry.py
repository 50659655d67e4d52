"""What `mayavi report` can be asked for: runs, and every other kind of result by its id or file.

A kind is a line in `KINDS` and a function that finds results of that kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mayavi.errors import AmbiguousName, UnknownName, UnknownRun, UsageError

if TYPE_CHECKING:
    from mayavi.report.page import Page

LATEST = "latest"


@dataclass(frozen=True, slots=True)
class Places:
    """Where to look: the store of runs, and the folder of trainings; None for the defaults."""

    store: Path | None = None
    models: Path | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A result that has a report. `build` makes its page; `stem` names the file."""

    kind: str
    id: str
    stem: str
    build: Callable[[], Page]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of result. `find` returns None, or raises `UnknownRun` with a hint, if it knows no such name."""

    name: str
    find: Callable[[str, Places], Found | None]


def find_run(name: str, places: Places) -> Found:
    """Find a stored run by its id, a unique part of it, or `latest`."""
    from mayavi.sim.store import Store

    store = Store(places.store)
    store.merge(patience_s=0.0)
    run = store.run(name)

    def build() -> Page:
        from mayavi.report.builder import run_page

        return run_page(store, run.run_id)

    return Found("run", run.run_id, f"{safe(run.scenario)}-{run.run_id}", build)


def find_file(name: str, places: Places) -> Found | None:
    """Find a document of an evaluation, a backtest or an incident, or a database of replays, by its file."""
    from mayavi.report.kinds import DATABASES, document_builder, history_builder, is_file_name

    if not is_file_name(name):
        return None
    path = Path(name)
    if path.suffix.lower() in DATABASES:
        return Found("history", path.name, safe(path.stem), history_builder(path))
    kind, build = document_builder(path, places.models)
    return Found(kind, path.name, safe(path.stem), build)


def find_sweep(name: str, places: Places) -> Found:
    """Find a stored sweep or sensitivity analysis by its id, a unique part of it, or `latest`."""
    from mayavi.report.kinds import sweep_builder

    sweep_id, scenario, build = sweep_builder(places.store, name)
    return Found("sweep", sweep_id, f"{safe(scenario)}-{sweep_id}", build)


def find_training(name: str, places: Places) -> Found:
    """Find a training by its id, a unique part of it, `latest`, or its folder."""
    from mayavi.report.kinds import training_builder

    run_id, what, build = training_builder(places.models, name)
    return Found("training", run_id, f"{safe(what)}-{run_id}", build)


KINDS: tuple[Kind, ...] = (
    Kind("file", find_file),
    Kind("run", find_run),
    Kind("sweep", find_sweep),
    Kind("training", find_training),
)
"""Kinds in the order they are tried."""


def find(name: str, places: Places = Places(), kind: str | None = None) -> Found:  # noqa: B008  # frozen
    """Find what `name` names, of one kind or the first that knows it.

    `latest` is the newest run, or its sweep if it is part of one that has results; `kind` chooses between the two.
    Raises `UnknownRun` with the hints of all kinds, `AmbiguousName` if a part of an id fits several.
    """
    chosen = [each for each in KINDS if kind in (None, each.name)]
    if not chosen:
        known = [each.name for each in KINDS]
        raise UnknownName.of("kind", str(kind), known, f"kinds are {', '.join(known[:-1])} and {known[-1]}")
    if name == LATEST and kind is None and (sweep := _newest_sweep(places)):
        return find_sweep(sweep, places)
    hints = []
    for each in chosen:
        try:
            if found := each.find(name, places):
                return found
        except AmbiguousName:
            raise
        except UnknownRun as error:
            hints.append((each.name, error.hint or ""))
    names = " or ".join(filter(None, [", ".join(each.name for each in chosen[:-1]), chosen[-1].name]))
    hint = hints[0][1] if len(hints) == 1 else "\n".join(f"{what}s: {text}" for what, text in hints)
    if scenario := _scenario_hint(name, places):
        hint = f"{scenario}\n{hint}"
    raise UnknownRun(f"unknown {names} '{name}'", hint or None)


def _newest_sweep(places: Places) -> str | None:
    """Return the sweep of the newest run, if it is part of one that has results."""
    from mayavi.sim.store import Store

    store = Store(places.store)
    store.merge(patience_s=0.0)
    newest = next(iter(store.runs()), None)
    if newest is None or newest.sweep_id is None:
        return None
    return next((each.sweep_id for each in store.sweeps() if each.sweep_id == newest.sweep_id and each.summary), None)


def _scenario_hint(name: str, places: Places) -> str:
    """Say that `name` is a scenario, or the beginning of one, and how to get a report of it; empty if it is not."""
    from mayavi.scenarios.registry import names
    from mayavi.sim.store import Store

    fits = [each for each in names() if name and each.startswith(name)]
    if len(fits) != 1:
        return ""
    runs = Store(places.store).runs(scenario=fits[0])
    if newest := next(iter(runs), None):
        return f"'{fits[0]}' is a scenario; its newest run is {newest.run_id}"
    return f"'{fits[0]}' is a scenario: `mayavi run {fits[0]}` runs it, and `mayavi report latest` reports the run"


def in_folder(out: Path | None, name: str) -> Path:
    """The file to write: `out`, or `name` in `out` if that is a folder, or `name` here."""
    return Path(name) if out is None else out / name if out.is_dir() else out


def safe(name: str) -> str:
    """Return `name` as a part of a file name: letters, digits, `-` and `_`."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:80] or "report"


def check_output(path: Path, *, wanted: str) -> Path:
    """Return `path`; `UsageError` unless it ends in `wanted`, such as `.html`."""
    if path.suffix.lower() != wanted:
        pdf = "; `--pdf` prints a PDF beside it" if path.suffix.lower() == ".pdf" else ""
        hint = f"name a file such as '{path.with_suffix(wanted)}'{pdf}"
        raise UsageError(f"'{path}' does not end in {wanted}", hint)
    return path

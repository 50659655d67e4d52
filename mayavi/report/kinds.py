"""Results other than runs that have a report: sweeps and trainings by id, documents and databases by file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.report.page import Page

Document = dict[str, Any]
DATABASES = {".duckdb", ".db"}
EVALUATION, BACKTEST, INCIDENT = "mayavi-eval", "mayavi-backtest", "mayavi-incident"
"""Schemas of documents that have a page."""


def sweep_builder(store_path: Path | None, name: str) -> tuple[str, str, Callable[[], Page]]:
    """Find a sweep; return its id, the name of its scenario, and what builds its page. `UnknownRun` if unknown."""
    from mayavi.sim.store import Store

    store = Store(store_path)
    store.merge(patience_s=0.0)
    record = store.sweep(name)

    def build() -> Page:
        from mayavi.report.shapes.sweeps.sweep import sweep_page

        return sweep_page(store, record.sweep_id)

    return record.sweep_id, record.scenario, build


def training_builder(models: Path | None, name: str) -> tuple[str, str, Callable[[], Page]]:
    """Find a training; return its id, its environment, and what builds its page. `UnknownRun` if unknown."""
    from mayavi.rl.training_runs.catalogue import find_training
    from mayavi.rl.training_runs.folder import models_path

    folder = models_path(models)
    training = find_training(name, folder)

    def build() -> Page:
        from mayavi.report.shapes.learning.training import training_page

        return training_page(str(training.folder.path.absolute()), folder)

    return training.run_id, f"{training.config.get('env', 'training')}-{training.config.get('algorithm', '')}", build


def is_file_name(name: str) -> bool:
    """Whether `name` is meant as a file: it exists, or ends like one."""
    path = Path(name)
    return path.is_file() or path.suffix.lower() in {".json", *DATABASES}


def read_document(path: Path) -> Document:
    """Read a JSON document of `mayavi eval`, `backtest` or `replay incident`; `UsageError` if it is invalid.

    The file may be the output of a command with `--json`, whose last line is the document.
    """
    if not path.is_file():
        raise UsageError(f"there is no file '{path}'", "`mayavi eval --output FILE` or `--json > FILE` writes one")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"'{path}' cannot be read: {error}", "name a JSON document or a database") from None
    for candidate in (text, (text.strip().splitlines() or [""])[-1]):
        try:
            found = json.loads(candidate)
        except ValueError:
            continue
        if isinstance(found, dict):
            return found
    raise UsageError(f"'{path}' is not a JSON document", "`mayavi eval --output FILE` or `--json > FILE` writes one")


def document_builder(path: Path, models: Path | None = None) -> tuple[str, Callable[[], Page]]:
    """Return the kind of the document at `path`, and what builds its page; `UsageError` if it has none.

    `models` is the folder of trainings, where that of an evaluation is looked for.
    """
    document = read_document(path)
    schema = document.get("schema")
    builders: dict[str, tuple[str, Callable[[], Page]]] = {
        EVALUATION: ("evaluation", lambda: _evaluation(document, path, models)),
        BACKTEST: ("backtest", lambda: _backtest(document)),
        INCIDENT: ("incident", lambda: _incident(document)),
    }
    if schema not in builders:
        known = ", ".join(builders)
        what = f"has the schema '{schema}'" if schema else "has no schema"
        raise UsageError(f"'{path}' {what}, and no report", f"there are reports of {known}")
    kind, build = builders[str(schema)]

    def checked() -> Page:
        try:
            return build()
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise UsageError(f"'{path}' lacks what a report of an {kind} needs: {error}", "write it again") from error

    return kind, checked


def history_builder(path: Path) -> Callable[[], Page]:
    """Return what builds the page of the replays in the database at `path`."""

    def build() -> Page:
        from mayavi.report.shapes.replays.history import history_page

        return history_page(path)

    return build


def _evaluation(document: Document, path: Path, models: Path | None) -> Page:
    from mayavi.report.shapes.learning.evaluation import evaluation_page
    from mayavi.rl.evaluation.document import read_eval

    checked = read_eval(path.read_bytes() if path.suffix == ".json" else json.dumps(document).encode(), path)
    return evaluation_page(checked, _trainings(document, path, models))


def _trainings(document: Document, path: Path, models: Path | None) -> list[str]:
    """Ids of the trainings that hold the same evaluation; empty if it is about several policies, or none holds it."""
    from mayavi.rl.evaluation.document import eval_name
    from mayavi.rl.training_runs.folder import models_path

    if len(document["models"]) != 1:
        return []
    owner = path.absolute().parent.parent
    if (owner / "run.json").is_file():
        return [owner.name]
    begins = eval_name(document).rpartition("-")[0]  # older versions end the name otherwise
    files = sorted(models_path(models).glob(f"*/eval/{begins}-*.json"))
    return [file.parent.parent.name for file in files if read_document(file) == document][:1]


def _backtest(document: Document) -> Page:
    from mayavi.report.shapes.backtests.backtest import backtest_page

    return backtest_page(document)


def _incident(document: Document) -> Page:
    from mayavi.report.shapes.replays.incident import incident_page

    return incident_page(document)

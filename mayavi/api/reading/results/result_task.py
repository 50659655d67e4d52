"""Task of a builder process: build a result as page data, HTML or PDF."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from mayavi.report.page import Page

ResultKind = Literal["run", "sweep", "training", "evaluation", "compare"]
ResultFormat = Literal["page", "html", "pdf"]
Format = Literal["page", "html", "pdf", "artifact"]
NICENESS = 3
"""Priority of report builders: below the server, above the workers."""


@dataclass(frozen=True, slots=True)
class ResultTask:
    """One result in one format. `names` are full ids, or the one file of an evaluation.

    An artifact is written to `target`, and its result is the SHA-256 of the file.
    """

    kind: ResultKind
    names: tuple[str, ...]
    format: Format
    store: Path
    models: Path
    target: Path | None = None


def prepare() -> Callable[[ResultTask], bytes]:
    """Import what builds pages, and return the function that executes tasks, at a priority below the server's."""
    os.nice(NICENESS)
    import mayavi.api.reading.results.page_data
    import mayavi.report.builder  # noqa: F401

    return build


def build(task: ResultTask) -> bytes:
    """Build the result: JSON of `PageData`, an HTML file, or a PDF. Raises a `MayaviError` if that is impossible."""
    if task.format == "artifact":
        return _write_artifact(task)
    page = build_page(task)
    if task.format == "page":
        from mayavi.api.reading.results.page_data import page_data

        return page_data(page).model_dump_json().encode()
    from mayavi.report.render import render

    html = render(page)
    if task.format == "html":
        return html.encode()
    from mayavi.report.output import write_pdf

    with tempfile.TemporaryDirectory(prefix="mayavi-pdf-") as folder:
        return write_pdf(html, Path(folder) / "report.pdf").read_bytes()


def _write_artifact(task: ResultTask) -> bytes:
    from mayavi.report.bundled import run_report
    from mayavi.scenarios.loading import load_text
    from mayavi.sim.store import Store
    from mayavi.sim.store.artifact import write_artifact

    assert task.target is not None
    store, run_id = Store(task.store), task.names[0]
    run = store.run(run_id)
    if run.scenario_text.strip():
        # Nobody could verify the bundle of a text that cannot be loaded.
        load_text(run.scenario_text, origin=f"scenario of run '{run_id}'", import_paths=False)
    return write_artifact(store, run_id, task.target, run_report).encode()


def build_page(task: ResultTask) -> Page:
    """Build the page of a result. Its commands name the store and the models of the service by their full paths."""
    from mayavi.report.store_commands import name_store

    return name_store(_page(task), task.store.absolute(), task.models.absolute())


def _page(task: ResultTask) -> Page:
    from mayavi.sim.store import Store

    if task.kind == "run":
        from mayavi.report.builder import run_page

        return run_page(Store(task.store), task.names[0])
    if task.kind == "sweep":
        from mayavi.report.shapes.sweeps.sweep import sweep_page

        return sweep_page(Store(task.store), task.names[0])
    if task.kind == "compare":
        from mayavi.report.shapes.compare import compare_page

        return compare_page(Store(task.store), task.names)
    if task.kind == "training":
        from mayavi.report.shapes.learning.training import training_page

        return training_page(str((task.models / task.names[0]).absolute()), task.models)
    from mayavi.report.kinds import document_builder

    return document_builder(Path(task.names[0]), task.models)[1]()

"""Reports inside bundles: pages that depend on the bundle's contents alone, so that they can be verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mayavi.report.render import render

if TYPE_CHECKING:
    from mayavi.sim.store.artifact import BundledRun
    from mayavi.sim.store.restored import Tables

_LOCAL = {"run", "started", "sweep"}
"""Facts of a stored run that a bundle does not have."""


def run_report(run: BundledRun, tables: Tables) -> bytes:
    """Render the report of a bundled run. Equal runs give equal bytes: there is no id and no time in it."""
    from mayavi.report.builder import run_page
    from mayavi.sim.store.restored import RUN_ID, restored

    with restored(run, tables) as store:
        page, place = run_page(store, RUN_ID), store.run(RUN_ID).world
    facts = tuple((name, value) for name, value in page.provenance.facts if name not in _LOCAL)
    subject = f"{run.scenario} · {place} · seed {run.seed} · from a bundle"
    return render(replace(page, subject=subject, provenance=replace(page.provenance, facts=facts))).encode()


def evaluation_report(document: Mapping[str, Any]) -> bytes:
    """Render the report of an evaluation of a bundled training."""
    from mayavi.report.shapes.learning.evaluation import evaluation_page

    return render(evaluation_page(document)).encode()

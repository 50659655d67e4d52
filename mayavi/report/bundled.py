"""`report.html` of a bundle: the page of a run without its id and its times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mayavi.report.builder import run_page
from mayavi.report.render import render

if TYPE_CHECKING:
    from mayavi.sim.store import Store

NAME = "report.html"
PLACEHOLDER = "RUN_ID"
_OWN_FACTS = {"run", "started", "sweep"}


def bundled_report(store: Store, run_id: str) -> bytes:
    """Build the page so that two runs of the same scenario, seed, world and versions give the same bytes."""
    run_id = store.resolve(run_id)
    page = run_page(store, run_id)
    facts = tuple((name, value) for name, value in page.provenance.facts if name not in _OWN_FACTS)
    page = replace(page, provenance=replace(page.provenance, facts=facts))
    return render(page).replace(run_id, PLACEHOLDER).encode()

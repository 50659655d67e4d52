"""Build the page of a stored run: find its shape, compose the answer, add the evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mayavi.report.page import Block, Chart, Page, Section
from mayavi.report.run.actions import action_section
from mayavi.report.run.evidence import account_section, failure_section, kpi_section
from mayavi.report.run.own_contracts import contract_section
from mayavi.report.run.parameters import parameter_section, provenance
from mayavi.report.run.rows import RunRows, opened
from mayavi.report.shapes import borrower, cascade, curve, launch, market, vesting
from mayavi.scenarios.figures.notes import notes

if TYPE_CHECKING:
    from mayavi.report.shapes.shape import Shape
    from mayavi.sim.store import Store

SHAPES: tuple[Shape, ...] = (
    launch.SHAPE,
    curve.SHAPE,
    vesting.SHAPE,
    cascade.SHAPE,
    borrower.SHAPE,
    market.SHAPE,
)
"""Shapes of single runs; the first that matches composes the page."""


def shape_of(rows: RunRows) -> Shape:
    """The shape of a run, by what it recorded."""
    return next(shape for shape in SHAPES if shape.matches(rows))


def run_page(store: Store, run_id: str) -> Page:
    """Build the page of a run; raises `UnknownRun` for an unknown id."""
    with opened(store, run_id) as rows:
        return page_of(rows)


def once(section: Section | None, hero: Chart | None) -> Section | None:
    """The section without the chart that the page shows first; None if nothing is left."""
    if section is None or hero is None:
        return section
    kept = tuple(block for block in section.blocks if not _same(block, hero))
    return replace(section, blocks=kept) if kept else None


def _same(block: Block, hero: Chart) -> bool:
    return isinstance(block, Chart) and (block.title, block.subtitle) == (hero.title, hero.subtitle)


def page_of(rows: RunRows) -> Page:
    """Build the page from the rows of a run."""
    run = rows.run
    answer = shape_of(rows).answer(rows)
    evidence: tuple[Section | None, ...] = (
        contract_section(rows),
        account_section(rows),
        failure_section(rows),
        action_section(rows),
        parameter_section(rows),
        kpi_section(rows),
    )
    return Page(
        title=f"{run.scenario} on {run.world}, seed {run.seed}",
        subject=f"{run.scenario} · {run.world} · seed {run.seed} · run {run.run_id}",
        verdict=answer.verdict,
        tiles=answer.tiles,
        summary=answer.summary,
        hero=answer.hero,
        sections=tuple(section for each in (*answer.sections, *evidence) if (section := once(each, answer.hero))),
        provenance=provenance(rows),
        notes=tuple(notes({row.name: row.number for row in rows.kpis.values()})),
    )

"""Convert a report `Page` to `PageData`: numbers for charts, and cells as the report shows them."""

from __future__ import annotations

import math
from typing import Any

from mayavi.api.models.page import (
    ChartBlock,
    CodeBlock,
    FactsBlock,
    LogBlock,
    PageBlock,
    PageColumn,
    PageData,
    PageProvenance,
    PageSection,
    PageTile,
    PageVerdict,
    ScrubberBlock,
    TableBlock,
    TextBlock,
)
from mayavi.report.page import ActionLog, Block, Chart, Code, Facts, Page, Scrubber, Section, Table, Text
from mayavi.report.render import cell_text


def page_data(page: Page) -> PageData:
    """Return the page as data. Values that JSON does not have, NaN and infinities, become None."""
    verdict, provenance = page.verdict, page.provenance
    return PageData(
        title=page.title,
        subject=page.subject,
        verdict=PageVerdict(
            sentence=verdict.sentence, badge=verdict.badge, tone=verdict.tone, interval=verdict.interval
        ),
        tiles=[
            PageTile(
                label=tile.label,
                value=tile.value,
                unit=tile.unit,
                interval=tile.interval,
                change=tile.change,
                exact=tile.exact,
                tone=tile.tone,
            )
            for tile in page.tiles
        ],
        summary=list(page.summary),
        hero=None if page.hero is None else _chart(page.hero),
        sections=[_section(section) for section in page.sections],
        provenance=PageProvenance(
            facts=list(provenance.facts),
            command=provenance.command,
            summary=provenance.summary,
            note=provenance.note,
        ),
        notes=list(page.notes),
    )


def finite(value: Any) -> Any:
    """Return `value` with None in place of NaN and infinities, and lists in place of tuples."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return value


def _section(section: Section) -> PageSection:
    return PageSection(
        id=section.id, title=section.title, lead=section.lead, blocks=[_block(block) for block in section.blocks]
    )


def _block(block: Block) -> PageBlock:
    match block:
        case Table():
            return _table(block)
        case Text():
            return TextBlock(kind="text", paragraphs=list(block.paragraphs), tone=block.tone, bullets=block.bullets)
        case Facts():
            return FactsBlock(kind="facts", title=block.title, pairs=list(block.pairs))
        case Code():
            return CodeBlock(kind="code", title=block.title, text=block.text, folded=block.folded)
        case Chart():
            return _chart(block)
        case Scrubber():
            return ScrubberBlock(
                kind="scrubber",
                steps=list(block.steps),
                blocks=list(block.blocks),
                timestamps=list(block.timestamps),
                figures=[(label, form, finite(values)) for label, form, values in block.figures],
                actions=list(block.actions),
                failed=list(block.failed),
            )
        case ActionLog():
            return LogBlock(kind="log", total=block.total, command=block.command, note="")


def _table(table: Table) -> TableBlock:
    return TableBlock(
        kind="table",
        title=table.title,
        columns=[
            PageColumn(label=each.label, format=each.format, unit=each.unit, align=each.align) for each in table.columns
        ],
        rows=[[cell_text(cell, column) for cell, column in zip(row, table.columns, strict=True)] for row in table.rows],
        data=[finite(row) for row in table.rows],
        note=table.note,
        command=table.command,
        empty=table.empty,
    )


def _chart(chart: Chart) -> ChartBlock:
    return ChartBlock(
        kind="chart",
        title=chart.title,
        subtitle=chart.subtitle,
        traces=[finite(trace) for trace in chart.traces],
        layout=finite(chart.layout),
        table=_table(chart.table),
        height=chart.height,
        source=chart.source,
        time=chart.time,
        wide=chart.wide,
    )

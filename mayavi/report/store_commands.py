"""Commands of a page that read stored results, with their place: a reader may stand in another folder."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

from mayavi.report.page import ActionLog, Block, Page, Table

_READS_RUNS = re.compile(r"mayavi (runs|report|explain) ")
_READS_MODELS = re.compile(r"mayavi eval (?!- )")


def name_store(page: Page, store: Path, models: Path | None = None) -> Page:
    """Return the page with `--store` in commands that read stored runs, and `--models` in those that read trainings."""

    def named(command: str) -> str:
        if _READS_RUNS.match(command) and " --store " not in command:
            return f"{command} --store {shlex.quote(str(store))}"
        if models is not None and _READS_MODELS.match(command) and " --models " not in command:
            return f"{command} --models {shlex.quote(str(models))}"
        return command

    def block(each: Block) -> Block:
        return replace(each, command=named(each.command)) if isinstance(each, Table | ActionLog) else each

    return replace(
        page,
        sections=tuple(replace(part, blocks=tuple(map(block, part.blocks))) for part in page.sections),
        provenance=replace(page.provenance, command=named(page.provenance.command)),
    )

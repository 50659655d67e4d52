"""Parameters of a run: what differs from the scenario's defaults, and the command that runs it again."""

from __future__ import annotations

import json
import shlex
from functools import cache
from typing import TYPE_CHECKING, Any

import yaml

from mayavi.errors import MayaviError
from mayavi.report.page import Block, Code, Column, Provenance, Section, Table, Text

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows
    from mayavi.sim.store import RunRecord

_OWN = {"name", "title", "chain", "steps", "seed"}
"""Keys that have options of their own or change nothing."""
MOST_OPTIONS = 12


def differences(run: RunRecord) -> list[tuple[str, Any, Any]] | None:
    """Return (key, default, value) for what differs from the library's scenario; None if it is not from there."""
    default = _default(run.scenario, run.chain)
    try:
        own = yaml.safe_load(run.scenario_text)
    except yaml.YAMLError:
        return None
    if not isinstance(own, dict) or default is None:
        return None
    before, after = flattened(default), flattened(own)
    keys = [*after, *(key for key in before if key not in after)]
    return [(key, before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)]


@cache
def _default(scenario: str, chain: str) -> dict[str, Any] | None:
    """The library's scenario on a chain, complete; None if there is none of that name."""
    from mayavi.scenarios.loading import load_scenario
    from mayavi.scenarios.registry import names

    if scenario not in names():
        return None
    try:
        found: dict[str, Any] = yaml.safe_load(load_scenario(scenario, chain=chain).text)
    except MayaviError:  # the library has changed since, and no longer knows the chain
        return None
    return found


def flattened(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested mappings to `agents.borrowers.count`."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value:
            flat |= flattened(value, f"{name}.")
        else:
            flat[name] = value
    return flat


def command_of(run: RunRecord, differing: list[tuple[str, Any, Any]] | None) -> tuple[str, bool]:
    """Return the command that repeats the run, and whether it needs the scenario's text in a file."""
    options = ["--seed", str(run.seed)]
    settings = [(key, value) for key, _, value in differing or () if key not in _OWN]
    whole = differing is None or len(settings) > MOST_OPTIONS or any(value is None for _, value in settings)
    words = ["mayavi", "run", "scenario.yaml" if whole else run.scenario]
    if not whole:
        keys = {key for key, _, _ in differing or ()}
        options = ["--chain", run.chain, *options]
        options += ["--steps", str(run.steps)] if "steps" in keys else []
        for key, value in settings:
            options += ["--set", f"{key}={_option(value)}"]
    if run.source != "replica":
        options += ["--source", run.source]
    return shlex.join([*words, *options]), whole


def parameter_section(rows: RunRows) -> Section:
    """What differs from the defaults, and the whole scenario to copy."""
    differing = differences(rows.run)
    _, whole = command_of(rows.run, differing)
    blocks: list[Block] = []
    if differing is None:
        blocks.append(Text(("The scenario is not one of the library, so there are no defaults to compare with.",)))
    elif not differing:
        blocks.append(Text((f"Every parameter is the default of `{rows.run.scenario}`.",)))
    else:
        written = tuple((key, _shown(default), _shown(value)) for key, default, value in differing)
        columns = (Column("parameter", "code"), Column("default"), Column("this run"))
        blocks.append(Table(columns, written, "Parameters that differ from the scenario's defaults"))
    if whole:
        blocks.append(Text(("Save the scenario below as scenario.yaml for the command that reproduces the run.",)))
    blocks.append(Code(rows.run.scenario_text, "The complete scenario (YAML)", folded=True))
    return Section("parameters", "Parameters", tuple(blocks))


def provenance(rows: RunRows) -> Provenance:
    """Seed, digests, versions and ids of a run."""
    run = rows.run
    command, _ = command_of(run, differences(run))
    counts = f"{run.action_count or 0:,} actions, {run.failed_count or 0:,} failed, {run.raised_count or 0:,} raised"
    facts = [
        ("seed", str(run.seed)),
        ("world", run.world_digest),
        ("digest", run.digest or "none: the run did not end"),
        ("mayavi", run.versions.get("mayavi", "unknown")),
        ("run", run.run_id),
        ("scenario", run.scenario),
        ("chain", f"{run.chain}, from a {run.source}"),
        ("steps", f"{run.steps_done if run.steps_done is not None else '?'} of {run.steps}"),
        ("status", run.status),
        ("final world", run.final_world_digest or "none: the run did not end"),
        ("versions", ", ".join(f"{name} {version}" for name, version in sorted(run.versions.items()))),
        ("rows", f"{counts}, {run.snapshot_count or 0:,} market figures"),
        ("started", f"{run.started_at:%Y-%m-%d %H:%M:%S} UTC"),
    ]
    if run.sweep_id:
        facts.append(("sweep", run.sweep_id))
    return Provenance(tuple(facts), command)


def _option(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _shown(value: Any) -> str:
    if value is None:
        return "not set"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 300 else f"{text[:299]}…"

"""Parameters of a run: what differs from the scenario's defaults, and the command that runs it again."""

from __future__ import annotations

import json
import shlex
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import yaml

from mayavi.errors import MayaviError
from mayavi.report.page import Block, Code, Column, Provenance, Section, Table, Text

if TYPE_CHECKING:
    from mayavi.report.run.rows import RunRows
    from mayavi.sim.store import RunRecord

OWN_OPTIONS = {"name", "title", "chain", "steps", "seed"}
"""Keys that have options of their own or change nothing."""
MOST_OPTIONS = 12
_WORLDS = {"rpc": ("--source", "rpc", "--block", "BLOCK"), "snapshot": ("--snapshot", "FILE")}
"""Options that name a world other than the replica, with what the store does not know in capitals."""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The safe loader of libyaml, several times as fast, where there is one."""


def differences(run: RunRecord) -> list[tuple[str, Any, Any]] | None:
    """Return (key, default, value) for what differs from the library's scenario; None if it is not from there."""
    return changes(run.scenario, run.chain, run.scenario_text)


@lru_cache(maxsize=64)
def changes(scenario: str, chain: str, text: str) -> list[tuple[str, Any, Any]] | None:
    """Return what `differences` returns, for a scenario text."""
    default = _default(scenario, chain)
    try:
        own = yaml.load(text, Loader=_LOADER)
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
    if run.scenario == "demo" and not run.scenario_text:
        return f"mayavi demo --seed {run.seed} --steps {run.steps - 1}", False
    options = ["--seed", str(run.seed)]
    settings = [(key, value) for key, _, value in differing or () if key not in OWN_OPTIONS]
    settings = [(key, value) for key, value in settings if (key, value) != ("world", run.world)]  # `--chain` has it
    whole = differing is None or len(settings) > MOST_OPTIONS or any(value is None for _, value in settings)
    words = ["mayavi", "run", "scenario.yaml" if whole else run.scenario]
    if not whole:
        keys = {key for key, _, _ in differing or ()}
        options = ["--chain", run.world, *options]
        options += ["--steps", str(run.steps)] if "steps" in keys else []
        for key, value in settings:
            options += ["--set", f"{key}={_option(value)}"]
    named = "source" in {key for key, _ in settings}
    return shlex.join([*words, *options, *(() if named else _WORLDS.get(run.source, ()))]), whole


def repeatability(source: str) -> str:
    """Say what the command that repeats a run needs, by the kind of world that the run started from."""
    if source == "rpc":
        return (
            "The run read its world from a node and kept no snapshot, so these numbers come again only from the same"
            " block: put its number for `BLOCK`, and compare the digest of the world."
        )
    if source == "snapshot":
        return (
            "The same command on the same version gives the same numbers and digests, on every machine that has the"
            " snapshot: put its path for `FILE`, and compare the digest of the world."
        )
    return Provenance((), "").note


def sweep_line(run: RunRecord, seeds: str = "0:100") -> str:
    """Return the `mayavi sweep` command with the parameters of a run; empty for a run that was built in Python."""
    if not run.scenario_text.strip():
        return ""
    command, _ = command_of(run, differences(run))
    words = shlex.split(command)
    at = words.index("--seed")
    return shlex.join(["mayavi", "sweep", *words[2:at], *words[at + 2 :], "--seeds", seeds])


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
        written = tuple((key, shown_value(default), shown_value(value)) for key, default, value in differing)
        columns = (Column("parameter", "code"), Column("default", "code"), Column("this run", "code"))
        blocks.append(Table(columns, written, "Parameters that differ from the scenario's defaults"))
    if whole:
        blocks.append(Text(("Save the scenario below as scenario.yaml for the command that repeats the run.",)))
    if rows.run.scenario_text:
        blocks.append(Code(rows.run.scenario_text, "The complete scenario (YAML)", folded=True))
    return Section("parameters", "Parameters", tuple(blocks))


def provenance(rows: RunRows) -> Provenance:
    """Seed, digests, versions and ids of a run."""
    run = rows.run
    command, _ = command_of(run, differences(run))
    note = repeatability(run.source)
    if not run.scenario_text.strip() and run.scenario != "demo":
        command, note = "", "The run was built in Python and has no scenario: only the program that made it repeats it."
    counts = f"{run.action_count or 0:,} actions, {run.failed_count or 0:,} failed, {run.raised_count or 0:,} raised"
    facts = [
        ("seed", str(run.seed)),
        ("world", run.world_digest),
        ("digest", run.digest or "none: the run did not end"),
        ("mayavi", run.versions.get("mayavi", "unknown")),
        ("run", run.run_id),
        ("scenario", run.scenario),
        ("chain", f"{run.chain}, from a {run.start}"),
        ("steps", f"{run.steps_done if run.steps_done is not None else '?'} of {run.steps}"),
        ("status", run.status),
        ("final world", run.final_world_digest or "none: the run did not end"),
        ("versions", ", ".join(f"{name} {version}" for name, version in sorted(run.versions.items()))),
        ("rows", f"{counts}, {run.snapshot_count or 0:,} market figures"),
        ("started", f"{run.started_at:%Y-%m-%d %H:%M:%S} UTC"),
    ]
    if run.sweep_id:
        facts.append(("sweep", run.sweep_id))
    return Provenance(tuple(facts), command, note=note)


def _option(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def shown_value(value: Any) -> str:
    """Write the value of a parameter for readers: `not set`, text as it is, anything else as JSON."""
    if value is None:
        return "not set"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 300 else f"{text[:299]}…"

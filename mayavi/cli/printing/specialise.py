"""Options `--specialise` and `--stats`, and the statistics of replays that they print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from mayavi.cli.console.output import print_facts

SpecialiseOption = Annotated[
    str | None,
    typer.Option(
        "--specialise",
        metavar="off|on|check",
        help="Mode of specialised execution; `check` verifies every replay. By default MAYAVI_SPECIALISE, or on. No"
        " result depends on it.",
    ),
]
StatsOption = Annotated[bool, typer.Option("--stats", help="Print statistics of specialised execution.")]

SHOWN_GUARDS = 5
SHOWN_CHARACTERS = 96
"""Longest guard that is printed whole; `--json` has all of them."""


def print_statistics(found: Mapping[str, Any]) -> None:
    """Print statistics of replayed calls."""
    print()
    print_facts(statistics_facts(found))


def statistics_facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return statistics of replayed calls as names and texts."""
    if not found:
        return [("specialise", "no statistics are recorded")]
    mode = found["mode"]
    if mode == "off":
        return [("specialise", "off: every call was interpreted")]
    if found["share"] is None:
        return [("specialise", f"{mode}; no call was made that could be replayed")]
    replayed = f"{found['share']:.1%} of {found['calls']:,} calls, {found['native']:,} by compiled paths"
    if not (found["share"] or found["off"]):
        replayed = f"none of {found['calls']:,} calls: too few of each kind to be worth recording"
    facts = [("specialise", mode), ("replayed", replayed), ("paths", _paths(found))]
    if found["share"]:
        facts.insert(2, ("checked", _checks(found)))
    if found.get("mismatches"):
        facts.append(("mismatches", f"{found['mismatches']:,} recordings contradicted themselves and are not used"))
    if found["missed"]:
        facts.append(("misses", _misses(found)))
    if found["off"]:
        lines = [f"{each['call']}, {each['calls']:,} calls: {each['reason']}" for each in found["off"]]
        facts.append(("switched off", "\n".join(lines)))
    return facts


def _checks(found: Mapping[str, Any]) -> str:
    if found["mode"] == "check":
        return "each replayed call was interpreted too: no difference"
    return f"{found.get('checks', 0):,} of {found['hits']:,} replayed calls were interpreted too: no difference"


def _paths(found: Mapping[str, Any]) -> str:
    spent = f"{found['record_seconds']:.2f} s, {found['compiled']:,} compiled in {found['compile_seconds']:.2f} s"
    cached = f", {found['cached']:,} read from the cache" if found.get("cached") else ""
    return f"{found['paths']:,}{cached}; {found['recordings']:,} recordings in {spent}"


def _misses(found: Mapping[str, Any]) -> str:
    shown = list(found["misses"].items())[:SHOWN_GUARDS]
    lines = [f"{count:,} × {_shortened(guard)}" for guard, count in shown]
    if others := found["missed"] - sum(count for _, count in shown):
        lines.append(f"{others:,} others")
    return "\n".join(lines)


def _shortened(guard: str) -> str:
    return guard if len(guard) <= SHOWN_CHARACTERS else f"{guard[:SHOWN_CHARACTERS]}…"

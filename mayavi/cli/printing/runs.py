"""Output of `mayavi runs`: runs, comparisons and explanations as text and as JSON data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mayavi.cli.console.output import Column, print_table

if TYPE_CHECKING:
    from mayavi.sim.store import RunRecord
    from mayavi.sim.store.comparison import RunDiff
    from mayavi.sim.store.exceptions import RaisedActions
    from mayavi.sim.store.explanation import Event, Explanation


def run_facts(run: RunRecord) -> list[tuple[str, str]]:
    """Return the facts of a run with their titles."""
    done = "" if run.steps_done in (None, run.steps) else f" ({run.steps_done} done)"
    took = "" if run.seconds is None else f", {run.seconds:,.2f} s"
    facts = [
        ("run", run.run_id),
        ("scenario", run.scenario),
        ("chain", f"{run.chain}, from {run.start}"),
        ("seed", str(run.seed)),
        ("steps", f"{run.steps:,}{done}"),
        ("started", f"{run.started_at:%Y-%m-%d %H:%M:%S} UTC{took}"),
        ("status", run.status),
        ("digest", run.digest or "none: the run did not end"),
        ("world", f"{run.world_digest[:16]}… → {run.final_world_digest[:16] or '?'}…"),
        ("versions", ", ".join(f"{name} {version}" for name, version in run.versions.items() if " " not in name)),
    ]
    if code := [f"{name}: {version}" for name, version in run.versions.items() if " " in name]:
        facts.append(("code", "\n".join(code)))  # of agents and protocols that are not Mayavi's own
    if run.sweep_id:
        facts.insert(1, ("sweep", run.sweep_id))
    if run.action_count is not None:
        counts = f"{run.action_count:,} actions ({run.failed_count or 0:,} failed, {run.raised_count or 0:,} raised)"
        facts.append(("rows", f"{counts}, {run.snapshot_count or 0:,} figures of the market"))
    return facts


def run_document(run: RunRecord) -> dict[str, Any]:
    """Return a run as JSON data."""
    return {
        "run_id": run.run_id,
        "sweep_id": run.sweep_id,
        "scenario": run.scenario,
        "chain": run.chain,
        "world": run.world,
        "source": run.source,
        "seed": str(run.seed),
        "steps": run.steps,
        "steps_done": run.steps_done,
        "started_at": run.started_at.isoformat(),
        "seconds": run.seconds,
        "status": run.status,
        "digest": run.digest,
        "world_digest": run.world_digest,
        "final_world_digest": run.final_world_digest,
        "versions": run.versions,
        "action_count": run.action_count,
        "failed_count": run.failed_count,
        "raised_count": run.raised_count,
        "snapshot_count": run.snapshot_count,
        "error": run.error,
    }


def raised_document(found: RaisedActions) -> dict[str, Any]:
    """Return exceptions of an agent as JSON data."""
    raised = found.raised
    return {
        "agent": found.agent,
        "account": found.account,
        "kind": found.kind,
        "step": found.step,
        "block": found.block,
        "count": found.count,
        "error": raised.error,
        "hint": raised.notes,
        "place": raised.place,
        "traceback": found.traceback,
    }


def print_diff(found: RunDiff) -> None:
    """Print a comparison."""
    before, after = found.before, found.after
    if found.equal:
        print(f"equal: both have the rows {before.digest or 'of an unfinished run'}")
    for name, (left, right) in found.fields.items():
        print(f"{name}: {left} → {right}")
    for line in found.scenario_lines[2:]:
        print(f"  {line}")
    if found.kpis:
        from mayavi.scenarios.figures.formatting import shown, title_of

        print_table(
            [Column("figure", right=False), Column("before"), Column("after")],
            [
                (title_of(name), *("none" if row is None else shown(row, before.chain) for row in pair))
                for name, pair in found.kpis.items()
            ],
        )
    if found.first is not None:
        first = found.first
        print(f"first difference: step {first.step}, row {first.place} of {first.table}")
        if first.before is None or first.after is None:
            print(f"  only {(before if first.after is None else after).run_id} has it")
        for name in first.fields if first.before and first.after else ():
            print(f"  {name}: {getattr(first.before, name)} → {getattr(first.after, name)}")


def diff_document(found: RunDiff) -> dict[str, Any]:
    """Return a comparison as JSON data."""
    from dataclasses import asdict

    from mayavi.sim.rows import row_fields

    first = found.first
    return {
        "before": found.before.run_id,
        "after": found.after.run_id,
        "equal": found.equal,
        "fields": {name: {"before": exact(a), "after": exact(b)} for name, (a, b) in found.fields.items()},
        "scenario_diff": found.scenario_lines,
        "kpis": {
            name: {"before": None if a is None else asdict(a), "after": None if b is None else asdict(b)}
            for name, (a, b) in found.kpis.items()
        },
        "first_difference": None
        if first is None
        else {
            "table": first.table,
            "row": first.place,
            "step": first.step,
            "fields": list(first.fields),
            "before": None if first.before is None else row_fields(first.before),
            "after": None if first.after is None else row_fields(first.after),
        },
    }


def exact(value: Any) -> Any:
    """Return an integer that JSON readers would round as text, other values unchanged."""
    return str(value) if isinstance(value, int) and abs(value) >= 2**53 else value


def print_explanation(found: Explanation) -> None:
    """Print an explanation, one line per event."""
    from mayavi.sim.store.explanation import shown_wad

    run = found.run
    whose = "" if found.agent == found.account else f" (of agent {found.agent})"
    print(f"{found.account}{whose} in {run.scenario} on {run.world}, seed {run.seed}, run {run.run_id}")
    rows: list[tuple[str, str, str]] = []
    last_health = ""
    for step in found.steps:
        factor = step.health_factor_wad
        health = shown_wad(factor) if factor is not None else "no debt" if step.is_debt_free else ""
        if not step.events and health == last_health:
            continue  # nothing new
        last_health = "" if step.events else health
        lines = [event_line(event, found.amounts(event)) for event in step.events] or [""]
        when = "start" if step.step < 0 else str(step.step)
        rows += [(when if at == 0 else "", health if at == 0 else "", line) for at, line in enumerate(lines)]
    print_table([Column("step"), Column("health factor"), Column("what happened", right=False)], rows)
    print()
    for sentence in found.why():
        print(sentence)


def event_line(event: Event, amounts: str) -> str:
    """Describe an event and the amounts it moved in one line."""
    from mayavi.sim.store.explanation import shown_wad

    who = event.kind if event.own else f"{event.kind} by {event.agent}"
    factors = [event.health_factor_before, event.health_factor_after]
    moved = " → ".join(shown_wad(each) for each in factors if each is not None)
    if event.status != "success":
        return f"{who} {event.status}: {event.cause}"
    parts = [event.note, f"health factor {moved}" if moved else "", amounts]
    rest = ", ".join(part for part in parts if part)
    return f"{who}: {rest}" if rest else who


def explanation_document(found: Explanation) -> dict[str, Any]:
    """Return an explanation as JSON data."""
    return {
        "run_id": found.run.run_id,
        "agent": found.agent,
        "account": found.account,
        "liquidated": bool(found.liquidations),
        "why": found.why(),
        "steps": [
            {
                "step": step.step,
                "health_factor_wad": None if step.health_factor_wad is None else str(step.health_factor_wad),
                "figures": {
                    metric: {"value": value, "number": number, "unit": unit}
                    for metric, (value, number, unit) in step.figures.items()
                },
                "events": [
                    {
                        "agent": event.agent,
                        "own": event.own,
                        "kind": event.kind,
                        "status": event.status,
                        "reason": event.reason,
                        "cause": event.cause,
                        "note": event.note,
                        "block_number": event.block_number,
                        "liquidation": event.liquidates,
                        "health_factor_before_wad": text_or_none(event.health_factor_before),
                        "health_factor_after_wad": text_or_none(event.health_factor_after),
                        "amounts": found.amounts(event),
                        "details": event.details,
                    }
                    for event in step.events
                ],
            }
            for step in found.steps
        ],
    }


def text_or_none(value: int | None) -> str | None:
    """Return an integer as text, or None."""
    return None if value is None else str(value)

"""Agents of a run with their accounts, and the explanation of one of them."""

from __future__ import annotations

import math
import re

from mayavi.api.errors import ApiError
from mayavi.api.models.runs import AccountActivity, AgentSummary, ExplainedEvent, Explanation
from mayavi.errors import AmbiguousName, UnknownName
from mayavi.protocols.health import NO_DEBT
from mayavi.sim.store import Store
from mayavi.sim.store.database.views import reading
from mayavi.sim.store.explanation import WAD, Event
from mayavi.sim.store.explanation import Explanation as StoredExplanation

_COUNTS = (
    "SELECT agent, account, count(*), count(*) FILTER (status IN ('failed', 'raised')) FROM actions WHERE run_id = $1"
    " GROUP BY agent, account"
)
_POSITIONS = (
    "SELECT agent, account, sum(liquidations)::BIGINT, sum(bad_debt_number) FROM accounts WHERE run_id = $1"
    " GROUP BY agent, account"
)
_NO_POSITION = (None, None)


def agent_list(store: Store, run_id: str) -> list[AgentSummary]:
    """Return the agents of a run by name, with all their accounts."""
    with reading(store.path) as connection:
        counted = connection.execute(_COUNTS, [run_id]).fetchall()
        held = connection.execute(_POSITIONS, [run_id]).fetchall()
    counts = {(agent, account): (n, failed) for agent, account, n, failed in counted}
    positions = {(agent, account): (n, bad_debt) for agent, account, n, bad_debt in held}
    accounts: dict[str, list[AccountActivity]] = {}
    for agent, account in {**counts, **positions}:
        actions, failed = counts.get((agent, account), (0, 0))
        liquidations, bad_debt = positions.get((agent, account), _NO_POSITION)
        finite = bad_debt if bad_debt is not None and math.isfinite(bad_debt) else None
        accounts.setdefault(agent, []).append(
            AccountActivity(account=account, actions=actions, failed=failed, liquidations=liquidations, bad_debt=finite)
        )
    return [_agent(agent, accounts[agent]) for agent in sorted(accounts, key=_natural)]


def _agent(agent: str, activity: list[AccountActivity]) -> AgentSummary:
    ordered = sorted(activity, key=lambda each: _natural(each.account))
    return AgentSummary(
        agent=agent,
        accounts=[each.account for each in ordered],
        actions=sum(each.actions for each in ordered),
        failed=sum(each.failed for each in ordered),
        activity=ordered,
    )


def explanation_of(store: Store, run_id: str, agent: str) -> Explanation:
    """Explain what happened to an agent or account; 404 for an unknown one, 409 for an agent with several accounts."""
    try:
        found = store.explain(run_id, agent)
    except AmbiguousName as error:
        raise ApiError(409, error.message, error.hint) from None
    except UnknownName as error:
        raise ApiError(404, error.message, error.hint) from None
    return Explanation(
        agent=found.agent,
        account=found.account,
        sentences=found.why(),
        events=[_event(found, event) for step in found.steps for event in step.events],
        health_factors=[
            (step.step, factor) for step in found.steps if (factor := _factor(step.health_factor_wad)) is not None
        ],
    )


def _event(found: StoredExplanation, event: Event) -> ExplainedEvent:
    return ExplainedEvent(
        step=event.step,
        block_number=event.block_number,
        agent=event.agent,
        kind=event.kind,
        status=event.status,
        cause=event.cause,
        note=event.note,
        amounts=found.amounts(event),
        own=event.own,
        liquidates=event.liquidates,
        details=event.details,
        health_factor_before=_factor(event.health_factor_before),
        health_factor_after=_factor(event.health_factor_after),
    )


def _factor(wad: int | None) -> float | None:
    """A health factor as a number; None if it is unknown, or infinite because there is no debt."""
    return None if wad is None or wad >= NO_DEBT // 2 else wad / WAD


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sort key in which `borrowers-2` comes before `borrowers-10`."""
    parts = re.findall(r"([0-9]+)|([^0-9]+)", name)
    return [(0, int(digits[:400]), "") if digits else (1, 0, text) for digits, text in parts]

"""The action log and single steps of a run, with decoded calls and state changes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mayavi.api.errors import ApiError
from mayavi.api.models.base import Listing
from mayavi.api.models.runs import Figure, StepAction, StepDetails
from mayavi.api.reading.runs.action_search import ActionSearch, parsed
from mayavi.api.reading.runs.state_changes import state_changes
from mayavi.report.run.actions import describe
from mayavi.sim.store import Store
from mayavi.sim.store.amounts import decimals_of
from mayavi.sim.store.database.views import reading

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_ACTIONS_OF_STEP = 500
MOST_FIGURES_OF_STEP = 5_000
_COLUMNS = (
    "seq, step, position, agent, account, kind, status, reason, gas_used, fee_wei, block_number, timestamp, details"
)
_AMONG = "run_id = $1 AND seq IN (SELECT unnest($2::BIGINT[]))"


@dataclass(frozen=True, slots=True)
class ActionFilter:
    """Which actions of a run; None leaves a field open."""

    agent: str | None = None
    account: str | None = None
    kind: str | None = None
    status: str | None = None
    step: int | None = None
    search: str | None = None

    def condition(self) -> tuple[str, list[object]]:
        """SQL of everything but `search`, with the run's id as first parameter, and the parameters after it."""
        conditions, values = ["run_id = $1"], list[object]()
        for name in ("agent", "account", "kind", "status", "step"):
            value = getattr(self, name)
            if value is not None:
                values.append(value)
                conditions.append(f"{name} = ${len(values) + 1}")
        return " AND ".join(conditions), values


def action_list(
    store: Store,
    run_id: str,
    wanted: ActionFilter,
    limit: int,
    offset: int,
    search: ActionSearch,
    version: Hashable | None = None,
) -> Listing[StepAction]:
    """Return a page of the action log, in order of execution. `next` is the offset of the page after it.

    `version` identifies the rows of an ended run, whose words `search` may keep.
    """
    condition, values = wanted.condition()
    decimals = decimals_of(store, run_id)
    parameters: list[object] = [run_id, *values]
    with reading(store.path) as connection:
        if wanted.search:
            found = search.find(connection, run_id, decimals, wanted.search, version)
            rows = connection.execute(f"SELECT seq FROM actions WHERE {condition} ORDER BY seq", parameters).fetchall()
            chosen = [seq for (seq,) in rows if seq in found]
            page = chosen[offset : offset + limit]
            total = len(chosen)
            items = _actions(connection, _AMONG, [run_id, page], decimals, limit, 0)
        else:
            total = _count(connection, condition, parameters)
            items = _actions(connection, condition, parameters, decimals, limit, offset)
    after = offset + len(items)
    return Listing[StepAction](items=items, total=total, next=str(after) if items and after < total else None)


def step_details(store: Store, run_id: str, step: int) -> StepDetails:
    """Return figures and actions of a step; 404 for a step that the run does not have."""
    decimals = decimals_of(store, run_id)
    condition, values = ActionFilter(step=step).condition() if abs(step) < 2**62 else ("run_id = $1 AND false", [])
    with reading(store.path) as connection:
        figures = connection.execute(
            "SELECT block_number, timestamp, subject, metric, value, number, unit FROM market_snapshots"
            f" WHERE {condition} ORDER BY seq LIMIT {MOST_FIGURES_OF_STEP}",
            [run_id, *values],
        ).fetchall()
        count = _count(connection, condition, [run_id, *values])
        actions = _actions(connection, condition, [run_id, *values], decimals, MOST_ACTIONS_OF_STEP, 0)
        if not figures and not count:
            raise _no_step(connection, run_id, step)
    block, moment = (
        (max(row[0] for row in figures), max(row[1] for row in figures))
        if figures
        else (actions[-1].block_number, actions[-1].timestamp)
    )
    return StepDetails(
        step=step,
        block_number=block,
        timestamp=moment,
        figures=[
            Figure(
                subject=subject,
                metric=metric,
                value=value,
                number=number if number is not None and math.isfinite(number) else None,
                unit=unit,
            )
            for _, _, subject, metric, value, number, unit in figures
        ],
        actions=actions,
        action_count=count,
    )


def _no_step(connection: DuckDBPyConnection, run_id: str, step: int) -> ApiError:
    row = connection.execute(
        "SELECT min(step), max(step) FROM (SELECT step FROM market_snapshots WHERE run_id = $1"
        " UNION ALL SELECT step FROM actions WHERE run_id = $1)",
        [run_id],
    ).fetchone()
    if row is None or row[0] is None:
        return ApiError(404, f"run '{run_id}' has no step yet", "wait until it has written its first rows")
    return ApiError(404, f"run '{run_id}' has no step {step}", f"its steps go from {row[0]} to {row[1]}")


def _count(connection: DuckDBPyConnection, condition: str, parameters: Sequence[object]) -> int:
    row = connection.execute(f"SELECT count(*) FROM actions WHERE {condition}", list(parameters)).fetchone()
    return int(row[0]) if row else 0


def _actions(
    connection: DuckDBPyConnection,
    condition: str,
    parameters: Sequence[object],
    decimals: dict[str, int],
    limit: int,
    offset: int,
) -> list[StepAction]:
    place = len(parameters)
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM actions WHERE {condition} ORDER BY seq LIMIT ${place + 1} OFFSET ${place + 2}",
        [*parameters, limit, offset],
    ).fetchall()
    return [_action(row, decimals) for row in rows]


def _action(row: tuple[Any, ...], decimals: dict[str, int]) -> StepAction:
    seq, step, position, agent, account, kind, status, reason, gas, fee, block, moment, written = row
    details = parsed(written)
    return StepAction(
        seq=seq,
        step=step,
        position=position,
        agent=agent,
        account=account,
        kind=kind,
        status=status,
        reason=reason,
        call=describe(kind, details, decimals),
        changes=state_changes(kind, status, details, decimals),
        gas_used=gas,
        fee_wei=fee,
        block_number=block,
        timestamp=moment,
        details=details,
    )

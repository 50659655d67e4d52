"""What a run leaves behind, row by row, and the digest that identifies it.

Rows hold exact integers as decimal text where they may exceed 64 bits. The digest covers what happened and nothing of
when or where it was computed: the same scenario and seed give the same digest on every machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from operator import attrgetter, index
from typing import Any, Literal, Protocol

from mayavi.agents.base import Details

Status = Literal["success", "failed", "raised"]
"""`failed`: the chain or a check refused it. `raised`: the agent's own code broke; `reason` holds the traceback."""

RunStatus = Literal["running", "finished", "halted", "interrupted"]


@dataclass(frozen=True, slots=True)
class ActionRow:
    """One intent as it was executed. `block` names the partial state update block, `position` the place in its order.

    An agent that broke while it looked got no place: its position is -1, its kind `step`.
    """

    step: int
    block: str
    position: int
    agent: str
    account: str
    kind: str
    status: Status
    reason: str
    transactions: int
    gas_used: int
    fee_wei: str
    block_number: int
    timestamp: int
    details: str
    """Canonical JSON: what was wanted and what came out; integers as decimal text."""


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """One figure of the market after a step, exact in `value` (an integer as text, scaled by `unit`) and as a float."""

    step: int
    block_number: int
    timestamp: int
    subject: str
    """Of what: `AaveV3.USDC`, `UniswapV3.WETH/USDC.500`, `borrowers`."""
    metric: str
    """What: `utilisation`, `price`, `tvl`, `health_factor_below_1_05`."""
    value: str
    number: float
    unit: str
    """`ray`, `usd_e8`, `wad`, `count`, `wei` …"""


@dataclass(frozen=True, slots=True)
class KpiRow:
    """One figure of the whole run."""

    name: str
    value: str
    number: float
    unit: str


Row = ActionRow | SnapshotRow | KpiRow


class RowsDigest:
    """Takes rows in the order they come about; `hexdigest()` identifies all of them."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, rows: Iterable[Row]) -> None:
        """Take rows."""
        for row in rows:
            kind = type(row)
            self._hash.update(_compact([kind.__name__, *_values[kind](row)]).encode() + b"\n")

    def hexdigest(self) -> str:
        """The digest so far."""
        return self._hash.hexdigest()


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What is known of a run before it starts."""

    run_id: str
    scenario: str
    scenario_text: str
    """The scenario as it is run, overrides applied: enough to run it again."""
    seed: int
    steps: int
    chain: str
    source: str
    """`replica`, `rpc` or `snapshot`."""
    world_digest: str
    """Of the world before any agent prepared."""
    versions: dict[str, str]
    started_at: float
    sweep_id: str | None = None


@dataclass(frozen=True, slots=True)
class RunEnd:
    """What is known when it ends. `digest` is that of its rows."""

    status: RunStatus
    digest: str
    kpis: tuple[KpiRow, ...]
    final_world_digest: str
    timings: dict[str, float]
    """Seconds by part: `prepare`, `agents`, `kernel`, `hooks`, `store`, `engine` and, the sum of these, `total`.

    `kernel` is all the time inside the EVM, whoever asked for it; the others are what their own code took.
    """
    error: str = ""


class Recorder(Protocol):
    """Where a run is written as it goes. `mayavi.sim.store` has the one that ends up in DuckDB."""

    def begin(self, info: RunInfo) -> None:
        """The run starts."""

    def record(self, actions: list[ActionRow], snapshots: list[SnapshotRow]) -> None:
        """A step is done."""

    def end(self, end: RunEnd) -> None:
        """The run is over."""


def canonical(details: Details) -> str:
    """`details` as JSON with sorted keys and integers as text, the same for the same facts."""
    return _sorted({key: _exact(value) for key, value in details.items()}) if details else "{}"


def _exact(value: object) -> object:
    if type(value) is int:
        return str(value)
    if value is None or isinstance(value, str | bool | float):
        return value
    if isinstance(value, bytes):
        return "0x" + value.hex()
    return str(index(value))  # type: ignore[arg-type]  # NumPy's integers; what is none raises TypeError


_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_sorted = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True).encode
_values: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    kind: attrgetter(*(field.name for field in fields(kind))) for kind in (ActionRow, SnapshotRow, KpiRow)
}

"""Rows of a run: actions, market figures, KPIs and final accounts.

Integers that may exceed 64 bits are decimal text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]
from operator import index
from typing import Any, Literal, NamedTuple, Protocol

from mayavi.agents.base import Details

Status = Literal["success", "declined", "failed", "raised"]
"""`declined`: the agent decided against it when its turn came. `failed`: the chain or a check refused the action.
`raised`: the agent's code raised; `reason` is the traceback."""

RunStatus = Literal["running", "finished", "halted", "interrupted"]


@dataclass(frozen=True, slots=True)
class ActionRow:
    """One executed intent. `block` names the agent block, `position` is the place in its order of execution.

    An agent whose `step()` raised has position -1 and kind `step`.
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
    """Canonical JSON of the intent and its outcome; integers as decimal text."""


class SnapshotRow(NamedTuple):
    """One market figure after a step: exact in `value` (integer text scaled by `unit`), rounded in `number`."""

    step: int
    block_number: int
    timestamp: int
    subject: str
    """Measured object: `AaveV3.USDC`, `UniswapV3.WETH/USDC.500`, `borrowers`."""
    metric: str
    """The quantity: `utilisation`, `price`, `tvl`, `health_factor_below_1_05`."""
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


@dataclass(frozen=True, slots=True)
class AccountRow:
    """One borrowing account after the last step. Values are exact integer text with eight decimals, in `unit`."""

    agent: str
    """Borrower of the scenario to whom it belongs."""
    account: str
    market: str
    """Lending market: `AaveV3`, `CompoundV3.cUSDCv3` …"""
    unit: str
    """`usd_e8` or `eth_e8`."""
    collateral: str
    debt: str
    health_factor: str
    """With 18 decimals; empty without debt."""
    liquidations: int
    """Number of times it was liquidated."""
    liquidated: str
    """Debt that liquidators covered."""
    bad_debt: str
    """Debt that its collateral does not cover, and losses of the market that absorbed it."""
    reason: str
    """Why an account below a health factor of one is still there; empty for healthy ones."""


Row = ActionRow | SnapshotRow | KpiRow | AccountRow


def row_fields(row: Row) -> dict[str, Any]:
    """Return the fields of a row by name, in order."""
    return row._asdict() if isinstance(row, SnapshotRow) else asdict(row)


@dataclass(frozen=True, slots=True)
class RunInfo:
    """Facts of a run that are fixed before it starts."""

    run_id: str
    scenario: str
    scenario_text: str
    """The complete scenario as YAML, overrides applied: enough to run it again."""
    seed: int
    steps: int
    chain: str
    source: str
    """`replica`, `rpc` or `snapshot`."""
    world_digest: str
    """Digest of the world before any agent prepared."""
    versions: dict[str, str]
    started_at: float
    sweep_id: str | None = None


@dataclass(frozen=True, slots=True)
class RunCounts:
    """Number of rows of a run, as the table `runs` stores them."""

    steps_done: int = 0
    actions: int = 0
    failed: int = 0
    raised: int = 0
    snapshots: int = 0


@dataclass(frozen=True, slots=True)
class RunEnd:
    """Result of a run. `digest` identifies its rows."""

    status: RunStatus
    digest: str
    kpis: tuple[KpiRow, ...]
    final_world_digest: str
    timings: dict[str, float]
    """Seconds by part: `prepare`, `agents`, `kernel`, `hooks`, `store`, `engine` and, the sum of these, `total`.

    `kernel` is all time inside the EVM; the other parts exclude it.
    """
    error: str = ""
    counts: RunCounts = RunCounts()
    """Rows handed to the recorder."""
    accounts: tuple[AccountRow, ...] = ()
    """Borrowing accounts after the last step."""
    specialise: dict[str, Any] = field(default_factory=dict)
    """What was replayed, as JSON data; no row depends on it."""


class Recorder(Protocol):
    """Protocol for objects that store a run while it goes on; `mayavi.sim.store` has the one for DuckDB."""

    def begin(self, info: RunInfo) -> None:
        """Start a run."""

    def record(self, actions: list[ActionRow], snapshots: Sequence[SnapshotRow]) -> None:
        """Store the rows of one step."""

    def end(self, end: RunEnd) -> None:
        """Finish the run."""


def canonical(details: Details) -> str:
    """Encode `details` as JSON with sorted keys and integers as text: equal facts give equal text."""
    if not details:
        return "{}"
    return "".join(_sorted_parts({key: _exact(value) for key, value in details.items()}, 0))


def _exact(value: object) -> object:
    if type(value) is int:
        return str(value)
    if value is None or isinstance(value, str | bool | float):
        return value
    if isinstance(value, bytes):
        return "0x" + value.hex()
    return str(index(value))  # type: ignore[arg-type]  # NumPy integers; other types raise TypeError


def json_parts(*, sort_keys: bool) -> Callable[[Any, int], Iterable[str]]:
    """Return an encoder that is made once, where `JSONEncoder.encode` makes one for each value."""
    if c_make_encoder is not None:
        made: Callable[[Any, int], Iterable[str]] = c_make_encoder(
            None, None, encode_basestring, None, ":", ",", sort_keys, False, False
        )
        return made
    plain = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=sort_keys)
    return lambda value, _: [plain.encode(value)]


_sorted_parts = json_parts(sort_keys=True)

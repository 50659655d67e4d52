"""Runs: submission, summaries, details, agents and steps."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from mayavi.api.models.base import Answer, Request
from mayavi.api.models.jobs import JobStatus, Progress

Override = str | int | float | bool | None


class Submission(Request):
    """A scenario to execute: by name, or as inline YAML, which may read no file."""

    scenario: str | None = Field(default=None, description="Name of a library scenario.", max_length=200)
    yaml: str | None = Field(default=None, description="An inline scenario.", max_length=262_144)
    chain: str | None = Field(default=None, max_length=50)
    steps: int | None = Field(default=None, ge=1, le=1_000_000)
    overrides: dict[str, Override] = Field(default={}, description="Values by dotted key, as `--set` takes them.")


class RunSubmission(Submission):
    """One run."""

    seed: int | None = Field(default=None, ge=0, lt=2**64)


class RunSummary(Answer):
    """A run in a list. Figures are None while they are unknown."""

    run_id: str
    scenario: str
    chain: str
    world: str = Field(
        default="", description="World that it starts from: a market such as `base@2025-12`, or the chain's own."
    )
    seed: str = Field(description="Decimal digits: seeds may exceed 53 bits.")
    steps: int
    status: JobStatus
    sweep_id: str | None = None
    submitted_at: datetime | None = Field(default=None, description="None for a run of the command line.")
    started_at: datetime | None = None
    ended_at: datetime | None = None
    seconds: float | None = None
    digest: str = ""
    error: str = ""
    progress: Progress | None = None
    actions: int | None = None
    failed_actions: int | None = None
    bad_debt: float | None = Field(default=None, description="At the end, in whole units of `bad_debt_unit`.")
    bad_debt_unit: str = Field(default="", description="`usd_e8` for dollars, `eth_e8` for ETH.")
    parameters: dict[str, str] = Field(
        default={},
        description="Values that differ from the library's scenario, at most 12; empty until they are read.",
    )
    queued_ahead: int | None = Field(default=None, description="Jobs before this one, while it is queued.")
    owner: str | None = Field(default=None, description="Name of the key that submitted it.")


class Kpi(Answer):
    """A key figure: exact value as text, and as a number."""

    name: str
    value: str
    number: float | None
    unit: str


class RunDetails(RunSummary):
    """A run with its key figures, its scenario and where it comes from."""

    kpis: list[Kpi] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    scenario_text: str
    world_digest: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    command: str = Field(default="", description="Command line that repeats the run.")
    command_note: str = Field(default="", description="What the command repeats, and what it needs for that.")


class AccountActivity(Answer):
    """What an account did, and how often it was liquidated."""

    account: str
    actions: int
    failed: int
    liquidations: int | None = Field(description="None for an account that has no position.")
    bad_debt: float | None = Field(description="At the end, in the unit of its market.")


class AgentSummary(Answer):
    """An agent of a run and its accounts."""

    agent: str
    accounts: list[str]
    actions: int
    failed: int
    activity: list[AccountActivity] = Field(description="One entry for each of `accounts`, in the same order.")


class ExplainedEvent(Answer):
    """An action of the account, or of another agent on it."""

    step: int
    block_number: int
    agent: str
    kind: str
    status: str
    cause: str
    note: str
    amounts: str
    own: bool
    liquidates: bool
    details: dict[str, Any]
    health_factor_before: float | None
    health_factor_after: float | None


class Explanation(Answer):
    """What happened to one account, in sentences and event by event."""

    agent: str
    account: str
    sentences: list[str]
    events: list[ExplainedEvent]
    health_factors: list[tuple[int, float]] = Field(default=[], description="Step and health factor after it.")


class Figure(Answer):
    """A market figure after a step."""

    subject: str
    metric: str
    value: str
    number: float | None
    unit: str


class StepAction(Answer):
    """An action with its decoded call and what it changed."""

    seq: int
    step: int
    position: int
    agent: str
    account: str
    kind: str
    status: str
    reason: str
    call: str = Field(description="The decoded call in words.")
    changes: list[str] = Field(default=[], description="State changes in words: `health factor 1.02 → 1.31`.")
    gas_used: int
    fee_wei: str
    block_number: int
    timestamp: int
    details: dict[str, Any]


class StepDetails(Answer):
    """Figures after one step, and its actions."""

    step: int
    block_number: int
    timestamp: int
    figures: list[Figure]
    actions: list[StepAction]
    action_count: int = Field(description="All actions of the step; `actions` holds at most 500.")

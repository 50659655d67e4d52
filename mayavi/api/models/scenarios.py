"""Scenarios and worlds."""

from __future__ import annotations

from pydantic import Field

from mayavi.api.models.base import Answer, Problem
from mayavi.api.models.runs import Submission


class ScenarioSummary(Answer):
    """A library scenario."""

    name: str
    description: str
    chains: list[str]
    chain: str
    steps: int


class ScenarioDetails(ScenarioSummary):
    """A library scenario with its YAML text."""

    yaml: str


class Validation(Submission):
    """A submission to check without running it."""

    seed: int | None = Field(default=None, ge=0, lt=2**63, description="Seed of a single run.")
    seeds: str | None = Field(default=None, max_length=1000)
    grid: dict[str, list[str | int | float | bool | None]] = Field(default_factory=dict)


class Validated(Answer):
    """Whether a submission can run. `yaml` is the resolved scenario, `command` the equivalent command line."""

    valid: bool
    problems: list[Problem] = Field(default_factory=list)
    yaml: str = ""
    command: str = ""
    runs: int = 1


class WorldSummary(Answer):
    """An offline replica of a chain, or of one market of Aave V3.6 on it.

    `world` is its name, `aave` the version of Aave's code. `default` is the one that runs on `chain` begin with if they
    name no `block` and no `world`.
    """

    world: str
    aave: str
    chain: str
    chain_id: int
    title: str
    default: bool
    built: bool
    block_number: int | None = None
    digest: str | None = None
    bytes: int | None = None
    protocols: list[str] = Field(default_factory=list)
    tokens: list[str] = Field(default_factory=list)

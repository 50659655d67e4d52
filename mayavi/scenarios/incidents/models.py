"""Settings of an incident: facts with sources, scenarios, and the figures to compare.

An incident is a folder with `incident.yaml` and one file for each of its scenarios.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from mayavi.scenarios.models.values.quantities import fault, ratio_of
from mayavi.settings.model import Model

Number = Annotated[Decimal, BeforeValidator(ratio_of)]
"""A number, also as a percentage."""
Moment = Literal["first", "last", "lowest", "highest"]


class Fact(Model):
    """A recorded number or statement that the replay takes as given."""

    what: str
    value: str
    """As a reader writes it, with its unit."""
    source: str
    """Where it was published, or how it was derived."""


class Measure(Model):
    """Where a figure of a run comes from: a KPI, a market figure after a step, or a sum over actions."""

    kpi: str | None = None
    """Name of a KPI."""
    figure: str | None = None
    """Subject and metric of a market figure, separated by a space: `AaveV2.CRV borrowed`."""
    at: Moment | Annotated[int, Field(ge=0)] = "last"
    """Step of the market figure, or its first (before the run), last, lowest or highest value."""
    change_from: Moment | Annotated[int, Field(ge=0)] | None = None
    """Give the relative change of the market figure from this moment on instead."""
    actions: str | None = None
    """Kind of the successful actions to count."""
    sum: str | None = None
    """Detail of the actions to add up, instead of counting them."""
    differs_from: str | None = None
    """Recorded detail of the same actions: give the relative difference of `sum` from it instead of the sum."""
    over_actions: Literal["largest", "median"] = "largest"
    """Which of these differences: the largest in size with its sign, or the median of their sizes."""
    decimals: Annotated[int, Field(ge=0, le=36)] = 0
    """Decimals of that detail."""
    where: dict[str, str] = Field(default_factory=dict)
    """Details that an action must have to be counted; `agent` and `account` are two of them."""
    per: Measure | None = None
    """Divide by this."""

    @model_validator(mode="after")
    def _one_origin(self) -> Measure:
        if sum(each is not None for each in (self.kpi, self.figure, self.actions)) != 1:
            raise fault("needs one of 'kpi', 'figure' and 'actions'")
        if self.differs_from is not None and self.sum is None:
            raise fault("compares with 'differs_from' and names no 'sum'")
        if self.figure is not None and " " not in self.figure.strip():
            raise fault(f"is '{self.figure}', not a subject and a metric such as 'AaveV2.CRV borrowed'")
        return self


class ExpectedFigure(Model):
    """A recorded figure beside the one that the scenario gives."""

    name: str
    asset: str
    recorded: Number
    unit: str
    """Unit of both figures; `%` for ratios shown as percentages."""
    source: str
    measure: Measure
    within: Number | None = None
    """Largest difference at which the replay counts as exact; none for a prediction that may miss."""
    input: bool = False
    """The scenario is given this figure, so that its match proves nothing."""
    of_account: Literal["collateral", "debt"] | None = None
    """What to read of the account after the last real block, where `--rpc` executes them."""
    why: str = ""
    """Why both differ, where that is known."""


class IncidentRun(Model):
    """One scenario of an incident."""

    title: str
    title_of_facts: str | None = None
    """Title without the complete record, where it differs."""
    scenario: str
    """File in the incident's folder."""
    record: str | None = None
    """Name of the complete record in `cases.py` that replaces the coarse one of the file, where it is present."""
    figures: Annotated[list[ExpectedFigure], Field(min_length=1)]


class Unpredicted(Model):
    """A recorded figure that the facts cannot predict."""

    what: str
    recorded: str
    source: str
    why: str


class IncidentConfig(Model):
    """A named incident."""

    name: str
    title: str
    date: str
    protocol: str
    summary: str
    """What happened, in a few sentences."""
    facts: Annotated[list[Fact], Field(min_length=1)]
    assumptions: list[str] = Field(default_factory=list)
    """What the record does not say, and the scenarios assume."""
    runs: Annotated[dict[str, IncidentRun], Field(min_length=1)]
    unpredicted: list[Unpredicted] = Field(default_factory=list)
    counterfactuals: list[str] = Field(default_factory=list)
    """Examples for `--counterfactual`."""

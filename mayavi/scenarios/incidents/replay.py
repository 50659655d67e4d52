"""Replay an incident: run its scenarios, compare with the record, and repeat with something changed.

```python
report = replay_incident("crv_2022_11", counterfactuals=["aave_v2.USDC.liquidation_bonus=2%"])
report.runs["recorded"].figures[0].difference
```
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from mayavi.errors import UsageError
from mayavi.scenarios.incidents.cases import CompleteRecord, has_node_record, record_of_file, record_of_node
from mayavi.scenarios.incidents.keys import counterfactual_keys
from mayavi.scenarios.incidents.measures import Failures, RunFigures, exact_difference
from mayavi.scenarios.incidents.models import ExpectedFigure
from mayavi.scenarios.incidents.real_blocks import BlockSettings, ReplayedCalls, replay_calls
from mayavi.scenarios.incidents.registry import Incident, load_incident
from mayavi.scenarios.loading import load_scenario
from mayavi.scenarios.run.request import RunListener
from mayavi.scenarios.run.result import Run
from mayavi.scenarios.run.run import run as run_scenario

TOGETHER = "all together"
"""Name of the counterfactual that applies every change."""


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """A recorded figure and the one of a run; `simulated` is None where the run gives none.

    `replayed` is the figure of the real blocks, where they were executed.
    """

    expected: ExpectedFigure
    simulated: Decimal | None
    replayed: Decimal | None = None

    @property
    def difference(self) -> Decimal | None:
        """Simulated less recorded, exactly."""
        return None if self.simulated is None else exact_difference(self.simulated, self.expected.recorded)

    @property
    def exact(self) -> bool | None:
        """Whether the figure is as exact as promised; None where nothing is promised.

        An input is never exact, and False if the run did not take it as it was given.
        """
        if self.expected.within is None:
            return None
        kept = self.difference is not None and abs(self.difference) <= self.expected.within
        return None if kept and self.expected.input else kept


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run of an incident with its figures. `record` describes the record that drove it.

    `recorded_calls` says that its liquidators repeat a record, and do not react to what a counterfactual changes.
    """

    name: str
    title: str
    run: Run
    record: str
    figures: tuple[ComparedFigure, ...]
    failures: Failures | None = None
    recorded_calls: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect of a change on one figure: simulated with it less simulated without it, at the same seed."""

    expected: ExpectedFigure
    base: Decimal | None
    changed: Decimal | None

    @property
    def difference(self) -> Decimal | None:
        """What the change adds."""
        return None if self.base is None or self.changed is None else exact_difference(self.changed, self.base)


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """A change, and the effects on the figures of each run that has what it changes."""

    change: str
    runs: Mapping[str, Run]
    effects: Mapping[str, tuple[Effect, ...]]
    failures: Mapping[str, Failures | None]


@dataclass(frozen=True, slots=True)
class IncidentReport:
    """Result of a replay."""

    incident: Incident
    seed: int
    runs: Mapping[str, ComparedRun]
    counterfactuals: tuple[Counterfactual, ...] = ()
    real_blocks: ReplayedCalls | None = None
    """The recorded transactions in their real blocks; None if they were not executed."""

    @property
    def exact(self) -> bool:
        """Whether every figure that promises exactness keeps it, and the real blocks equal the chain's."""
        return (self.real_blocks is None or self.real_blocks.exact) and all(
            figure.exact is not False for run in self.runs.values() for figure in run.figures
        )

    def interaction(self, run: str, figure: int) -> Decimal | None:
        """Return what all changes together add beyond the sum of each alone; None with fewer than two changes."""
        alone = [each for each in self.counterfactuals if each.change != TOGETHER and run in each.effects]
        both = next((each for each in self.counterfactuals if each.change == TOGETHER and run in each.effects), None)
        parts = [each.effects[run][figure].difference for each in alone]
        total = None if both is None else both.effects[run][figure].difference
        if total is None or any(part is None for part in parts):
            return None
        return total - sum((part for part in parts if part is not None), Decimal(0))


def replay_incident(
    name: str | Path,
    *,
    counterfactuals: Iterable[str] = (),
    only: str | None = None,
    seed: int = 0,
    store: str | Path | None = None,
    cases: Path | None = None,
    rpc_url: str | None = None,
    blocks: BlockSettings | None = None,
    listener: RunListener | None = None,
) -> IncidentReport:
    """Run the scenarios of an incident, or `only` one of them, and compare them with the record.

    `cases` is a folder of complete records, which replace the coarse ones of the incident; with `rpc_url` they are read
    from the real blocks of a node, and with `blocks` the recorded transactions are executed there. Each of
    `counterfactuals`, `a.b=c`, is applied alone, and then all together. Every run is stored.
    """
    incident = load_incident(name)
    names = _chosen(incident, only)
    changes = list(counterfactuals)
    accepted = {change: _accepting(incident, names, change) for change in changes}  # before anything is run
    shared = _Settings(seed, store, listener)
    records = _records(incident, names, cases, rpc_url)
    calls = next((each.calls for each in records.values() if each and each.calls), None)
    real = replay_calls(rpc_url, calls, blocks) if rpc_url and calls and blocks else None
    base: dict[str, ComparedRun] = {}
    for each in names:
        record, own = records[each], incident.config.runs[each]
        run = shared.run(incident.scenario(each), record.overrides if record else ())
        figures = RunFigures(run)
        compared = tuple(
            ComparedFigure(figure, figures.value(figure.measure), real.value(figure) if real else None)
            for figure in own.figures
        )
        title = own.title if record or own.title_of_facts is None else own.title_of_facts
        what = record.what if record else _missing_record(own.record, cases)
        repeats = _repeats_calls(incident.scenario(each))
        base[each] = ComparedRun(each, title, run, what, compared, figures.failures, repeats)
    found = []
    groups = [(change, [change]) for change in changes] + ([(TOGETHER, changes)] if len(changes) > 1 else [])
    for title, group in groups:
        runs, effects, failures = {}, {}, {}
        for each in names:
            options = [change for change in group if each in accepted[change]]
            if not options:
                continue
            record = records[each]
            runs[each] = shared.run(incident.scenario(each), [*(record.overrides if record else ()), *options])
            figures = RunFigures(runs[each])
            effects[each], failures[each] = _effects(base[each], figures), figures.failures
        found.append(Counterfactual(title, runs, effects, failures))
    return IncidentReport(incident, seed, base, tuple(found), real)


def _records(
    incident: Incident, names: Sequence[str], cases: Path | None, rpc_url: str | None
) -> dict[str, CompleteRecord | None]:
    """Return the complete record of each run, None where there is none."""
    wanted = {each: incident.config.runs[each].record for each in names}
    if rpc_url is None:
        return {each: record_of_file(record, cases) for each, record in wanted.items()}
    if not any(map(has_node_record, wanted.values())):
        raise UsageError(
            f"'{incident.config.name}' has no record that a node could give", "leave --rpc out: it runs on its facts"
        )
    return {
        each: record_of_node(record, rpc_url) if record is not None and has_node_record(record) else None
        for each, record in wanted.items()
    }


def _missing_record(record: str | None, cases: Path | None) -> str:
    """Describe what drives a run without its complete record, and why that is not there."""
    if record is None:
        return "the facts of the incident"
    if cases is None:
        return "the facts of the incident, without the complete record"
    return f"the facts of the incident: no complete record in '{cases}'"


def _repeats_calls(scenario: Path) -> bool:
    return any(agent.kind == "recorded_liquidations" for agent in load_scenario(scenario).config.agents.values())


@dataclass(frozen=True, slots=True)
class _Settings:
    seed: int
    store: str | Path | None
    listener: RunListener | None

    def run(self, scenario: Path, overrides: Sequence[str]) -> Run:
        return run_scenario(
            scenario, seed=self.seed, overrides=list(overrides), store=self.store, listener=self.listener
        )


def _effects(base: ComparedRun, changed: RunFigures) -> tuple[Effect, ...]:
    return tuple(
        Effect(figure.expected, figure.simulated, changed.value(figure.expected.measure)) for figure in base.figures
    )


def _chosen(incident: Incident, only: str | None) -> list[str]:
    known = list(incident.config.runs)
    if only is None:
        return known
    if only not in known:
        raise UsageError(f"'{incident.config.name}' has no run '{only}'", f"it has: {', '.join(known)}")
    return [only]


def _accepting(incident: Incident, names: Sequence[str], change: str) -> list[str]:
    """Return the runs whose scenario has what `change` changes; raise the first error if there is none."""
    accepted, refused = [], []
    for each in names:
        try:
            load_scenario(incident.scenario(each), overrides=[change])
            accepted.append(each)
        except UsageError as error:
            refused.append(error)
    if not accepted:
        first, flag, key = refused[0], "--counterfactual ", change.partition("=")[0]
        hint = first.hint.replace("--set ", flag) if first.hint else ""
        if key not in (keys := counterfactual_keys(incident, names)):
            alike = [each for each in keys if each.rpartition(".")[2] == key.rpartition(".")[2]]
            meant = f"did you mean {', '.join(alike)}?\n" if alike else ""
            hint = f"{meant}keys of this incident: {', '.join(keys)}"
        raise type(first)(first.message.replace("--set ", flag), hint or None) from None
    return accepted

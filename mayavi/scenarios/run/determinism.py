"""Determinism check: repeat a scenario in ways that must change nothing, and once with another seed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mayavi.parallel.processes import work_off
from mayavi.scenarios.loading import Scenario, load_text
from mayavi.scenarios.run.randomness import draws
from mayavi.scenarios.run.request import RunRequest
from mayavi.scenarios.run.run import execute, halt_error
from mayavi.settings.document import Document
from mayavi.settings.yaml_text import to_yaml
from mayavi.sim.recorder import MemoryRecorder
from mayavi.sim.rows_digest import RowsDigest
from mayavi.sim.world_state import SEED_LIMIT
from mayavi.worlds.source import WorldSource

if TYPE_CHECKING:
    from mayavi.sim.rows import Row

Progress = Callable[[int, int], None]
Expected = Literal["the same", "another", "either"]
WorldRun = tuple[WorldSource, str, int]
"""A world, the text of a scenario and a seed."""
ANOTHER_PROCESS = "another process"


class Trial(NamedTuple):
    """One way to run the scenario."""

    name: str
    text: str
    seed: int
    threads: int


class Outcome(NamedTuple):
    """Rows and final world of a trial."""

    digest: str
    final_world: str
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of a trial with the first run. `difference` describes an unexpected result, or is empty."""

    name: str
    digest: str
    expected: Expected
    difference: str

    @property
    def passed(self) -> bool:
        """Whether the trial gave the expected result."""
        return not self.difference


@dataclass(frozen=True, slots=True)
class DeterminismReport:
    """Comparisons of all trials of one scenario."""

    scenario: str
    chain: str
    seed: int
    digest: str
    comparisons: tuple[Comparison, ...]

    @property
    def seed_matters(self) -> bool:
        """Whether another seed gave other rows."""
        return any(each.digest != self.digest for each in self.comparisons if each.expected != "the same")

    @property
    def passed(self) -> bool:
        """Whether all trials gave the expected results."""
        return all(each.passed for each in self.comparisons)

    def to_json(self) -> dict[str, object]:
        """Return the report as JSON data."""
        return {
            "scenario": self.scenario,
            "chain": self.chain,
            "seed": str(self.seed),
            "digest": self.digest,
            "passed": self.passed,
            "comparisons": [
                {
                    "name": each.name,
                    "digest": each.digest,
                    "expected": each.expected,
                    "passed": each.passed,
                    "difference": each.difference,
                }
                for each in self.comparisons
            ],
        }


def check_determinism(
    scenario: Scenario,
    world: WorldSource,
    seed: int,
    progress: Progress | None = None,
    elsewhere: Callable[[], Outcome] | None = None,
) -> DeterminismReport:
    """Run `scenario` with `seed` again, in another process, on two threads, and with its agents in reverse order.

    All must give the same rows and final world. Another seed must give other rows if the scenario draws random numbers;
    otherwise either result passes. Nothing is stored. An agent whose code raises ends the check with `RunHalted`.
    `elsewhere` gives what another process has run already; without it one is started.
    """
    with_another: Expected = "another" if draws(scenario.config) else "either"
    another = seed + 1 if seed + 1 < SEED_LIMIT else seed - 1
    text = scenario.text
    same = [Trial("again", text, seed, 1), Trial("2 threads", text, seed, 2)]
    if scenario.config.ordering != "fifo" and len(scenario.config.agents) > 1:
        same.append(Trial("agents in reverse", reversed_agents(text), seed, 1))
    other = Trial(f"seed {another}", text, another, 1)
    total, done = len(same) + 3, 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    def in_another_process() -> Outcome:
        ((_, outcome),) = run_elsewhere([(world, text, seed)])
        return outcome

    work = prepare(world)
    first = work(Trial("first", text, seed, 1))
    step()
    found: list[Comparison] = []
    for name, outcome in _outcomes(same, elsewhere or in_another_process, other, work):
        expected: Expected = with_another if name == other.name else "the same"
        found.append(Comparison(name, outcome.digest, expected, compared(first, outcome, expected)))
        step()
    return DeterminismReport(scenario.name, scenario.config.chain, seed, first.digest, tuple(found))


def _outcomes(
    same: list[Trial], elsewhere: Callable[[], Outcome], other: Trial, work: Callable[[Trial], Outcome]
) -> Iterator[tuple[str, Outcome]]:
    for trial in same:
        yield trial.name, work(trial)
    yield ANOTHER_PROCESS, elsewhere()
    yield other.name, work(other)


def run_elsewhere(runs: Sequence[WorldRun]) -> Generator[tuple[WorldRun, Outcome], None, None]:
    """Run scenarios in one other process and yield their outcomes in their order, each as soon as it is there."""
    yield from work_off(runs, _prepare_elsewhere, (), jobs=1)


def _prepare_elsewhere() -> Callable[[WorldRun], Outcome]:
    def work(run: WorldRun) -> Outcome:
        world, text, seed = run
        return prepare(world)(Trial(ANOTHER_PROCESS, text, seed, 1))

    return work


def prepare(world: WorldSource) -> Callable[[Trial], Outcome]:
    """Return the function that runs a trial, in this process or in a worker."""

    def work(trial: Trial) -> Outcome:
        scenario = load_text(trial.text, overrides=["halt_on_exception=true"])
        recorder = MemoryRecorder()
        request = RunRequest(scenario=scenario, seed=trial.seed, source=world.kind, store=Path(), threads=trial.threads)
        run = execute(request, world.open(), recorder)
        if run.status == "halted":
            raise halt_error(run)
        assert recorder.ended is not None
        rows: list[Any] = [*recorder.actions, *recorder.snapshots, *recorder.ended.kpis, *recorder.ended.accounts]
        return Outcome(run.digest, recorder.ended.final_world_digest, rows)

    return work


def compared(first: Outcome, second: Outcome, expected: Expected) -> str:
    """Describe the first unexpected difference between two outcomes; empty if there is none."""
    if expected == "another" and first.digest == second.digest:
        return "the same rows, though the scenario draws from distributions or random prices"
    if expected != "the same":
        return ""
    if first.digest == second.digest:
        return "" if first.final_world == second.final_world else "the same rows, and another world at the end"
    for number, (ours, theirs) in enumerate(zip_longest(first.rows, second.rows)):
        if ours is None or theirs is None:
            return f"{len(first.rows):,} rows against {len(second.rows):,}"
        if _digest(ours) != _digest(theirs):
            return f"row {number:,}: {ours} against {theirs}"
    return "the same rows in another order"


def _digest(row: Row) -> str:
    digest = RowsDigest()
    digest.add([row])
    return digest.hexdigest()


def reversed_agents(text: str) -> str:
    """Return the text of an equivalent scenario that lists its agents in reverse order."""
    data = Document.parse(text, "scenario").data
    data["agents"] = dict(reversed(data["agents"].items()))
    return to_yaml(data)

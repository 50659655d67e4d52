"""Check submitted scenarios: they may read no file of the server, reach no network and name no code.

`check_submission` returns the scenario or raises `ApiError` 422 whose `problems` have line and column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, TypeVar

from mayavi.api.errors import ApiError
from mayavi.api.models.base import Problem
from mayavi.api.models.runs import Override, Submission
from mayavi.api.models.sweeps import SweepSubmission
from mayavi.api.queue.scenarios.scenario_problems import ORIGIN, problems_of
from mayavi.api.queue.scenarios.yaml_limits import find_fault
from mayavi.errors import ScenarioParked, UnknownName, UsageError
from mayavi.scenarios.loading import Scenario, is_path, load_scenario, load_text
from mayavi.scenarios.models.agents.kinds import KINDS
from mayavi.scenarios.registry import LIBRARY, entry, names
from mayavi.scenarios.run.overrides import override_value
from mayavi.scenarios.sweep.plan import parse_seeds
from mayavi.settings.document import Document

MOST_WORK = 20_000_000
"""Largest number of steps times agents of one run."""
MOST_POINTS = 200
"""Largest number of points of a grid."""
MOST_GRID_CHARACTERS = 2_000_000
"""Largest number of points times characters of the YAML text: it is read again for each point."""
MOST_RUNS = 10_000
"""Largest number of runs of a sweep."""
MOST_OVERRIDES = 100
LONGEST_OVERRIDE = 10_000
NAMELESS = "inline"
"""Name of an inline scenario without one."""

R = TypeVar("R")


def check_submission(submission: Submission) -> Scenario:
    """Return the scenario of a submission with everything resolved: its `text` names no file.

    Raises `ApiError` 422 with every problem that is known.
    """
    return _load(submission, ())


def check_sweep(submission: SweepSubmission) -> tuple[list[Scenario], tuple[tuple[str, ...], ...], tuple[int, ...]]:
    """Return the scenario at each point of the grid, the overrides of each point, and the seeds; `ApiError` 422."""
    _check_grid(submission)
    points = tuple(product(*(_texts(submission.grid.items(), "grid"))))
    seeds = _reported(lambda: parse_seeds(submission.seeds), "seeds")
    if len(points) * len(seeds) > MOST_RUNS:
        raise _refused(
            f"the sweep has {len(points) * len(seeds):,} runs, and may have {MOST_RUNS:,}", "give fewer seeds", "seeds"
        )
    return [_load(submission, point) for point in points], points, seeds


def sweep_scenarios(submission: Mapping[str, Any]) -> tuple[list[Scenario], tuple[tuple[str, ...], ...]]:
    """Return scenarios and points of a sweep that was submitted, in the process that executes it."""
    fields = {name: submission[name] for name in SweepSubmission.model_fields if name in submission}
    try:
        scenarios, points, _ = check_sweep(SweepSubmission(**fields))
    except ApiError as error:
        raise UsageError(error.message, error.hint) from error
    return scenarios, points


def _load(submission: Submission, point: Sequence[str]) -> Scenario:
    if (submission.scenario is None) == (submission.yaml is None):
        raise _refused(
            "a submission has either `scenario`, a name, or `yaml`, a text", "give one of the two", "scenario"
        )
    chosen: dict[str, Any] = {
        "chain": submission.chain,
        "steps": submission.steps,
        "overrides": _override_texts(submission.overrides),
        "grid": point,
    }
    if submission.yaml is not None:
        return _within_budget(_load_inline(submission.yaml, chosen))
    return _within_budget(_load_named(submission.scenario or "", chosen))


def _load_inline(text: str, chosen: Mapping[str, Any]) -> Scenario:
    fault = find_fault(text)
    if fault is not None:
        problem = Problem(message=fault.message, hint=fault.hint, field="yaml", line=fault.line, column=fault.column)
        raise ApiError(
            422, f"line {fault.line}, column {fault.column}: {fault.message}", fault.hint, problems=(problem,)
        )
    library = frozenset(file.name for file in LIBRARY.glob("*.csv"))

    def check(document: Document) -> None:
        refuse_kinds(document)
        refuse_sources(document)
        refuse_files(document, library)

    return _reported(
        lambda: load_text(text, origin=ORIGIN, name=NAMELESS, check=check, import_paths=False, **chosen), "yaml"
    )


def _load_named(name: str, chosen: Mapping[str, Any]) -> Scenario:
    if is_path(name):
        raise _refused(
            f"'{name[:80]}' is the path of a file, and the service reads none",
            "give the name of a library scenario, or send the text of the file as `yaml`",
            "scenario",
        )
    try:
        path = entry(name).path
    except ScenarioParked as error:
        raise _refused(error.message, error.hint or "", "scenario") from error
    except UnknownName as error:
        near = next(iter((error.hint or "").split("  ")), "") if "did you mean" in (error.hint or "") else ""
        hint = f"{near}  there are: {', '.join(names())}; send a scenario of your own as `yaml`".strip()
        raise _refused(error.message, hint, "scenario") from error
    library = frozenset(file.name for file in LIBRARY.glob("*.csv"))

    def check(document: Document) -> None:
        document.origin = name  # where the library lies is nobody's business
        refuse_kinds(document)
        refuse_sources(document)
        refuse_files(document, library)

    return _reported(
        lambda: load_scenario(name, check=check, import_paths=False, **chosen), "scenario", str(path), name
    )


def refuse_kinds(document: Document) -> None:
    """Raise `BadScenario` for an agent or protocol that is not Mayavi's own: it would run other code."""
    agents = document.data.get("agents")
    for name, agent in agents.items() if isinstance(agents, dict) else ():
        kind = agent.get("kind") if isinstance(agent, dict) else None
        if isinstance(kind, str) and kind not in KINDS:
            place = ("agents", name, "kind")
            hint = f"the service runs: {', '.join(sorted(KINDS))}"
            raise document.fault(place, f"agents.{name} has the kind '{kind}', which the service does not run", hint)
    if document.data.get("protocols"):
        message = "the service runs no protocols but Mayavi's own"
        raise document.fault(("protocols",), message, "leave `protocols` out, or run it with `mayavi run`", key=True)


def refuse_sources(document: Document) -> None:
    """Raise `BadScenario` for a world that is not a replica: it would read a file of the server, or the network."""
    source = document.data.get("source", "replica")
    if source != "replica":
        kind = str(source).partition(":")[0]
        raise document.fault(
            ("source",),
            f"the source '{kind[:80]}' is not open to the service, which runs on replicas only",
            "leave `source` out; `block` chooses a replica of `mayavi world list`",
        )


def refuse_files(document: Document, library: frozenset[str]) -> None:
    """Raise `BadScenario` for a `file:` other than those of the library, before any file is opened."""
    _refuse_files(document, document.data, (), library)


def _refuse_files(document: Document, value: Any, place: tuple[str | int, ...], library: frozenset[str]) -> None:
    if isinstance(value, dict):
        name = value.get("file")
        if name is not None and value.get("data") is None:
            if not isinstance(name, str) or name not in library:
                raise document.fault(
                    (*place, "file"),
                    f"{'.'.join(map(str, (*place, 'file')))}: the service reads no files",
                    "write the content into the scenario, as `data: |` with the lines of the file below it",
                    key=True,
                )
            value["file"] = str(LIBRARY / name)
        elif name is not None and not isinstance(name, str):
            raise document.fault(
                (*place, "file"), f"{'.'.join(map(str, (*place, 'file')))} is not a valid name", key=True
            )
    each = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in each:
        _refuse_files(document, inner, (*place, key), library)


def _within_budget(scenario: Scenario) -> Scenario:
    agents = sum(int(getattr(agent, "count", 1)) for agent in scenario.config.agents.values())
    work = scenario.config.steps * max(agents, 1)
    if work > MOST_WORK:
        raise _refused(
            f"{scenario.config.steps:,} steps of {agents:,} agents are more work than the service takes:"
            f" {work:,} of {MOST_WORK:,}",
            "give fewer steps or agents, or run it with `mayavi run`",
            "steps",
        )
    return scenario


def _override_texts(overrides: Mapping[str, Override]) -> list[str]:
    return [texts[0] for texts in _texts([(path, [value]) for path, value in overrides.items()], "overrides")]


def _texts(axes: Any, field: str) -> list[list[str]]:
    """Return the values of each axis in the form of `--set`, `a.b=c`, after a check of each."""
    found = []
    for path, values in axes:
        texts = []
        for value in values:
            text = override_value(value)
            fault = find_fault(text)
            if "=" in path or not path.strip() or len(path) > 200 or not path.isprintable():
                raise _refused(f"'{path[:80]}' is not a valid key", "write it as agents.borrowers.count", field)
            if len(text) > LONGEST_OVERRIDE:
                raise _refused(
                    f"the value has {len(text):,} characters", f"{LONGEST_OVERRIDE:,} at most", f"{field}.{path}"
                )
            if fault is not None:
                raise _refused(fault.message, fault.hint, f"{field}.{path}")
            texts.append(f"{path}={text}")
        found.append(texts)
    if len(found) > MOST_OVERRIDES:
        raise _refused(f"{len(found):,} keys are changed", f"{MOST_OVERRIDES} at most", field)
    return found


def _check_grid(submission: SweepSubmission) -> None:
    grid = submission.grid
    for path, values in grid.items():
        if not values:
            raise _refused(f"the grid has no value for '{path[:80]}'", "give one at least", f"grid.{path[:80]}")
    if (points := prod(len(values) for values in grid.values())) > MOST_POINTS:
        raise _refused(f"the grid has {points:,} points, and may have {MOST_POINTS}", "give fewer values", "grid")
    if (size := len(submission.yaml or "")) * points > MOST_GRID_CHARACTERS:
        message = f"the YAML has {size:,} characters, which is too long for a grid of {points:,} points"
        raise _refused(message, "give fewer values, or a shorter text", "grid")


def _reported(load: Callable[[], R], field: str, path: str = "", name: str = "") -> R:
    """Call `load` and turn its `UsageError` into the answer 422."""
    try:
        return load()
    except UsageError as error:
        problems = problems_of(error, field, path, name)
        first = problems[0]
        where = f"line {first.line}, column {first.column}: " if first.line else ""
        raise ApiError(422, f"{where}{first.message}", first.hint, problems=tuple(problems)) from error


def _refused(message: str, hint: str, field: str) -> ApiError:
    return ApiError(422, message, hint or None, problems=(Problem(message=message, hint=hint or None, field=field),))

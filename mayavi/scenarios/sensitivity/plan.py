"""Moves of a sensitivity analysis: each assumption of a scenario, moved alone to each of its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from mayavi.errors import UnknownName, UsageError
from mayavi.scenarios.document_kind import SCENARIO
from mayavi.scenarios.loading import Scenario
from mayavi.scenarios.models.assumptions.found import Assumption, find_assumptions
from mayavi.scenarios.models.values.written_values import Writing
from mayavi.scenarios.run.overrides import override_value
from mayavi.scenarios.sensitivity.step_length import StepLength
from mayavi.scenarios.sweep.plan import split_values
from mayavi.settings.document import Document

Given = Mapping[str, Sequence[object]] | Sequence[str]
"""Values of the caller's own: `{"gas.base_fee": ["5 gwei", "80 gwei"]}`, or texts `gas.base_fee=5 gwei,80 gwei`."""
Load = Callable[[Sequence[str]], Scenario]
"""Load the scenario with these overrides, which its errors call `--grid`."""


@dataclass(frozen=True, slots=True)
class AssumptionMove:
    """The scenario with one assumption moved to `value`."""

    assumption: Assumption
    value: str
    overrides: tuple[str, ...]
    scenario: Scenario


@dataclass(frozen=True, slots=True)
class Skipped:
    """An assumption, or one of its values, that was not moved."""

    path: str
    value: str
    """The value that was refused; empty if no value was tried."""
    reason: str

    def to_json(self) -> dict[str, str | None]:
        """Plain data."""
        return {"assumption": self.path, "value": self.value or None, "reason": self.reason}


def plan_moves(
    base: Scenario, load: Load, given: Given = (), only: Sequence[str] = ()
) -> tuple[list[AssumptionMove], list[Skipped]]:
    """Return all moves of the assumptions of `base`, and what is skipped with the reason.

    `given` replaces default values, or adds keys of the scenario that are no assumptions by themselves. `only`
    restricts the assumptions without given values: paths, their beginnings, or patterns such as `agents.*.capital`.
    Raises `UsageError` for values that the caller gave and the scenario refuses.
    """
    wanted = parse_given(given)
    data = Document.parse(base.text, base.origin, kind=SCENARIO).data
    found = {each.path: each for each in [*find_assumptions(base.config, data), StepLength.of(base.config, data)]}
    chosen = [found[path] for path in _matching(only, found) if path not in wanted]
    moves: list[AssumptionMove] = []
    skipped: list[Skipped] = []
    for path, values in wanted.items():
        assumption = found.get(path) or Assumption(path, _present(data, path), ())
        moves += _given_moves(base, load, assumption, values)
    for assumption in chosen:
        if not assumption.values:
            skipped.append(Skipped(assumption.path, "", assumption.unmoved))
        for value in assumption.values:
            try:
                move = _move(load, assumption, value)
            except UsageError as error:
                skipped.append(Skipped(assumption.path, value, _reason(error, assumption, value)))
                continue
            same = next((each for each in moves if each.scenario.config == move.scenario.config), None)
            if same is not None:
                skipped.append(Skipped(assumption.path, value, f"is the same as {same.assumption.path}={same.value}"))
            elif move.scenario.config == base.config:
                skipped.append(Skipped(assumption.path, value, "changes nothing"))
            else:
                moves.append(move)
    if not moves:
        why = "\n".join(f"{each.path} {f'to {each.value}: ' if each.value else ''}{each.reason}" for each in skipped)
        raise UsageError(f"'{base.name}' has no assumption to move", why or "give values: --assumption PATH=LOW,HIGH")
    return moves, skipped


def parse_given(given: Given) -> dict[str, list[str]]:
    """Parse the values that a caller gives, by path."""
    if isinstance(given, str):
        raise UsageError(f"assumptions are '{given}'", "give a mapping, or a list: ['gas.base_fee=5 gwei,80 gwei']")
    if isinstance(given, Mapping):
        given = [f"{path}={','.join(override_value(value) for value in values)}" for path, values in given.items()]
    found: dict[str, list[str]] = {}
    for text in given:
        path, equals, written = (part.strip() for part in text.partition("="))
        values = split_values(written)
        if not path or not equals or not all(values):
            raise UsageError(
                f"'--assumption {text}' gives no values", "write it as --assumption agents.liquidators.count=1,10"
            )
        if path in found:
            raise UsageError(f"'{path}' is given to --assumption twice", "give all of its values in one: a.b=1,3")
        found[path] = values
    return found


def _given_moves(base: Scenario, load: Load, assumption: Assumption, values: Sequence[str]) -> list[AssumptionMove]:
    """Moves to the caller's values; a value that is the scenario's own makes no move."""
    moves: list[AssumptionMove] = []
    for value in values:
        try:
            move = _move(load, assumption, value)
        except UsageError as error:
            option = f"--assumption {assumption.path}={value}"
            hint = error.hint and error.hint.replace("--grid", "--assumption")
            raise type(error)(f"{option}: {_reason(error, assumption, value)}", hint) from None
        for other in moves:
            if other.scenario.config == move.scenario.config:
                raise UsageError(
                    f"--assumption {assumption.path}={','.join(values)}: {other.value} and {value} are the same value",
                    "give a low and a high one",
                )
        moves.append(move)
    differing = [move for move in moves if move.scenario.config != base.config]
    if not differing:
        raise UsageError(
            f"--assumption {assumption.path}={','.join(values)}: the scenario has this value already",
            "give a low and a high one",
        )
    return differing


def _move(load: Load, assumption: Assumption, value: str) -> AssumptionMove:
    overrides = assumption.overrides(value)
    return AssumptionMove(assumption, value, overrides, load(overrides))


def _reason(error: UsageError, assumption: Assumption, value: str) -> str:
    try:
        overrides = assumption.overrides(value)
    except UsageError:
        return error.message
    return without_options(error.message, overrides)


def without_options(message: str, overrides: Sequence[str]) -> str:
    """Return a message without the options `--grid` in front, which nobody typed."""
    for override in overrides:
        for option in (f"--grid {override}: ", f"'--grid {override}': "):
            message = message.rpartition(option)[2]
    return message


def _matching(only: Sequence[str], known: Iterable[str]) -> list[str]:
    """Return the paths that `only` names, in the order of the scenario; all if it is empty."""
    paths = list(known)
    chosen: set[str] = set()
    for pattern in only:
        matched = {
            path
            for path in paths
            if path == pattern or path.startswith(f"{pattern.rstrip('.')}.") or fnmatchcase(path, pattern)
        }
        if not matched:
            raise UnknownName.of("assumption", pattern, paths, f"there are: {', '.join(paths)}")
        chosen |= matched
    return [path for path in paths if not only or path in chosen]


def _present(data: Any, path: str) -> str:
    """Return the value that the document has at `path`, as text."""
    parts = path.split(".")
    while parts:
        for length in range(len(parts), 0, -1):
            key = ".".join(parts[:length])
            if isinstance(data, Mapping) and key in data:
                data, parts = data[key], parts[length:]
                break
        else:
            return "default"
    return "default" if data is None else Writing().text(data)

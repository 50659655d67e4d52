"""Change the length of a step and keep the market: the same total time, the same moments, the same rates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from pydantic import BaseModel

from mayavi.errors import UsageError
from mayavi.scenarios.build.build import pace
from mayavi.scenarios.models.assumptions.found import Assumption
from mayavi.scenarios.models.assumptions.marks import Mark
from mayavi.scenarios.models.config import ScenarioConfig
from mayavi.scenarios.models.values.field_type import FieldType
from mayavi.scenarios.models.values.quantities import seconds_of
from mayavi.scenarios.models.values.written_values import Writing


@dataclass(frozen=True, slots=True)
class StepLength(Assumption):
    """Length of a step, in seconds or blocks. Whatever is counted in steps moves with it."""

    config: ScenarioConfig | None = None
    data: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, config: ScenarioConfig, data: Mapping[str, Any]) -> StepLength:
        """Return the length of a step of `config`, whose document is `data`, to be halved and doubled."""
        path, writing = ("step_time", Writing("time")) if config.step_time else ("step_blocks", Writing())
        length = config.step_time or config.step_blocks or 1
        values = [length // 2, length * 2] if length > 1 else [length * 2]
        return cls(path, writing.text(length), tuple(map(writing.text, values)), "", config, data)

    def overrides(self, value: str) -> tuple[str, ...]:
        """Return the overrides for steps of length `value`; raise `UsageError` if the market cannot stay the same."""
        assert self.config is not None
        config = self.config
        try:
            length = seconds_of(value) if self.path == "step_time" else int(value.replace("_", ""))
        except ValueError as error:
            raise UsageError(f"'{value}' is not a valid length of a step", f"give it as {self.base}") from error
        if length < 1:
            raise UsageError(f"a step of {value} takes no time", f"give it as {self.base}")
        longer = Fraction(length, config.step_time or config.step_blocks or 1)
        found = [f"{self.path}={value}", f"steps={_whole('steps', Fraction(config.steps) / longer)}"]
        for path, number, mark in _marked(config, "", self.data):
            if isinstance(number, list):
                raise UsageError(f"{path} has a value for each step", "write it for the other length")
            if mark is Mark.IN_STEPS:
                found.append(f"{path}={_whole(path, Fraction(number) / longer)}")
            else:
                scaled = Fraction(number) * longer
                found.append(f"{path}={Decimal(scaled.numerator) / Decimal(scaled.denominator):f}")
        _check_time(config, config.model_copy(update={self.path: length}), longer)
        return tuple(found)


def _check_time(config: ScenarioConfig, other: ScenarioConfig, longer: Fraction) -> None:
    """Raise `UsageError` if rounding to blocks changes the total time."""
    before, after = pace(config)[0], pace(other)[0]
    if Fraction(after) != before * longer:
        raise UsageError(
            f"such a step has {after:,} blocks, and the same total time needs {float(before * longer):g}",
            "a step is a whole number of blocks, and each agent block takes one",
        )


def _whole(path: str, number: Fraction) -> int:
    if number.denominator != 1 or (path == "steps" and number < 1):
        raise UsageError(f"{path} would be {float(number):g}, which is not a whole number", "choose another length")
    return number.numerator


def _marked(model: BaseModel, path: str, data: Any) -> Iterator[tuple[str, Any, Mark]]:
    """Yield path, value and mark of all numbers that depend on the length of a step; `data` is the document."""
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if value is None:
            continue
        kind = FieldType.of(field.annotation, value, tuple(field.metadata))
        mark = next((each for each in (Mark.IN_STEPS, Mark.PER_STEP) if each in kind.metadata), None)
        if mark is not None:
            yield f"{path}{name}", value, mark
        else:
            yield from _marked_inside(value, f"{path}{name}", data.get(name) if isinstance(data, Mapping) else None)


def _marked_inside(value: Any, path: str, data: Any) -> Iterator[tuple[str, Any, Mark]]:
    if isinstance(value, BaseModel):
        yield from _marked(value, f"{path}.", data)
    elif isinstance(value, dict):
        for key, each in value.items():
            if isinstance(data, Mapping) and str(key) in data:  # else the model added it: no override reaches it
                yield from _marked_inside(each, f"{path}.{key}", data[str(key)])
    elif isinstance(value, list):
        for index, each in enumerate(value):
            if isinstance(data, Mapping):  # a list of one may be written without brackets
                yield from _marked_inside(each, path, data)
            elif isinstance(data, list):
                yield from _marked_inside(each, f"{path}.{index}", data[index])

"""Assumptions of a scenario: every number and choice that is no part of the question, found from its models.

    for assumption in find_assumptions(scenario.config, data):
        assumption.path, assumption.base, assumption.values

Agents of kinds that other packages register are searched like our own. `assumption_rules` has the default moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from mayavi.errors import UsageError
from mayavi.scenarios.models.agents.pool_use import trades_on_chain
from mayavi.scenarios.models.assumptions.marks import question_fields
from mayavi.scenarios.models.assumptions.rules import POINTS, rule_of
from mayavi.scenarios.models.config import ScenarioConfig
from mayavi.scenarios.models.values.distributions import Choice, Constant, LogNormal, Normal, Pareto, Uniform
from mayavi.scenarios.models.values.field_type import FieldType
from mayavi.scenarios.models.values.quantities import RatioFromZero, ratio_of
from mayavi.scenarios.models.values.written_values import Writing, writing_of

_DISTRIBUTIONS = (Constant, Uniform, Normal, LogNormal, Pareto, Choice)


@dataclass(frozen=True, slots=True)
class Assumption:
    """One number or choice of a scenario, with the values it is moved to."""

    path: str
    """Its place, in the form of `--set`: `agents.liquidators.count`."""
    base: str
    """Its value as a scenario writes it."""
    values: tuple[str, ...]
    """Values to move to, low first; empty if there is no default move."""
    unmoved: str = ""
    """Reason why `values` is empty."""

    def overrides(self, value: str) -> tuple[str, ...]:
        """Return the overrides that move it to `value`."""
        return (f"{self.path}={value}",)


@dataclass(frozen=True, slots=True)
class MixtureShare(Assumption):
    """One share of a mixture, such as the panicking borrowers; the other shares keep their proportions."""

    mixture: str = ""
    """Path of the whole mixture."""
    shares: tuple[tuple[str, Decimal], ...] = ()
    key: str = ""

    def overrides(self, value: str) -> tuple[str, ...]:
        """Return the override of the whole mixture, whose sum stays."""
        try:
            share = ratio_of(value)
        except ValueError as error:
            raise UsageError(
                f"'{self.path}={value}' is not a valid share", "give a ratio or a percentage: 20%"
            ) from error
        return (f"{self.mixture}={_mixture(dict(self.shares), self.key, share)}",)


def find_assumptions(config: ScenarioConfig, data: Mapping[str, Any]) -> list[Assumption]:
    """Return the assumptions of a scenario; `data` is its document, whose spelling of percentages is kept.

    The length of a step is no part of them: it varies together with the number of steps.
    """
    found = list(_in_model(config, (), data))
    alone = sum(getattr(agent, "count", 1) for agent in config.agents.values()) < 2
    trades = trades_on_chain(config.agents.values(), config.pools)
    left_out = ({"ordering"} if alone else set()) | (set() if trades else {"pool_depth"})
    return [each for each in found if each.path not in left_out]


def _in_model(model: BaseModel, place: tuple[str, ...], data: Any) -> Iterator[Assumption]:
    asked = question_fields(type(model))
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if name in asked or value is None:
            continue
        kind = FieldType.of(field.annotation, value, tuple(field.metadata))
        yield from _in_value(value, kind, (*place, name), _inside(data, name))


def _in_value(value: Any, kind: FieldType, place: tuple[str, ...], data: Any) -> Iterator[Assumption]:
    if isinstance(value, BaseModel) and not isinstance(value, _DISTRIBUTIONS):
        yield from _in_model(value, place, data)
    elif isinstance(value, Mapping) and value:
        first = next(iter(value.values()))
        item = kind.item(first)
        if item.includes(RatioFromZero) and len(value) > 1:
            yield from _mixture_shares(value, item, place, data)
        elif isinstance(first, BaseModel) or item.bounds != (None, None):
            for key, each in value.items():
                if isinstance(data, Mapping) and str(key) in data:  # else the model added it: no override reaches it
                    yield from _in_value(each, kind.item(each), (*place, str(key)), data[str(key)])
        else:  # capital of several tokens, which varies as a whole
            yield from _one(value, kind, place, writing_of(item, data))
    elif isinstance(value, list) and value and isinstance(value[0], BaseModel):
        for index, each in enumerate(value):
            at = place if isinstance(data, Mapping) else (*place, str(index))  # a list of one may be written without
            yield from _in_value(each, kind.item(each), at, data if at is place else _inside(data, index))
    else:
        item = kind.item(value[0]) if isinstance(value, list) and value else kind
        yield from _one(value, kind, place, writing_of(item, data))


def _one(value: Any, kind: FieldType, place: tuple[str, ...], writing: Writing) -> Iterator[Assumption]:
    rule = rule_of(kind, value)
    if rule is None:
        return
    base = writing.text(value)
    values = dict.fromkeys(writing.text(each) for each in rule.moves(kind, value) if each is not None)
    values.pop(base, None)
    yield Assumption(".".join(place), base, tuple(values), "" if values else rule.unmoved)


def _mixture_shares(
    value: Mapping[str, Decimal], item: FieldType, place: tuple[str, ...], data: Any
) -> Iterator[Assumption]:
    total = sum(value.values(), Decimal(0))
    writing = writing_of(item, data, percent=True)
    keys = list(value)[:1] if len(value) == 2 else list(value)  # of two shares, one says it all
    for key in keys:
        share = value[key]
        step = POINTS * total
        texts = dict.fromkeys(
            writing.text(each) for each in (max(Decimal(0), share - step), min(total, share + step)) if each != share
        )
        path = ".".join((*place, str(key)))
        yield MixtureShare(path, writing.text(share), tuple(texts), "", ".".join(place), tuple(value.items()), str(key))


def _mixture(shares: Mapping[str, Decimal], key: str, share: Decimal) -> str:
    """Write the mixture with another share of `key`; the rest is scaled to the same sum."""
    total = sum(shares.values(), Decimal(0))
    if not 0 <= share <= total:
        raise UsageError(f"a share of {share:f} is not possible", f"all shares together are {total:f}")
    rest = total - shares[key]
    others = {name: each for name, each in shares.items() if name != key}
    if rest:
        scaled = {name: each * (total - share) / rest for name, each in others.items()}
    else:  # it was everything
        scaled = dict.fromkeys(others, (total - share) / len(others))
    new = {name: share if name == key else scaled[name] for name in shares}
    return "{" + ", ".join(f"{name}: {round(each, 12).normalize():f}" for name, each in new.items()) + "}"


def _inside(data: Any, key: str | int) -> Any:
    if isinstance(data, Mapping):
        return data.get(str(key))
    if isinstance(data, Sequence) and not isinstance(data, str) and isinstance(key, int) and key < len(data):
        return data[key]
    return None

"""How far an assumption is moved by default: one table, by the type of the number.

`RULES` is in order; the first rule that applies to a field decides. A model states exceptions by a `Mark`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from mayavi.scenarios.models.assumptions.marks import Mark
from mayavi.scenarios.models.values.distributions import Choice, Constant, LogNormal, Normal, Pareto, Uniform
from mayavi.scenarios.models.values.field_type import FieldType
from mayavi.scenarios.models.values.quantities import Asset, Move, PositiveRatio, Ratio, RatioFromZero, Share, ratio_of

POINTS = Decimal("0.1")
"""Move of shares, correlations and growth rates: ten percentage points."""
HALF, DOUBLE = Decimal("0.5"), Decimal(2)


class Rule(NamedTuple):
    """Default moves of one sort of numbers."""

    name: str
    words: str
    """Description for the documentation."""
    applies: Callable[[FieldType, Any], bool]
    moves: Callable[[FieldType, Any], list[Any]]
    """Values to move to; values equal to the present one are dropped by the caller."""
    unmoved: str = "has no other value"
    """Reason if no value differs from the present one."""


class Linear(NamedTuple):
    """The map `offset + slope · x`, which moves numbers, ranges and distributions alike."""

    slope: Decimal
    offset: Decimal = Decimal(0)

    def __call__(self, number: Decimal) -> Decimal:
        """Move one number."""
        return self.offset + self.slope * number


def moved(value: Any, by: Linear) -> Any:
    """Return `value` with each of its numbers moved: a number, an amount, a list, a mapping or a distribution."""
    if isinstance(value, Asset):
        return Asset(value.symbol, None if value.amount is None else by(value.amount))
    if isinstance(value, list):
        return [moved(each, by) for each in value]
    if isinstance(value, Mapping):
        return {key: moved(each, by) for key, each in value.items()}
    if isinstance(value, int):
        return int(by(Decimal(value)))
    if isinstance(value, float | Decimal):
        return by(Decimal(str(value)))
    return _moved_distribution(value, by)


def _moved_distribution(what: Any, by: Linear) -> Any:
    """Move a distribution; its plain data, as a scenario writes it. None if its form is unknown."""
    if isinstance(what, Constant):
        return by(what.constant)
    if isinstance(what, Uniform):
        return {"uniform": moved(what.uniform, by)}
    if isinstance(what, Normal):
        parameters = what.normal
        plain = {"mean": by(parameters.mean), "deviation": by.slope * parameters.deviation}
        return {"normal": plain | ({"between": moved(parameters.between, by)} if parameters.between else {})}
    if isinstance(what, LogNormal):
        spread = what.lognormal
        plain = {"median": by(spread.median), "sigma": spread.sigma}
        return {"lognormal": plain | ({"between": moved(spread.between, by)} if spread.between else {})}
    if isinstance(what, Pareto):
        tail = what.pareto
        plain = {"minimum": by(tail.minimum), "shape": tail.shape}
        return {"pareto": plain | ({"maximum": by(tail.maximum)} if tail.maximum is not None else {})}
    if isinstance(what, Choice) and isinstance(what.choice, dict):
        return {"choice": {format(by(ratio_of(key)).normalize(), "f"): weight for key, weight in what.choice.items()}}
    return {"choice": moved(what.choice, by)} if isinstance(what, Choice) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _numbers_in(value: Any) -> bool:
    """Whether `value` is a number or made of numbers."""
    if isinstance(value, list):
        return bool(value) and all(map(_is_number, value))
    if isinstance(value, Mapping):
        return bool(value) and all(map(_is_number, value.values()))
    if isinstance(value, Asset):
        return value.amount is not None
    return _is_number(value) or isinstance(value, Constant | Uniform | Normal | LogNormal | Pareto | Choice)


def _is_share(kind: FieldType, value: Any) -> bool:
    low, high = kind.bounds
    bounded = low is not None and high is not None and low >= -1 and high <= 1
    return _is_number(value) and not isinstance(value, int) and (kind.includes(Share) or bounded)


def _is_signed(kind: FieldType, value: Any) -> bool:
    limited = any(kind.includes(each) for each in (PositiveRatio, RatioFromZero, Move))
    return _is_number(value) and kind.includes(Ratio) and not limited


def _by_points(kind: FieldType, value: Any) -> list[Any]:
    low, high = kind.bounds
    if kind.includes(Share):
        low, high = Decimal(0), Decimal(1)
    number = Decimal(str(value))
    return [
        number - POINTS if low is None else max(low, number - POINTS),
        number + POINTS if high is None else min(high, number + POINTS),
    ]


def _by_scale(kind: FieldType, value: Any) -> list[Any]:
    found = [moved(value, Linear(HALF)), moved(value, Linear(DOUBLE))]
    low, high = kind.bounds
    if _is_number(value):
        number = type(found[0])
        found = [each if low is None else max(number(low), each) for each in found]
        found = [each if high is None else min(number(high), each) for each in found]
    return found


RULES = (
    Rule(
        "choice",
        "each other choice",
        lambda kind, value: len(kind.choices) > 1 and value in kind.choices,
        lambda kind, value: [each for each in kind.choices if each != value],
    ),
    Rule(
        "level",
        "its distance from 1 halved and doubled",
        lambda kind, value: Mark.LEVEL in kind.metadata and _numbers_in(value),
        lambda kind, value: [moved(value, Linear(HALF, 1 - HALF)), moved(value, Linear(DOUBLE, 1 - DOUBLE))],
        "is 1",
    ),
    Rule(
        "delay",
        "half and double; 0 becomes 5 and 25 blocks",
        lambda kind, value: Mark.DELAY in kind.metadata and _is_number(value),
        lambda kind, value: [value // 2, value * 2] if value else [5, 25],
    ),
    Rule("share", "10 points less and more, within its bounds", _is_share, _by_points),
    Rule("growth", "10 points less and more", _is_signed, _by_points),
    Rule(
        "amount",
        "half and double; whole numbers rounded down, within their bounds",
        lambda kind, value: _numbers_in(value),
        _by_scale,
        "is 0, which has no half and no double",
    ),
)
"""By type: `Literal` and `bool`; numbers marked `Mark.LEVEL`; `Share` and numbers bounded by −1 and 1; `Ratio`, which
may be negative; all other numbers: counts, durations, gas prices, capital, distributions."""


def rule_of(kind: FieldType, value: Any) -> Rule | None:
    """Return the rule for a field; None if its value is neither a number nor a choice."""
    return next((rule for rule in RULES if rule.applies(kind, value)), None)

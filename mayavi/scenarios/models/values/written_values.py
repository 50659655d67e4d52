"""Write values as a scenario spells them: `20 gwei`, `25%`, `30m`, `{USDC: 2_000_000}`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, get_args

from mayavi.evm.units import GWEI
from mayavi.scenarios.models.assumptions.rules import Linear, moved
from mayavi.scenarios.models.values.field_type import FieldType
from mayavi.scenarios.models.values.quantities import Asset, Move, Ratio, Seconds, Share, Wei

_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60))
_SAME = Linear(Decimal(1))


@dataclass(frozen=True, slots=True)
class Writing:
    """The spelling of one field's values, which reads back as the same value."""

    unit: str = ""
    """`wei`, `time`, `%`, `point` (a decimal point even in whole numbers), or none."""

    def text(self, value: Any) -> str:
        """Write a number, a choice, an amount, a list, a mapping or a distribution."""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str):
            return value
        if isinstance(value, Asset):
            return value.symbol if value.amount is None else f"{_plain(value.amount)} {value.symbol}"
        if isinstance(value, list):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, Mapping):
            return "{" + ", ".join(f"{key}: {self.text(each)}" for key, each in value.items()) + "}"
        if isinstance(value, int | float | Decimal):
            return self._number(Decimal(str(value)))
        return self.text(moved(value, _SAME))  # a distribution as plain data

    def _number(self, number: Decimal) -> str:
        if self.unit == "wei" and number:
            whole_gwei = number % (GWEI // 1000) == 0
            return f"{_plain(number / GWEI)} gwei" if whole_gwei else f"{_plain(number)} wei"
        if self.unit == "time" and number:
            return next((f"{_plain(number / size)}{name}" for name, size in _UNITS if not number % size), f"{number}s")
        if self.unit == "%":
            return f"{_plain(number * 100)}%"
        text = _plain(number)
        return f"{text}.0" if self.unit == "point" and "." not in text else text


def writing_of(kind: FieldType, data: Any, *, percent: bool = False) -> Writing:
    """Return the spelling for a field of type `kind`, which the document gives as `data` (None: a default)."""
    if kind.includes(Wei):
        return Writing("wei")
    if kind.includes(Seconds):
        return Writing("time")
    if any(each.strip().endswith("%") for each in _texts(data)):
        return Writing("%")
    if data is None and (percent or kind.includes(Share) or (kind.includes(Ratio) and not _is_limited(kind))):
        return Writing("%")
    strict = kind.plain is Decimal and not any(hasattr(each, "func") for each in kind.metadata)
    return Writing("point" if strict else "")


def _is_limited(kind: FieldType) -> bool:
    """Whether a ratio has validators beside the one that reads it, or is a move of a price."""
    return len(kind.metadata) > len(get_args(Ratio)) - 1 and not kind.includes(Move)


def _texts(data: Any) -> list[str]:
    if isinstance(data, str):
        return [data]
    items = data.values() if isinstance(data, Mapping) else data if isinstance(data, list) else ()
    return [text for each in items for text in _texts(each)]


def _plain(number: Decimal) -> str:
    """Write all digits, in groups of three from 10_000 on."""
    text = format(number.normalize() if number else Decimal(0), "f")
    return text if abs(number) < 10_000 else format(Decimal(text), ",f").replace(",", "_")

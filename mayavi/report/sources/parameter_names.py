"""Parameters of scenarios in words: `prices.WETH.size` is the price shock of WETH."""

from __future__ import annotations

import re
from decimal import Decimal

from mayavi.report.numbers import MINUS

_FIELDS = {
    ("prices", "size"): "price shock of {}",
    ("prices", "volatility"): "price volatility of {}",
    ("prices", "drift"): "price drift of {}",
    ("prices", "start"): "starting price of {}",
    ("agents", "count"): "number of {}",
    ("agents", "capital"): "capital of {}",
}
_DISTRIBUTIONS = {"normal", "lognormal", "pareto"}
_PERCENT = re.compile(r"[+-]?[\d_.]+%")
_NUMBER = re.compile(r"[+-]?[\d_]+(?:\.[\d_]+)?")
_LONG = 1_000
"""Numbers from which on thousands are separated."""


def parameter_name(path: str) -> str:
    """Name a parameter in words: `number of liquidators`; a path of another kind as its parts, the last first."""
    parts = [each.replace("_", " ") for each in path.split(".")]
    if len(parts) == 3 and (parts[0], parts[2]) in _FIELDS:
        return _FIELDS[parts[0], parts[2]].format(parts[1])
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 5 and parts[0] == "agents" and parts[3] in _DISTRIBUTIONS:
        return f"{parts[4]} {_with_unit(parts[2])} of {parts[1]}"
    of = parts[1:-1] if parts[0] in {"agents", "prices", "pools", "parameters"} and len(parts) > 2 else parts[:-1]
    return f"{parts[-1]} of {' '.join(of)}"


def value_name(value: str) -> str:
    """Write the value of a parameter as pages write numbers: `−45 %`, `40,000`."""
    if _PERCENT.fullmatch(value):
        value = f"{value[:-1]}\u00a0%"
    elif not _NUMBER.fullmatch(value):
        return value
    elif abs(Decimal(value.replace("_", ""))) >= _LONG:
        value = f"{Decimal(value.replace('_', '')):,f}"
    return f"{MINUS}{value[1:]}" if value.startswith("-") else value


def _with_unit(name: str) -> str:
    return f"{name.removesuffix(' usd')} in dollars" if name.endswith(" usd") else name

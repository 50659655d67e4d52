"""Quantities in scenarios, parsed exactly: `-25%`, `1_700 USDC`, `20 gwei`, `1h`.

Each is a pydantic type: validation gives the exact value, and its JSON Schema describes the text for editors.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError

from mayavi.evm.units import GWEI

_SYMBOL = r"[A-Za-z0-9][A-Za-z0-9.+$-]*"
_NUMBER = re.compile(r"([-+]?[0-9][0-9_,]*(?:\.[0-9_]+)?|[-+]?\.[0-9][0-9_]*)\s*(.*)")
_TIME_UNITS = {
    "s sec secs second seconds": 1,
    "m min mins minute minutes": 60,
    "h hr hrs hour hours": 3_600,
    "d day days": 86_400,
    "w week weeks": 604_800,
    "y year years": 31_536_000,
}
_SECONDS = {unit: seconds for units, seconds in _TIME_UNITS.items() for unit in units.split()}
_WEI = {"wei": 1, "gwei": GWEI, "eth": 10**18, "ether": 10**18}
LARGEST = Decimal(10) ** 30
"""Upper bound of all numbers in a scenario."""


class Asset(NamedTuple):
    """A token, and an amount in whole tokens; None if only the token was named."""

    symbol: str
    amount: Decimal | None


def fault(message: str) -> PydanticCustomError:
    """Return the error a validator raises; `message` is printed after the key's name."""
    return PydanticCustomError("quantity", "{message}", {"message": message})


def number_of(value: Any, what: str = "a number") -> Decimal:
    """Parse a number exactly; text may contain underscores."""
    if isinstance(value, bool) or value is None:
        raise fault(f"is {_shown(value)}, not {what}")
    try:
        number = Decimal(repr(value) if isinstance(value, float) else str(value).strip().replace("_", ""))
    except InvalidOperation:
        raise fault(f"is {_shown(value)}, not {what}") from None
    if not number.is_finite() or abs(number) > LARGEST:
        raise fault(f"is {_shown(value)}, which is not {what} of a reasonable size")
    return number


def ratio_of(value: Any) -> Decimal:
    """Parse a ratio: `-25%`, `0.3` or `2`."""
    if isinstance(value, str) and value.strip().endswith("%"):
        return number_of(value.strip()[:-1], "a percentage such as -25%") / 100
    return number_of(value, "a number or a percentage such as -25%")


def seconds_of(value: Any) -> int:
    """Parse a duration: `90s`, `15m`, `5 minutes`, `1 hour`, `30d`, `4y`, or a number of seconds."""
    number, unit = _split(value, "a time such as 1h or 30d")
    scale = _SECONDS.get(unit.lower() or "s")
    if scale is None:
        raise fault(
            f"is {_shown(value)}: '{unit}' is not a unit of time; s, m, h, d, w and y are, and words such as minutes"
        )
    return _whole(value, number * scale, "a length of time", "seconds")


def wei_of(value: Any) -> int:
    """Parse a gas price: `20 gwei`, `1 wei`, `0`."""
    number, unit = _split(value, "a price of gas such as 20 gwei")
    if not unit and number:
        raise fault(f"is {_shown(value)} without a unit; write '{value} gwei' or '{value} wei'")
    scale = _WEI.get(unit.lower() or "wei")
    if scale is None:
        raise fault(f"is {_shown(value)}: '{unit}' is not a unit of it; wei, gwei and eth are")
    return _whole(value, number * scale, "a price of gas", "wei")


def _whole(value: Any, amount: Decimal, what: str, unit: str) -> int:
    """`amount` as an integer; a fault that quotes `value` if it is negative or fractional."""
    if amount < 0:
        raise fault(f"is {_shown(value)}, and {what} is not below zero")
    if amount != int(amount):
        raise fault(f"is {_shown(value)}, which is not a whole number of {unit}")
    return int(amount)


def asset_of(value: Any) -> Asset:
    """Parse a token or an amount of it: `WETH`, `1.5 WETH`, `1_700 USDC`."""
    if isinstance(value, Asset):
        return value
    if not isinstance(value, str):
        raise fault(f"is {_shown(value)}, not a token such as WETH or an amount such as 1_700 USDC")
    text = value.strip()
    found = re.fullmatch(rf"([-+]?[0-9][0-9_,]*(?:\.[0-9_]+)?)\s+({_SYMBOL})", text)
    if found:
        amount = number_of(found[1].replace(",", ""), "an amount")
        if amount < 0:
            raise fault(f"is {_shown(value)}, and an amount is not below zero")
        return Asset(found[2], amount)
    if not re.fullmatch(_SYMBOL, text) or re.fullmatch(r"[-+0-9._]+", text):
        raise fault(f"is {_shown(value)}, not a token such as WETH or an amount such as 1_700 USDC")
    return Asset(text, None)


def amount_of(value: Any) -> Asset:
    """Parse an amount of a token: `1_700 USDC`."""
    asset = asset_of(value)
    if asset.amount is None:
        raise fault(f"is {_shown(value)} without a number; write it as '1_000 {asset.symbol}'")
    return asset


def _at_least_zero(value: Decimal) -> Decimal:
    if value < 0:
        raise fault(f"is {value}, and must not be below zero")
    return value


def _above_zero(value: Decimal) -> Decimal:
    if value <= 0:
        raise fault(f"is {value}, and must be above zero")
    return value


def _up_to_one(value: Decimal) -> Decimal:
    if not 0 <= value <= 1:
        raise fault(f"is {value}, and must be from 0 to 1, or 0% to 100%")
    return value


def _a_move(value: Decimal) -> Decimal:
    if value <= -1:
        raise fault(f"is {_percent(value)}, and a price cannot fall by all of it or more")
    return value


def _percent(value: Decimal) -> str:
    return f"{(value * 100).normalize():f}%"


def _split(value: Any, what: str) -> tuple[Decimal, str]:
    if isinstance(value, str):
        found = _NUMBER.fullmatch(value.strip())
        if not found:
            raise fault(f"is {_shown(value)}, not {what}")
        return number_of(found[1].replace(",", ""), what), found[2].strip()
    return number_of(value, what), ""


def _shown(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return f"'{str(value).lower() if isinstance(value, bool) else value}'"


def _written_asset(asset: Asset) -> str:
    return asset.symbol if asset.amount is None else f"{asset.amount:f} {asset.symbol}"


_RATIO = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^[-+]?[0-9._]+ *%?$"}]}
_NUMERIC = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^[-+]?[0-9._]+$"}]}

Symbol = Annotated[
    str,
    AfterValidator(lambda value: asset_of(value).symbol),
    WithJsonSchema({"type": "string", "pattern": f"^{_SYMBOL}$"}),
]
"""A token: `WETH`."""
TokenOrAmount = Annotated[
    Asset,
    BeforeValidator(asset_of),
    PlainSerializer(_written_asset),
    WithJsonSchema({"type": "string", "description": "a token such as WETH, or an amount such as 1_700 USDC"}),
]
TokenAmount = Annotated[
    Asset,
    BeforeValidator(amount_of),
    PlainSerializer(_written_asset),
    WithJsonSchema({"type": "string", "description": "an amount such as 1_700 USDC"}),
]
Number = Annotated[Decimal, BeforeValidator(number_of), WithJsonSchema(_NUMERIC)]
Positive = Annotated[Decimal, BeforeValidator(number_of), AfterValidator(_above_zero), WithJsonSchema(_NUMERIC)]
NotNegative = Annotated[Decimal, BeforeValidator(number_of), AfterValidator(_at_least_zero), WithJsonSchema(_NUMERIC)]
Ratio = Annotated[Decimal, BeforeValidator(ratio_of), WithJsonSchema(_RATIO)]
"""A ratio, also as a percentage."""
PositiveRatio = Annotated[Decimal, BeforeValidator(ratio_of), AfterValidator(_above_zero), WithJsonSchema(_RATIO)]
RatioFromZero = Annotated[Decimal, BeforeValidator(ratio_of), AfterValidator(_at_least_zero), WithJsonSchema(_RATIO)]
Share = Annotated[Decimal, BeforeValidator(ratio_of), AfterValidator(_up_to_one), WithJsonSchema(_RATIO)]
"""A part of a whole: 0 to 1, or 0% to 100%."""
Move = Annotated[Decimal, BeforeValidator(ratio_of), AfterValidator(_a_move), WithJsonSchema(_RATIO)]
"""A change of a price: `-25%`."""
Seconds = Annotated[
    int,
    BeforeValidator(seconds_of),
    WithJsonSchema(
        {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": rf"^[0-9._]+ *({'|'.join(_SECONDS)})?$"}]}
    ),
]
"""A duration in seconds."""
Wei = Annotated[
    int,
    BeforeValidator(wei_of),
    PlainSerializer(lambda value: f"{value} wei", when_used="json"),
    WithJsonSchema({"anyOf": [{"const": 0}, {"type": "string", "pattern": r"^[0-9._]+ *(wei|gwei|eth|ether)$"}]}),
]
"""A gas price in wei."""

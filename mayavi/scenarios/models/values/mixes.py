"""Several assets in one place of a scenario: `{WETH: 60%, WBTC: 40%}` or `{WETH: 2, USDC: 1_000}`."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from mayavi.scenarios.models.values.quantities import Asset, asset_of, fault, number_of, ratio_of


class Mix(NamedTuple):
    """Assets with their shares of a value, which add up to 1, or with amounts in whole tokens."""

    parts: dict[str, Decimal]
    shares: bool

    @property
    def symbols(self) -> tuple[str, ...]:
        """The assets, sorted: their order in the file has no effect."""
        return tuple(sorted(self.parts))


def mix_of(value: Any) -> Asset | Mix:
    """Parse an asset, an amount of one, or a mapping of assets to shares or amounts."""
    if isinstance(value, Mix) or not isinstance(value, dict):
        return value if isinstance(value, Mix) else asset_of(value)
    if not value:
        raise fault("names no asset; write {WETH: 60%, WBTC: 40%}")
    percentages = [isinstance(each, str) and each.strip().endswith("%") for each in value.values()]
    if any(percentages) != all(percentages):
        raise fault(
            "mixes shares and amounts; give shares ({WETH: 60%, WBTC: 40%}) or amounts ({WETH: 2, USDC: 1_000})"
        )
    shares, parts = all(percentages), {}
    for symbol, written in value.items():
        if asset_of(symbol).amount is not None or not re.search("[A-Za-z]", symbol):
            raise fault(f"names '{symbol}', which is not a token")
        try:
            parts[symbol] = ratio_of(written) if shares else number_of(written, "an amount")
        except Exception as error:
            context = getattr(error, "context", None) or {}
            raise fault(f"gives {symbol} what {context.get('message', error)}") from None
        if parts[symbol] <= 0:
            raise fault(f"gives {symbol} {written}, and an amount or share is above zero")
    total = sum(parts.values(), Decimal(0))
    if shares and total != 1:
        raise fault(f"has shares that add up to {(total * 100).normalize():f}%, not to 100%")
    return Mix(parts, shares)


def _written(value: Asset | Mix) -> object:
    if isinstance(value, Asset):
        return value.symbol if value.amount is None else f"{value.amount:f} {value.symbol}"
    if value.shares:
        return {symbol: f"{(share * 100).normalize():f}%" for symbol, share in value.parts.items()}
    return {symbol: f"{amount:f}" for symbol, amount in value.parts.items()}


TokenOrMix = Annotated[
    Asset | Mix,
    PlainValidator(mix_of),
    PlainSerializer(_written),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "object", "additionalProperties": {"type": ["number", "string"]}, "minProperties": 1},
            ],
        }
    ),
]
"""A token, an amount of it, or several tokens with shares or amounts."""

"""Types of the Curve pools in a chain table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class CurvePool:
    """Plain StableSwap pool. `balances` are in whole tokens per coin, fees in units of 1e-10.

    `measured_coin` is the coin that may charge a transfer fee, so that the pool measures what arrives; usually none.
    """

    name: str
    address: str
    coins: tuple[str, ...]
    lp_token: str
    lp_name: str
    lp_symbol: str
    owner: str
    a: int
    fee_e10: int
    admin_fee_e10: int
    balances: tuple[int, ...]
    measured_coin: str | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Build the pool from `data`; extra or missing keys raise `TypeError`."""
        return cls(**{**data, "coins": tuple(data["coins"]), "balances": tuple(data["balances"])})


@dataclass(frozen=True, slots=True)
class Curve:
    """Curve pools of a chain."""

    pools: tuple[CurvePool, ...]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Build the section `curve` of a table."""
        return cls(tuple(map(CurvePool.from_json, data["pools"])))

"""The facts of Curve's pools in a chain's table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class CurvePool:
    """A plain StableSwap pool. `balances` count whole tokens, coin by coin; fees count 1e-10.

    `measured_coin` is the one whose transfers may cost a fee, so that the pool looks at what arrives; often none.
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
        """The pool `data` describes; a key too many or too few is a `TypeError`."""
        return cls(**{**data, "coins": tuple(data["coins"]), "balances": tuple(data["balances"])})


@dataclass(frozen=True, slots=True)
class Curve:
    """The pools of a chain."""

    pools: tuple[CurvePool, ...]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The section `curve` of a table."""
        return cls(tuple(map(CurvePool.from_json, data["pools"])))

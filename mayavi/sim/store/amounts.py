"""What an action moved, told in whole tokens, as far as the rows of its run say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mayavi.sim.store.schema import literal

if TYPE_CHECKING:
    from mayavi.sim.store.store import Store

E8 = 10**8
_MOVED = (("repaid", "debt"), ("borrowed", "debt"), ("withdrawn", "collateral"), ("sold", "token"))
"""Facts of an account's own actions, and the fact that says of which token."""


def decimals_of(store: Store, run_id: str) -> dict[str, int]:
    """Symbol → decimals, from units such as `e6` of the market's figures."""
    rows = store.sql(
        "SELECT DISTINCT subject, metric, unit FROM market_snapshots"
        f" WHERE run_id = {literal(run_id)} AND regexp_full_match(unit, 'e[0-9]+') ORDER BY ALL"
    ).fetchall()
    found: dict[str, int] = {}
    for subject, metric, unit in rows:
        if metric.startswith("balance_"):
            found[metric.removeprefix("balance_")] = int(unit[1:])
        elif "/" not in subject:
            parts = subject.split(".")
            for start in range(1, len(parts)):  # AaveV3.USDC.e is a token with a dot
                found.setdefault(".".join(parts[start:]), int(unit[1:]))
    return found


def told(amount: object, symbol: str, decimals: Mapping[str, int]) -> str:
    """`36,645.58 USDC`; where the decimals are not known, the number as it is."""
    units = integer(amount)
    if units is None:
        return f"{amount} {symbol}"
    if symbol not in decimals:
        return f"{units:,} smallest units of {symbol}"
    whole, rest = divmod(abs(units), 10 ** decimals[symbol])
    digits = f"{rest:0{decimals[symbol]}d}" if decimals[symbol] else ""
    shown = 2 if whole >= 10 else 4 if whole else max(2, len(digits) - len(digits.lstrip("0")) + 3)
    return f"{'−' if units < 0 else ''}{whole:,}{'.' + digits[:shown] if digits else ''} {symbol}"


def dollars(amount_e8: int) -> str:
    """`$1,204.50` of an amount with eight decimals."""
    cents = abs(amount_e8) // 10**6
    return f"{'−' if amount_e8 < 0 else ''}${cents // 100:,}.{cents % 100:02d}"


def told_liquidation(details: Mapping[str, Any], decimals: Mapping[str, int]) -> str:
    """What a liquidation took, and what bad debt it left."""
    if "covered" not in details or "seized" not in details:
        return ""
    covered = told(details["covered"], str(details.get("debt", "")), decimals)
    seized = told(details["seized"], str(details.get("collateral", "")), decimals)
    left = bad_debt_e8(details)
    return f"paid {covered} of debt for {seized}" + (f", and left {dollars(left)} of bad debt" if left else "")


def bad_debt_e8(details: Mapping[str, Any]) -> int:
    """The debt of a borrower, after its liquidation, that no collateral stands for."""
    debt, collateral = (integer(details.get(f"borrower_{each}_after_e8")) for each in ("debt", "collateral"))
    return max(0, debt - collateral) if debt is not None and collateral is not None else 0


def told_trade(details: Mapping[str, Any], decimals: Mapping[str, int]) -> str:
    """What an account's own action moved: a trade and its profit, a repayment."""
    parts = []
    if {"token_in", "token_out", "amount_in", "amount_out"} <= set(details):
        given = told(details["amount_in"], str(details["token_in"]), decimals)
        parts.append(f"{given} for {told(details['amount_out'], str(details['token_out']), decimals)}")
    for key, named in _MOVED:
        symbol = details.get(named)
        if integer(details.get(key)) and isinstance(symbol, str) and re.fullmatch(r"[A-Za-z]\S*", symbol):
            parts.append(f"{key} {told(details[key], symbol, decimals)}")
    profit = integer(details.get("profit_e8"))
    if profit is not None:
        parts.append(f"profit {dollars(profit)}")
    return ", ".join(parts)


def integer(value: object) -> int | None:
    """An exact integer that a fact holds."""
    try:
        return int(str(value))
    except ValueError:
        return None

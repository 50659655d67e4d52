"""Describe the amounts an action moved, in whole tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mayavi.sim.store.database.schema import literal
from mayavi.worlds.tables.morpho_market import PREFIX as MORPHO

if TYPE_CHECKING:
    from mayavi.sim.store.store import Store

E8 = 10**8
_MOVED = (("repaid", "debt"), ("borrowed", "debt"), ("withdrawn", "collateral"), ("sold", "token"))
"""Keys of amounts in an account's own actions, and the key that names the token."""


def decimals_of(store: Store, run_id: str) -> dict[str, int]:
    """Return decimals by symbol, from the units (`e6`) of market figures."""
    rows = store.sql(
        "SELECT DISTINCT subject, metric, unit FROM market_snapshots"
        f" WHERE run_id = {literal(run_id)} AND regexp_full_match(unit, 'e[0-9]+') ORDER BY ALL"
    ).fetchall()
    found: dict[str, int] = {}
    for subject, metric, unit in rows:
        if metric.startswith("balance_"):
            found[metric.removeprefix("balance_")] = int(unit[1:])
        elif subject.startswith(MORPHO):  # Morpho.wstETH/USDC.86.wstETH
            symbol = subject.rpartition(".")[2]
            if not symbol.isdigit():
                found.setdefault(symbol, int(unit[1:]))
        elif "/" not in subject:
            parts = subject.split(".")
            for start in range(1, len(parts)):  # AaveV3.USDC.e is a token with a dot
                found.setdefault(".".join(parts[start:]), int(unit[1:]))
    return found


def format_amount(amount: object, symbol: str, decimals: Mapping[str, int]) -> str:
    """Format an amount as `36,645.58 USDC`, or in smallest units if the decimals are unknown."""
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
    """Format an amount with eight decimals as `$1,204.50`."""
    cents = abs(amount_e8) // 10**6
    return f"{'−' if amount_e8 < 0 else ''}${cents // 100:,}.{cents % 100:02d}"


def describe_liquidation(details: Mapping[str, Any], decimals: Mapping[str, int]) -> str:
    """Describe what a liquidation covered and seized, and the bad debt it left."""
    if "covered" not in details or "seized" not in details:
        return ""
    covered = format_amount(details["covered"], str(details.get("debt", "")), decimals)
    seized = format_amount(details["seized"], str(details.get("collateral", "")), decimals)
    left = bad_debt_e8(details)
    return f"paid {covered} of debt for {seized}" + (f", and left {dollars(left)} of bad debt" if left else "")


def bad_debt_e8(details: Mapping[str, Any]) -> int:
    """Return the debt that a borrower's collateral did not cover after its liquidation.

    Morpho's suppliers bear it at once, so that it is owed no longer: the action has it as `bad_debt_e8`.
    """
    realised = integer(details.get("bad_debt_e8")) or 0
    debt, collateral = (integer(details.get(f"borrower_{each}_after_e8")) for each in ("debt", "collateral"))
    burnt = integer(details.get("deficit_e8")) or 0
    return burnt + realised + (max(0, debt - collateral) if debt is not None and collateral is not None else 0)


def describe_trade(details: Mapping[str, Any], decimals: Mapping[str, int]) -> str:
    """Describe what an account's own action moved: a trade and its profit, a repayment."""
    parts = []
    if {"token_in", "token_out", "amount_in", "amount_out"} <= set(details):
        given = format_amount(details["amount_in"], str(details["token_in"]), decimals)
        parts.append(f"{given} for {format_amount(details['amount_out'], str(details['token_out']), decimals)}")
    for key, named in _MOVED:
        symbol = details.get(named)
        if integer(details.get(key)) and isinstance(symbol, str) and re.fullmatch(r"[A-Za-z]\S*", symbol):
            parts.append(f"{key} {format_amount(details[key], symbol, decimals)}")
    profit = integer(details.get("profit_e8"))
    if profit is not None:
        parts.append(f"profit {dollars(profit)}")
    return ", ".join(parts)


def integer(value: object) -> int | None:
    """Parse an exact integer; None if it is invalid."""
    if value is None:  # most fields of most actions: an exception for each would take most of the time
        return None
    try:
        return int(str(value))
    except ValueError:
        return None

"""What an action changed, in words: health factors, debts, collateral, balances and prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mayavi.sim.store.amounts import dollars, format_amount, integer
from mayavi.sim.store.explanation import shown_wad

Details = Mapping[str, Any]
Decimals = Mapping[str, int]
_MINUS = "−"


def state_changes(kind: str, status: str, details: Details, decimals: Decimals) -> list[str]:
    """Describe the state before and after an action; empty unless it succeeded."""
    if status != "success":
        return []
    return [
        *_health("", details),
        *_liquidation(details, decimals),
        *_position(details, decimals),
        *_balances(kind, details, decimals),
        *_prices(kind, details),
    ]


def _health(prefix: str, details: Details) -> Iterator[str]:
    before = integer(details.get(f"{prefix}health_factor_wad"))
    after = integer(details.get(f"{prefix}health_factor_after_wad"))
    if after is None:
        return
    whose = f"{details['borrower']}: " if prefix else ""
    if before is None:
        yield f"{whose}health factor {shown_wad(after)}"
    else:
        yield f"{whose}health factor {shown_wad(before)} → {shown_wad(after)}"


def _liquidation(details: Details, decimals: Decimals) -> Iterator[str]:
    """Health factor, debt and collateral of the account that was liquidated."""
    if not isinstance(details.get("borrower"), str):
        return
    yield from _health("borrower_", details)
    for amount, token, left in (
        ("covered", "debt", "borrower_debt_after_e8"),
        ("seized", "collateral", "borrower_collateral_after_e8"),
    ):
        symbol = details.get(token)
        if integer(details.get(amount)) is None or not isinstance(symbol, str):
            continue
        rest = integer(details.get(left))
        after = "" if rest is None else f", {dollars(rest)} left"
        yield f"{details['borrower']}: {token} {_MINUS}{_amount(details[amount], symbol, decimals)}{after}"


def _position(details: Details, decimals: Decimals) -> Iterator[str]:
    """Debt and collateral of the acting account."""
    if "borrower" in details:
        return
    for amount, sign, token, why in (
        ("supplied", "+", "collateral", ""),
        ("borrowed", "+", "debt", ""),
        ("repaid", _MINUS, "debt", ""),
        ("sold", _MINUS, "collateral", ", sold"),
        ("withdrawn", _MINUS, "collateral", ", withdrawn"),
    ):
        symbol = details.get(token)
        if integer(details.get(amount)) and isinstance(symbol, str):
            yield f"{token} {sign}{_amount(details[amount], symbol, decimals)}{why}"
    symbol = details.get("debt")
    if integer(details.get("debt_left")) is not None and isinstance(symbol, str):
        yield f"debt left {_amount(details['debt_left'], symbol, decimals)}"


def _balances(kind: str, details: Details, decimals: Decimals) -> Iterator[str]:
    """Tokens that the acting account gave and got."""
    given, got = details.get("token_in"), details.get("token_out")
    if integer(details.get("amount_in")) is not None and isinstance(given, str) and isinstance(got, str):
        yield f"balance {_MINUS}{_amount(details['amount_in'], given, decimals)}"
        yield f"balance +{_amount(details.get('amount_out', '0'), got, decimals)}"
    token = details.get("token")
    if not isinstance(token, str):
        return
    if kind == "release" and integer(details.get("released")) is not None:
        left = integer(details.get("left_in_wallet"))
        rest = "" if left is None else f", {_amount(left, token, decimals)} left in the wallet"
        yield f"balance +{_amount(details['released'], token, decimals)}{rest}"
    if kind == "sell" and integer(details.get("sold")):
        yield f"balance {_MINUS}{_amount(details['sold'], token, decimals)}"
        before, after = (integer(details.get(f"sqrt_price_{when}_x96")) for when in ("before", "after"))
        if before and after:  # a sale lowers the price of what is sold, whichever token of the pool it is
            yield f"price of {token} in the pool {_percent((min(before, after) / max(before, after)) ** 2 - 1)}"


def _prices(kind: str, details: Details) -> Iterator[str]:
    if kind != "post_price":
        return
    before, after = integer(details.get("answer_before")), integer(details.get("answer"))
    places = integer(details.get("decimals")) or 0
    if not before or after is None or not 0 <= places <= 36:
        return
    symbol = details.get("symbol") or details.get("feed", "")
    shown = [f"{value / 10**places:,.6g}" if value < 10 ** (places + 6) else f"{value // 10**places:,}"
             for value in (before, after)]  # fmt: skip
    yield f"oracle price of {symbol} {shown[0]} → {shown[1]} ({_percent(after / before - 1)})"


def _amount(amount: object, symbol: str, decimals: Decimals) -> str:
    return f"0 {symbol}" if integer(amount) == 0 else format_amount(amount, symbol, decimals)


def _percent(share: float) -> str:
    text = f"{abs(share) * 100:.2f}"
    if not float(text):
        return "0 %"
    return f"{_MINUS if share < 0 else '+'}{text} %"

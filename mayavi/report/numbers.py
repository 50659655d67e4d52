"""Numbers as readers see them: three significant digits in tiles, exact in tables, a dash for what does not exist."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

DASH = "–"
MINUS = "−"
_SPACE = "\u00a0"
"""Keeps a number and its unit in one line."""
_HYPHEN = re.compile(r"(?<![\w.)\]−-])-(?=[$.]?\d)")
_TINY = re.compile(r"(?<![\w.])\d(?:\.\d+)?e-\d\d\b")
_SCALES = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))


def exists(number: float | None) -> bool:
    """Whether `number` is a finite number."""
    return number is not None and math.isfinite(number)


def short(number: float | None) -> str:
    """Format with three significant digits: `1.24 M`, `0.0312`, `−7.5`; a dash for None, NaN and infinities."""
    if number is None or not math.isfinite(number):
        return DASH
    amount = abs(number)
    for scale, suffix in _SCALES:
        if amount >= scale * 0.9995:
            if amount >= 1e15:
                return _signed(number, f"{amount:.2e}")
            return _signed(number, _three(amount / scale) + _SPACE + suffix)
    return _signed(number, _three(amount))


def usd(number: float | None) -> str:
    """Format dollars with three significant digits: `$1.24 M`, `−$312`."""
    text = short(number)
    if text == DASH:
        return text
    return f"{MINUS}${text[1:]}" if text.startswith(MINUS) else f"${text}"


def percent(share: float | None) -> str:
    """Format a ratio with three significant digits: `12.3 %`, `1,360 %`."""
    if share is None or not math.isfinite(share):
        return DASH
    amount = abs(share) * 100
    thousands = 999.5 <= amount < 999_500
    text = _signed(share, f"{float(f'{amount:.3g}'):,.0f}") if thousands else short(share * 100)
    return f"{text}{_SPACE}%"


def change(share: float | None) -> str:
    """Format a ratio as a change with its sign: `+1.4 %`, `−28.8 %`."""
    if share is None or not math.isfinite(share):
        return DASH
    text = percent(share)
    return text if share <= 0 or not any(digit in text for digit in "123456789") else f"+{text}"


def count(number: float | None) -> str:
    """Format a count in full: `12,345`; means of counts with one digit."""
    if number is None or not math.isfinite(number):
        return DASH
    amount = abs(number)
    if amount >= 1e15:
        return short(number)
    return _signed(number, f"{amount:,.0f}" if number == int(number) or amount >= 1_000 else f"{amount:,.1f}")


def exact(number: float | None) -> str:
    """Format a float with all of its digits that matter: `1,234.567`, `0.0000164788`."""
    if number is None or not math.isfinite(number):
        return DASH
    amount = abs(number)
    if amount and not 1e-9 <= amount < 1e15:
        return _signed(number, f"{amount:.6g}")
    places = max(0, min(12, 9 - (math.floor(math.log10(amount)) + 1))) if amount else 0
    text = f"{amount:,.{places}f}"
    return _signed(number, text.rstrip("0").rstrip(".") if "." in text else text)


def exact_usd(number: float | None) -> str:
    """Format dollars to the cent."""
    if number is None or not math.isfinite(number):
        return DASH
    text = _signed(number, f"{abs(number):,.2f}")
    return f"{MINUS}${text[1:]}" if text.startswith(MINUS) else f"${text}"


def exact_percent(share: float | None) -> str:
    """Format a ratio as a percentage with four decimals at most."""
    if share is None or not math.isfinite(share):
        return DASH
    text = f"{abs(share) * 100:,.4f}".rstrip("0").rstrip(".")
    return f"{_signed(share, text)}{_SPACE}%"


def interval(estimate: float | None, low: float | None, high: float | None, format: str = "short") -> str:
    """Format an estimate with its interval: `12.3 [10.1, 15.8]`."""
    write = FORMATS[format]
    return f"{write(estimate)} [{write(low)}, {write(high)}]"


def bounds(low: float | None, high: float | None, format: str = "short") -> str:
    """Format an interval alone: `[10.1, 15.8]`; empty if there is none."""
    write = FORMATS[format]
    return f"[{write(low)}, {write(high)}]" if exists(low) or exists(high) else ""


def written_numbers(text: str) -> str:
    """Write the numbers of a sentence as pages do: `[−0.52, 0.00004291]`; hyphens of names and dates stay."""
    return _HYPHEN.sub(MINUS, _TINY.sub(lambda found: f"{Decimal(found[0]):f}", text))


def utc(timestamp: int) -> str:
    """Format a Unix time as `2024-10-11 06:00:00 UTC`; a dash for times beyond the calendar."""
    try:
        return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return DASH


def shortened(name: str) -> str:
    """Shorten an address or digest to its ends: `0x1234…cdef`."""
    return f"{name[:6]}…{name[-4:]}" if len(name) > 20 and name.isalnum() else name


FORMATS: dict[str, Callable[[float | None], str]] = {
    "short": short,
    "usd": usd,
    "percent": percent,
    "change": change,
    "count": count,
    "number": exact,
    "exact_usd": exact_usd,
    "exact_percent": exact_percent,
}
"""Formats of table columns, axes and tiles by name."""

HOVER_FORMATS = {
    "short": ",.6~r",
    "usd": "$,.2f",
    "percent": ".4~%",
    "change": "+.4~%",
    "count": ",.0f",
    "number": ",.9~r",
    "exact_usd": "$,.2f",
    "exact_percent": ".4~%",
}
"""The same for hover texts of charts, which show exact values (d3-format)."""

_PLAIN_TICKS: dict[str, object] = {"exponentformat": "B", "separatethousands": True}
TICKS: dict[str, dict[str, object]] = {
    "short": _PLAIN_TICKS,
    "usd": _PLAIN_TICKS | {"tickprefix": "$"},
    "percent": {"tickformat": ".3~%"},
    "change": {"tickformat": ".3~%"},
    "count": {"tickformat": ",d"},
    "number": _PLAIN_TICKS,
    "exact_usd": _PLAIN_TICKS | {"tickprefix": "$"},
    "exact_percent": {"tickformat": ".4~%"},
}
"""Tick labels of axes by format: `$1.2M`, `12%`; none with a plus, which would also be that of zero."""


def _three(amount: float) -> str:
    """Three significant digits without an exponent; trailing zeros go where nothing was rounded."""
    if not amount:
        return "0"
    if amount < 1e-6:
        return f"{amount:.2e}"
    places = max(0, 2 - math.floor(math.log10(float(f"{amount:.3g}"))))
    text = f"{amount:,.{places}f}"
    whole = math.isclose(float(text.replace(",", "")), amount, rel_tol=1e-12)
    return text.rstrip("0").rstrip(".") if "." in text and whole else text


def _signed(number: float, text: str) -> str:
    """Put a minus before `text` unless it shows zero."""
    return f"{MINUS}{text}" if number < 0 and any(digit in text for digit in "123456789") else text

"""Figures as people read them: dollars, shares, counts, by the unit their rows carry."""

from __future__ import annotations

from mayavi.sim.rows import KpiRow, SnapshotRow

_COUNTS = {"count", "gas", "steps", "blocks"}


def shown(row: KpiRow | SnapshotRow) -> str:
    """The figure of a row with its unit: `$1,412,380`, `12.5 %`, `41`."""
    return shown_number(row.number, row.unit)


def shown_number(number: float, unit: str) -> str:
    """`number`, which is in whole `unit`s, for people."""
    if unit.startswith("usd"):
        return dollars(number)
    if unit in _COUNTS:
        return f"{number:,.0f}" if number == int(number) else f"{number:,.1f}"
    if unit in {"ratio", "share", "ray"}:
        return f"{number:.2%}".replace("%", " %")
    if unit == "wei":
        return f"{number / 1e18:,.6f}".rstrip("0").rstrip(".")
    text = f"{number:,.4f}" if abs(number) < 1_000 else f"{number:,.2f}"
    return f"{text.rstrip('0').rstrip('.')} {unit}".strip() if unit not in {"wad", ""} else text


def dollars(number: float) -> str:
    """An amount of money: cents only where they count."""
    sign = "−" if number < 0 else ""
    amount = abs(number)
    return f"{sign}${amount:,.0f}" if amount >= 1_000 or amount == 0 else f"{sign}${amount:,.2f}"


def change(before: float, after: float) -> str:
    """By how much something moved: `−25.0 %`."""
    if not before:
        return "–"
    moved = after / before - 1
    return f"{'−' if moved < 0 else '+'}{abs(moved):.1%}".replace("%", " %")


def title_of(name: str) -> str:
    """A figure's name in words: `bad_debt` is `bad debt`."""
    return name.replace("_", " ")

"""Format figures by their unit: dollars, percentages, counts."""

from __future__ import annotations

from mayavi.sim.rows import KpiRow, SnapshotRow

CHANGES = (
    "oracle_change",
    "largest_fall",
    "jump",
    "price_impact",
    "pool_change",
    "opening_gap",
    "pool_gap",
    "liquidity_change",
    "liquidation_sale_gap",
    "share_price_change",
)
"""KPIs that are relative changes, written as percentages with a sign; a low value is the bad one."""
RATES = ("supply_rate", "borrow_rate", "utilisation")
"""Figures that are shares of a whole or yearly rates, written as percentages."""
_TITLES = {
    "fees_wei": "gas_fees",
    "jump": "largest_fall_in_a_jump_of_the_scenario",
    "largest_fall": "largest_fall_in_a_step_without_jumps",
    "step_needed": "seconds_a_step_may_last",
}

COINS = {"polygon": "POL", "avalanche": "AVAX"}
"""Native coins of chains where it is not ETH."""


def shown(row: KpiRow | SnapshotRow, chain: str = "") -> str:
    """Format the figure of a row: `$1,412,380`, `12.5 %`, `41`; fees in the native coin of `chain`."""
    return shown_number(row.number, row.unit, row.name if isinstance(row, KpiRow) else row.metric, chain)


def shown_number(number: float, unit: str, name: str = "", chain: str = "") -> str:
    """Format the `number` of a `KpiRow` or `SnapshotRow`."""
    kind = name.partition(".")[0]
    if kind in CHANGES:
        return percent(number, sign=True)
    if kind in RATES or unit == "ppm":
        return percent(number)
    if unit == "usd_e8":
        return dollars(number)
    if unit == "wei":
        return f"{plain(number / 1e18)} {COINS.get(chain, 'ETH')}"
    if unit in {"count", "gas"}:
        amount = abs(number)
        return _signed(number, f"{amount:,.0f}" if number == int(number) or amount >= 1_000 else f"{amount:,.1f}")
    return plain(number)


def plain(number: float) -> str:
    """Format a number with few digits: `1,873.41`, `1.0721`, `0.00002`."""
    amount = abs(number)
    digits = 2 if amount >= 1_000 else 4 if amount >= 0.001 or not amount else 10
    text = f"{amount:,.{digits}f}"
    return _signed(number, text if digits == 2 else text.rstrip("0").rstrip("."))


def dollars(number: float) -> str:
    """Format dollars, with cents below 1,000."""
    amount = abs(number)
    return _signed(number, f"${amount:,.0f}" if amount >= 1_000 or not amount else f"${amount:,.2f}")


def percent(share: float, *, sign: bool = False) -> str:
    """Format a ratio as `12.50 %`, or with `sign` as a change: `−25.0 %`."""
    text = f"{abs(share):.{1 if sign else 2}%}".replace("%", " %")
    return _signed(share, text, plus="+" if sign else "")


def _signed(number: float, text: str, plus: str = "") -> str:
    """Put the sign of `number` before `text`; one that shows zero has none."""
    if not any(digit in text for digit in "123456789"):
        return text
    return f"−{text}" if number < 0 else f"{plus}{text}"


def title_of(name: str) -> str:
    """Return the title of a figure: `bad debt` for `bad_debt`, `price impact NOVA/USDC.3000`."""
    kind, dot, of = name.partition(".")
    kind = _TITLES.get(kind, kind)
    return kind.removesuffix("_wei").replace("_", " ") + (f" {of}" if dot else "")

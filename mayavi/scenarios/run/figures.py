"""Figures as people read them: dollars, shares, counts, by the unit their rows carry."""

from __future__ import annotations

from mayavi.sim.rows import KpiRow, SnapshotRow

_CHANGES = (
    "oracle_change",
    "price_impact",
    "pool_change",
    "opening_gap",
    "pool_gap",
    "liquidity_change",
    "liquidation_sale_gap",
)
_RATES = ("supply_rate", "borrow_rate", "utilisation")


COINS = {"polygon": "POL", "avalanche": "AVAX"}
"""What gas is paid in, where it is not ETH."""


def shown(row: KpiRow | SnapshotRow, chain: str = "") -> str:
    """The figure of a row with its unit: `$1,412,380`, `12.5 %`, `41`; gas in the coin of `chain`."""
    return shown_number(row.number, row.unit, row.name if isinstance(row, KpiRow) else row.metric, chain)


def shown_number(number: float, unit: str, name: str = "", chain: str = "") -> str:
    """`number`, as `KpiRow` and `SnapshotRow` have it, for people."""
    kind = name.partition(".")[0]
    if kind in _CHANGES:
        return percent(number, sign=True)
    if kind in _RATES or unit == "ppm":
        return percent(number)
    if unit == "usd_e8":
        return dollars(number)
    if unit == "wei":
        return f"{plain(number / 1e18)} {COINS.get(chain, 'ETH')}"
    if unit in {"count", "gas"}:
        return f"{number:,.0f}" if number == int(number) or abs(number) >= 1_000 else f"{number:,.1f}"
    return plain(number)


def plain(number: float) -> str:
    """A number with as many digits as one can take in: `1,873.41`, `1.0721`, `0.00002`."""
    amount = abs(number)
    digits = 2 if amount >= 1_000 else 4 if amount >= 0.001 or not amount else 10
    text = f"{number:,.{digits}f}"
    return text if digits == 2 else text.rstrip("0").rstrip(".")


def dollars(number: float) -> str:
    """An amount of money: cents only where they count."""
    sign, amount = "−" if number < 0 else "", abs(number)
    return f"{sign}${amount:,.0f}" if amount >= 1_000 or not amount else f"{sign}${amount:,.2f}"


def percent(share: float, *, sign: bool = False) -> str:
    """A share of one: `12.50 %`; with `sign`, a change: `−25.0 %`."""
    if sign:
        return f"{'−' if share < 0 else '+'}{abs(share):.1%}".replace("%", " %")
    return f"{share:.2%}".replace("%", " %")


def title_of(name: str) -> str:
    """A figure's name in words: `bad_debt` is `bad debt`, `price_impact.NOVA/USDC.3000` that of the pool."""
    kind, dot, of = name.partition(".")
    kind = "gas_fees" if kind == "fees_wei" else kind
    return kind.removesuffix("_wei").replace("_", " ") + (f" {of}" if dot else "")

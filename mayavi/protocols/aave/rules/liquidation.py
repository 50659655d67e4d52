"""A liquidation that somebody wants to make, and what the pool makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mayavi.evm.fleet import Word

ALL_BPS = 10_000
CLOSE_FACTOR_BPS = 5_000
"""Share of a debt that one liquidation may repay; a constant of the pool's code since V3.0."""
FULL_CLOSE_BELOW_WAD = 95 * 10**16
"""Health factor at and below which a liquidation may repay all of a debt."""


class Priced(NamedTuple):
    """Price of one whole token in USD with 8 decimals, and its smallest units."""

    price: int
    unit: int


class Claim(NamedTuple):
    """Liquidation of one debt for one collateral. Amounts are in smallest units."""

    owed: int
    """Debt of the borrower in this reserve."""
    held: int
    """Collateral of the borrower in its reserve."""
    offered: int | None
    """Most that the liquidator pays; None is no limit."""
    health_factor_wad: int
    total_debt_usd_e8: int
    """Value of all debts of the borrower."""
    debt: Priced
    collateral: Priced
    bonus_bps: int
    fee_bps: int
    """Share of the bonus that the treasury takes."""


class ClaimWords(NamedTuple):
    """Liquidation inside a program, with the liquidator's funds."""

    owed: Word
    held: Word
    funds: Word
    collateral_price: Word
    collateral_unit: int
    debt: Priced
    bonus_bps: int


class Seizure(NamedTuple):
    """Result of a liquidation: debt repaid, collateral received, treasury's share, and the amount to ask for."""

    covered: int
    seized: int
    protocol_fee: int
    asks: int


def percent_mul(value: int, bps: int) -> int:
    """Return `value` times `bps`, rounded half up."""
    return (value * bps + ALL_BPS // 2) // ALL_BPS


def percent_div(value: int, bps: int) -> int:
    """Return `value` over `bps`, rounded half up."""
    return (value * ALL_BPS + bps // 2) // bps


def wanted_collateral(claim: Claim, cover: int) -> int:
    """Return the collateral for repaying `cover`, with bonus, however much the borrower has."""
    debt, collateral = claim.debt, claim.collateral
    base = debt.price * cover * collateral.unit // (collateral.price * debt.unit)
    return percent_mul(base, claim.bonus_bps)


def debt_for_everything(claim: Claim) -> int:
    """Return the debt that all of the collateral is worth, before the bonus is taken off."""
    debt, collateral = claim.debt, claim.collateral
    return collateral.price * claim.held * debt.unit // (debt.price * collateral.unit)


def protocol_fee(claim: Claim, seized: int) -> int:
    """Return the treasury's share of `seized` collateral."""
    return percent_mul(seized - percent_div(seized, claim.bonus_bps), claim.fee_bps)

"""Causes of the errors that V3.1 and later added, with the figures of the case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mayavi.protocols.aave.revert_texts import (
    Cause,
    amount_text,
    and_list,
    collateral_of,
    mode_text,
    or_list,
    owed_assets,
    symbol_of,
)
from mayavi.protocols.aave.rules.liquidation import Claim, Priced

if TYPE_CHECKING:
    from mayavi.protocols.aave.account import AaveAccount


def _invalid_amount(account: AaveAccount, function: str, arguments: Sequence[Any]) -> Cause | None:
    """Zero, less than a share, or a loan of more than was ever supplied."""
    if function not in ("supply", "borrow", "withdraw", "repay"):
        return None
    reserve, amount = account.market.reserve(arguments[0]), arguments[1]
    if function == "borrow" and amount > reserve.supplied:
        return (
            f"{amount_text(reserve, amount)} are more than all that is supplied:"
            f" {amount_text(reserve, reserve.supplied)}",
            f"at most {amount_text(reserve, reserve.available)} can be borrowed now",
        )
    if not amount:
        return "the amount must be above zero", None
    unit = f"{amount} smallest unit{'s' if amount > 1 else ''} of {reserve.symbol}"
    return f"{unit} are worth less than one share of the pool, which rounds them away", "take more"


def _dust(account: AaveAccount, _: str, arguments: Sequence[Any]) -> Cause | None:
    market, (collateral, debt, borrower, asked, _) = account.market, arguments
    other = market.account(borrower)
    taken, repaid, totals = market.reserve(collateral), market.reserve(debt), other.data()
    claim = Claim(
        owed=other.debt(debt),
        held=other.supplied(collateral),
        offered=None,
        health_factor_wad=totals.health_factor_wad,
        total_debt_usd_e8=totals.debt_usd_e8,
        debt=Priced(repaid.price_usd_e8, int(10**repaid.decimals)),
        collateral=Priced(taken.price_usd_e8, int(10**taken.decimals)),
        bonus_bps=market.liquidation_bonus_bps(collateral, other.emode),
        fee_bps=taken.configuration.liquidation_protocol_fee_bps,
    )
    whole, part = market.rules.liquidation(claim), market.rules.liquidation(claim._replace(offered=asked))
    ways = [f"repay {amount_text(repaid, whole.asks)}, as much as the pool allows"] if whole else []
    ways += [f"at most {amount_text(repaid, part.covered)}"] if part and part.covered < asked else []
    return (
        f"repaying {amount_text(repaid, min(asked, claim.owed))} would leave less than 1,000 USD"
        " of the debt or of the collateral, and some of both",
        ", or ".join(ways) or None,
    )


def _not_borrowable(account: AaveAccount, _: str, arguments: Sequence[Any]) -> Cause:
    market = account.market
    mode, symbol = market.emode(account.emode), symbol_of(market, arguments[0])
    return (
        f"{symbol} cannot be borrowed in eMode {mode_text(mode)}, which the account has chosen",
        f"borrow {or_list(mode.borrowable)}, or leave the mode: eMode 0 is none" if mode.borrowable else None,
    )


def _debt_outside(account: AaveAccount, _: str, arguments: Sequence[Any]) -> Cause | None:
    market, category = account.market, arguments[0]
    owed = owed_assets(account)
    if not category:
        return f"the account owes {and_list(owed)}, and not all of it can be borrowed outside eModes", "repay it first"
    mode = market.emode(category)
    outside = [symbol for symbol in owed if symbol not in mode.borrowable]
    return f"the account owes {and_list(outside)}, outside eMode {mode_text(mode)}", "repay that first"


def _collateral_outside(account: AaveAccount, _: str, arguments: Sequence[Any]) -> Cause | None:
    market, category = account.market, arguments[0]
    weak = [each for each in collateral_of(account) if not market.borrowing_power_bps(each, category)]
    where = f"eMode {mode_text(market.emode(category))}" if category else "no eMode"
    return (
        f"the account uses {and_list(weak)} as collateral, without borrowing power in {where}",
        "withdraw it, or disable it with `set_collateral(…, False)`, first",
    )


def _without_power(account: AaveAccount, function: str, _: Sequence[Any]) -> Cause | None:
    weak = [each for each in collateral_of(account) if not account.borrowing_power_bps(each)]
    if not weak:
        return None
    if function == "borrow":
        return f"the account's collateral, {and_list(weak)}, has no borrowing power", "supply another asset"
    return (
        f"the account uses {and_list(weak)} as collateral, without borrowing power: that has to leave first",
        f'withdraw {weak[0]}, or `set_collateral("{weak[0]}", False)`',
    )


LATER_CAUSES: dict[str, Callable[[AaveAccount, str, Sequence[Any]], Cause | None]] = {
    "invalidamount": _invalid_amount,
    "mustnotleavedust": _dust,
    "notborrowableinemode": _not_borrowable,
    "invaliddebtinemode": _debt_outside,
    "invalidcollateralinemode": _collateral_outside,
    "ltvvalidationfailed": _without_power,
}
"""Causes by the name of the error, in small letters."""

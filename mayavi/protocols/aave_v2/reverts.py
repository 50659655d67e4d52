"""Names of Aave V2's error numbers, which mean something else than Aave V3's.

The names are those of `Errors` of @aave/protocol-v2 1.0.1 without the prefix of the contract, such as `VL_`; the
sentences are ours.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from mayavi.errors import CallReverted
from mayavi.evm.abi.reverts import Reason

ERRORS: Final[dict[int, tuple[str, str]]] = {
    1: ("INVALID_AMOUNT", "the amount must be above zero"),
    2: ("NO_ACTIVE_RESERVE", "the asset is not an active reserve"),
    3: ("RESERVE_FROZEN", "the reserve is frozen: only withdrawals, repayments and liquidations are allowed"),
    4: ("CURRENT_AVAILABLE_LIQUIDITY_NOT_ENOUGH", "the pool holds less of the asset than that"),
    5: ("NOT_ENOUGH_AVAILABLE_USER_BALANCE", "the account has supplied less than that"),
    6: ("TRANSFER_NOT_ALLOWED", "without this collateral the health factor would be below 1"),
    7: ("BORROWING_NOT_ENABLED", "the asset cannot be borrowed"),
    8: ("INVALID_INTEREST_RATE_MODE_SELECTED", "the interest rate mode is neither stable nor variable"),
    9: ("COLLATERAL_BALANCE_IS_0", "the account has no collateral"),
    10: ("HEALTH_FACTOR_LOWER_THAN_LIQUIDATION_THRESHOLD", "the health factor is below 1"),
    11: ("COLLATERAL_CANNOT_COVER_NEW_BORROW", "the collateral is too small for this loan"),
    12: ("STABLE_BORROWING_NOT_ENABLED", "the asset cannot be borrowed at a stable rate"),
    15: ("NO_DEBT_OF_SELECTED_TYPE", "the account owes nothing at this kind of rate"),
    19: ("UNDERLYING_BALANCE_NOT_GREATER_THAN_0", "the account has supplied nothing of the asset"),
    20: ("DEPOSIT_ALREADY_IN_USE", "the collateral secures a debt"),
    26: ("INCONSISTENT_PROTOCOL_ACTUAL_BALANCE", "the flash loan was not returned"),
    29: ("CALLER_MUST_BE_LENDING_POOL", "only the pool may do this"),
    33: ("CALLER_NOT_POOL_ADMIN", "only the pool admin may do this"),
    42: ("HEALTH_FACTOR_NOT_BELOW_THRESHOLD", "the account's health factor is not below 1"),
    43: ("COLLATERAL_CANNOT_BE_LIQUIDATED", "the account does not use this asset as collateral"),
    44: ("SPECIFIED_CURRENCY_NOT_BORROWED_BY_USER", "the account does not owe this asset"),
    45: ("NOT_ENOUGH_LIQUIDITY_TO_LIQUIDATE", "the pool holds less collateral than would be seized"),
    64: ("IS_PAUSED", "the pool is paused"),
}


def name_error(error: CallReverted) -> CallReverted:
    """Return `error` with Aave V2's name of its number; unchanged if it has none."""
    old = error.reason
    if not isinstance(old, Reason) or not old.args:
        return error
    number = old.args[0]
    code = int(number) if isinstance(number, int) or (isinstance(number, str) and number.isdecimal()) else None
    if code is None or code not in ERRORS:
        return error
    name, meaning = ERRORS[code]
    new = replace(old, kind="aave", name=name, message=f"{code} {name}: {meaning}", args=(code,), hint=None)
    message = error.message.replace(old.message, new.message)
    return CallReverted(message, None, reason=new, output=error.output, gas_used=error.gas_used)

"""Explain Aave reverts with the current figures of the pool and the account.

The pool's error code can have several causes and carries no figures. They are read only after a failure, so a
successful action pays nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from mayavi.errors import CallReverted, ExecutionError, MayaviError, StateError, UnknownName
from mayavi.evm.abi.reverts import Reason
from mayavi.evm.units import format_units, from_units
from mayavi.protocols.aave.later_reverts import LATER_CAUSES
from mayavi.protocols.aave.reserve import Reserve
from mayavi.protocols.aave.revert_texts import (
    Cause,
    amount_text,
    and_list,
    collateral_of,
    configuration_of,
    idle_supplies,
    mode_text,
    or_list,
    owed_assets,
    symbol_of,
)
from mayavi.protocols.aave.risk import withdrawable
from mayavi.protocols.health import NO_DEBT
from mayavi.protocols.tokens import Erc20, spending

if TYPE_CHECKING:
    from mayavi.evm.receipt import Receipt
    from mayavi.protocols.aave.account import AaveAccount
    from mayavi.protocols.aave.market import AaveV3


def explain(account: AaveAccount, error: CallReverted, function: str, arguments: Sequence[Any]) -> CallReverted:
    """Return `error` of a pool function with the cause in this case, if it can be determined."""
    reason = error.reason
    if not isinstance(reason, Reason):
        return error
    try:
        if reason.kind not in ("aave", "custom"):
            if reason.kind == "empty":
                concerned = arguments[2] if function == "liquidationCall" else account.address
                cause = _missing_prices(account.market, concerned)
            else:
                cause = _insufficient_liquidity(account, function, arguments)
            return with_reason(error, *cause) if cause else error
        cause_of = _CAUSES.get(reason.name.replace("_", "").casefold())
        cause = cause_of(account, function, arguments) if cause_of else None
    except MayaviError:
        return error  # keep the original error if the figures cannot be read
    return with_reason(error, f"{reason.message.partition(': ')[0]}: {cause[0]}", cause[1]) if cause else error


def with_reason(error: CallReverted, meaning: str, hint: str | None) -> CallReverted:
    """Return `error` with `meaning` as its reason."""
    old = error.reason
    assert isinstance(old, Reason)
    kind = old.kind if old.kind == "custom" else "aave"
    new = replace(old, kind=kind, message=meaning, hint=hint or old.hint)
    message = error.message.replace(old.message, meaning)
    return CallReverted(message, new.hint, reason=new, output=error.output, gas_used=error.gas_used)


class explain_missing_prices:  # noqa: N801
    """Context manager that names the missing price if a read fails without a reason.

    `concerned` is the asset or account being read, if it is a single one.
    """

    __slots__ = ("_concerned", "_market")

    def __init__(self, market: AaveV3, concerned: bytes | None = None) -> None:
        self._market, self._concerned = market, concerned

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, CallReverted):
            cause = None if error.output else _missing_prices(self._market, self._concerned)
            if cause:
                raise with_reason(error, *cause) from None


def simulate_funded(
    asset: Erc20, payer: bytes, spender: bytes, amount: int, act: Callable[[], Receipt]
) -> Receipt | None:
    """Simulate `act` as if `payer` held `amount` of `asset`; the fork is restored afterwards.

    Raises what Aave would refuse regardless of the balance, which is the better reason. None if the simulation is
    impossible or the amount exceeds every balance.
    """
    try:
        with asset.fork.dry_run():
            asset.fork.deal(asset.address, payer, amount)
            with spending(asset.fork, asset.address, spender, amount, payer):
                return act()
    except CallReverted as error:
        if isinstance(error.reason, Reason) and error.reason.kind in ("aave", "custom"):
            raise
    except (ExecutionError, StateError):
        pass
    return None


# -- prices and liquidity ---------------------------------------------------------------------------------------------


def _missing_prices(market: AaveV3, concerned: bytes | None) -> Cause | None:
    """Find assets whose oracle price reverts, with their feeds: those of `concerned`, else all."""
    oracle, fork, without = market.oracle, market.fork, []
    for address in market.pool.getReservesList():
        try:
            oracle.getAssetPrice(address)
        except ExecutionError:
            without.append(address)
    if not without:
        return None
    flags: int = market.pool.getUserConfiguration(concerned) if concerned else 0
    near = [each for each in without if each == concerned or flags >> 2 * market.reserve_data(each).id & 3]
    feeds = {symbol_of(market, each): fork.name(oracle.getSourceOfAsset(each)) for each in near or without}
    return (
        f"the oracle has no price above zero for {and_list([f'{symbol} ({feed})' for symbol, feed in feeds.items()])}",
        f'`PriceFeed(fork, "{next(iter(feeds.values()))}").set_price(…)` gives one',
    )


def _insufficient_liquidity(account: AaveAccount, function: str, arguments: Sequence[Any]) -> Cause | None:
    """Cause if the pool lacks the tokens to pay out; the revert then comes from the token, not the pool."""
    if function not in ("borrow", "withdraw"):
        return None
    asset, wanted = arguments[:2]
    return insufficient_liquidity(
        account.market, asset, min(wanted, account.supplied(asset)) if function == "withdraw" else wanted
    )


def insufficient_liquidity(market: AaveV3, asset: bytes, wanted: int) -> Cause | None:
    """Cause if the pool holds less than `wanted`."""
    token = Erc20(market.fork, asset)
    there = market.available(asset, market.reserve_data(asset).aToken)
    if there >= wanted:
        return None
    return f"the pool has {token.text(there)}, the rest is lent out; {token.text(wanted)} are asked for", "take less"


# -- causes of error codes: (account, pool function, arguments) -> cause and hint -------------------------------------


def _emode(account: AaveAccount, function: str, arguments: Sequence[Any]) -> Cause | None:
    market = account.market
    if function == "borrow":
        mode = market.emode(account.emode)
        return (
            f"{symbol_of(market, arguments[0])} is not in eMode {mode_text(mode)}, which the account has chosen",
            f"borrow {or_list(mode.borrowable)}, or leave the mode: eMode 0 is none",
        )
    if function != "setUserEMode":
        return None
    category: int = arguments[0]
    try:
        mode = market.emode(category)
    except UnknownName as unknown:
        return f"eMode category {category} does not exist", unknown.hint
    outside = [symbol for symbol in owed_assets(account) if symbol not in mode.assets]
    if not outside:
        return None
    return (
        f"the account owes {and_list(outside)}, outside eMode {mode_text(mode)}",
        "repay that first, or choose another category",
    )


def _mixed_collateral(account: AaveAccount, _: str, arguments: Sequence[Any]) -> Cause | None:
    market = account.market
    symbol, own = symbol_of(market, arguments[0]), configuration_of(market, arguments[0])
    used = collateral_of(account)
    isolated = next((name for name, each in used.items() if each.isolated), None)
    if isolated:
        return (
            f"the account is in isolation mode with {isolated}, which has to stay its only collateral",
            f'`set_collateral("{isolated}", False)` leaves it, once nothing is owed',
        )
    if own.isolated and used:
        return (
            f"{symbol} is isolated and has to be the only collateral, but the account uses {and_list(used)} too",
            "use another account for it, or disable the others with `set_collateral(…, False)`",
        )
    if not account.borrowing_power_bps(arguments[0]):
        mode = f" in eMode {mode_text(market.emode(account.emode))}" if account.emode and own.ltv_bps else ""
        return f"{symbol} has a loan to value of zero{mode}, so it cannot become collateral", None
    return None


def _not_in_isolation(account: AaveAccount, _: str, arguments: Sequence[Any]) -> Cause | None:
    market = account.market
    isolated = next((name for name, each in collateral_of(account).items() if each.isolated), None)
    if not isolated:
        return None
    reserves = ((address, configuration_of(market, address)) for address in market.pool.getReservesList())
    fitting = [symbol_of(market, at) for at, own in reserves if own.borrowable_in_isolation and own.borrowing]
    return (
        f"the account is in isolation mode with {isolated}, where {symbol_of(market, arguments[0])} cannot be borrowed",
        f"borrow {or_list(fitting)}" if fitting else None,
    )


def _no_collateral(account: AaveAccount, _: str, __: Sequence[Any]) -> Cause | None:
    idle = idle_supplies(account)
    if not idle:
        return None
    isolated = [symbol for symbol, own in idle.items() if own.isolated]
    note = f" ({and_list(isolated)}: isolated assets are enabled by hand)" if isolated else ""
    return (
        f"the account has supplied {and_list(idle)}, but uses nothing as collateral{note}",
        f'`set_collateral("{next(iter(idle))}")` makes it collateral',
    )


def _beyond_borrowing_power(account: AaveAccount, _: str, arguments: Sequence[Any]) -> Cause:
    reserve = account.market.reserve(arguments[0])
    power = account.data().available_usd_e8 * 10**reserve.decimals // reserve.price_usd_e8
    idle = "".join(f'; `set_collateral("{symbol}")` would add {symbol}' for symbol in idle_supplies(account))
    return (
        "the debt would exceed the loan to value of the collateral",
        f"at most {amount_text(reserve, power)} more can be borrowed now; borrow less or supply more{idle}",
    )


def _unhealthy(account: AaveAccount, function: str, arguments: Sequence[Any]) -> Cause | None:
    if function == "borrow":  # since V3.4 the pool looks at health first
        return "the account's health factor would be below 1", _beyond_borrowing_power(account, function, arguments)[1]
    if function != "withdraw":
        return None
    holdings, index = account._holdings(arguments[0])
    if index is None:
        return None
    most = withdrawable(holdings, index, account.market.rules.health)
    reserve = account.market.reserve(arguments[0])
    return (
        "the account's health factor would be below 1",
        f"at most {amount_text(reserve, most)} can be withdrawn now; repay some debt or add collateral first",
    )


def _healthy(account: AaveAccount, _: str, arguments: Sequence[Any]) -> Cause | None:
    health = account.market.account(arguments[2]).data().health_factor_wad
    now = "no debt" if health == NO_DEBT else f"health factor {from_units(health, 18):.4f}"
    return f"{now}: nothing to liquidate", "its health factor has to fall below 1 first"


def _not_its_collateral(account: AaveAccount, _: str, arguments: Sequence[Any]) -> Cause:
    used = collateral_of(account.market.account(arguments[2]))
    return (
        f"the account does not use {symbol_of(account.market, arguments[0])} as collateral",
        f"it uses {and_list(used)}" if used else "it has no collateral left: what it owes is bad debt",
    )


def _not_its_debt(account: AaveAccount, _: str, arguments: Sequence[Any]) -> Cause:
    owed = owed_assets(account.market.account(arguments[2]))
    return (
        f"the account owes no {symbol_of(account.market, arguments[1])}",
        f"it owes {and_list(owed)}" if owed else None,
    )


def _over_borrow_cap(account: AaveAccount, _: str, arguments: Sequence[Any]) -> Cause:
    reserve = account.market.reserve(arguments[0])
    cap = reserve.configuration.borrow_cap or 0
    room = max(0, cap - reserve.borrowed)
    return (
        _beyond_cap(reserve, "borrow", arguments[1], cap, reserve.borrowed),
        f"there is room for {amount_text(reserve, room)} now; borrow less or another asset",
    )


def _over_supply_cap(account: AaveAccount, _: str, arguments: Sequence[Any]) -> Cause:
    reserve = account.market.reserve(arguments[0])
    accrued = reserve.accrued_to_treasury_scaled * reserve.normalised_income_ray // 10**27
    cap, used = reserve.configuration.supply_cap or 0, reserve.supplied + accrued
    room = max(0, cap - used)
    return (
        _beyond_cap(reserve, "supply", arguments[1], cap, used),
        f"there is room for {amount_text(reserve, room)} now; supply less or another asset",
    )


def _beyond_cap(reserve: Reserve, which: str, amount: int, cap: int, used: int) -> str:
    texts = [amount_text(reserve, each) for each in (amount, cap, used)]
    return f"{texts[0]} do not fit under the {which} cap of {texts[1]}, of which {texts[2]} are used"


def _over_debt_ceiling(account: AaveAccount, _: str, __: Sequence[Any]) -> Cause | None:
    isolated = next((name for name, each in collateral_of(account).items() if each.isolated), None)
    if not isolated:
        return None
    reserve = account.market.reserve(isolated)
    room = max(0, (reserve.configuration.debt_ceiling_usd_e2 or 0) - (reserve.isolated_debt_usd_e2 or 0))
    return (
        f"the debt ceiling of {isolated}, the isolated collateral, leaves no room for this amount",
        f"there is room for {format_units(room, 2)} dollars of debt now; borrow less",
    )


def _more_than_supplied(account: AaveAccount, _: str, arguments: Sequence[Any]) -> Cause:
    token = account.market.token(arguments[0])
    return (
        "the account has supplied less than it wants to withdraw",
        f"there are {token.text(account.supplied(arguments[0]))}; without an amount everything is withdrawn",
    )


_CAUSES: dict[str, Callable[[AaveAccount, str, Sequence[Any]], Cause | None]] = {
    "inconsistentemodecategory": _emode,
    "userinisolationmodeorltvzero": _mixed_collateral,
    "assetnotborrowableinisolation": _not_in_isolation,
    "collateralbalanceiszero": _no_collateral,
    "collateralcannotcovernewborrow": _beyond_borrowing_power,
    "healthfactorlowerthanliquidationthreshold": _unhealthy,
    "healthfactornotbelowthreshold": _healthy,
    "collateralcannotbeliquidated": _not_its_collateral,
    "specifiedcurrencynotborrowedbyuser": _not_its_debt,
    "borrowcapexceeded": _over_borrow_cap,
    "supplycapexceeded": _over_supply_cap,
    "debtceilingexceeded": _over_debt_ceiling,
    "notenoughavailableuserbalance": _more_than_supplied,
    **LATER_CAUSES,
}

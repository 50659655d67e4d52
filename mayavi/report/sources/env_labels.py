"""Names of the observations and actions of environments, for charts."""

from __future__ import annotations

from collections.abc import Sequence

from mayavi.portfolio.market.data import ASSETS, COLUMNS

_BORROWER = ("debt to limit", "loan to value", "cash to value", "headroom to value", "price", "last return", "trend",
             "volatility", "borrow rate", "supply rate", "cash yield", "spread", "wealth", "size",
             "time left")  # fmt: skip
_LOANS = ("do nothing", "repay a quarter", "repay all", "borrow a quarter", "borrow half")
_VESTING = ("time left", "released", "not released", "price", "pool against price", "unsold against depth",
            "recovery", "volatility", "reversion")  # fmt: skip
_SALES = ("sell nothing", "an even part", "two even parts", "half", "all")
_MARKET_BORROWER = ("debt to limit", "debt to value", "cash to value", "headroom to value", "price", "last return",
                    "pool against price", "borrow rate", "cash yield", "wealth", "size", "threat", "others",
                    "time left")  # fmt: skip
_LIQUIDATOR = ("time left", "price", "last return", "pool against price", "money against debts", "gas", "recovery",
               "volatility")  # fmt: skip
_ACCOUNT = ("health", "debt", "largest repayment", "against depth", "profit")
_TOKENS = tuple(asset.removesuffix("_price") for asset in ASSETS)
_PORTFOLIO = (
    "time left",
    *(f"weight of {token}" for token in _TOKENS),
    "drawdown",
    "return 1 h", "return 24 h", "return 168 h", "volatility", "value", "costs", "last cost",
    *(f"{token}, {hours} h" for hours in (1, 24, 168) for token in _TOKENS),
    *(column.replace("_", " ") for column in COLUMNS),
)  # fmt: skip


def observation_names(env: str, role: str, count: int) -> tuple[str, ...]:
    """Return a name for each of the `count` entries of an observation; numbered ones for an unknown environment."""
    known: Sequence[str] = ()
    if env in {"aave", "aave-shock", "compound"}:
        known = _BORROWER
    elif env == "vesting":
        known = _VESTING
    elif env == "rwa":
        known = _PORTFOLIO
    elif env == "liquidator" or (env, role) == ("market", "liquidator"):
        accounts = max(0, count - len(_LIQUIDATOR)) // len(_ACCOUNT)
        known = (*_LIQUIDATOR, *(f"account {at + 1}: {name}" for at in range(accounts) for name in _ACCOUNT))
    elif (env, role) == ("market", "borrower"):
        known = _MARKET_BORROWER
    return tuple(known) if len(known) == count else tuple(f"observation {at}" for at in range(count))


def action_names(env: str, role: str, count: int) -> tuple[str, ...]:
    """Return a name for each of `count` discrete actions; numbered ones where they have none."""
    known: Sequence[str] = ()
    if env in {"aave-shock", "compound"} or (env, role) == ("market", "borrower"):
        known = _LOANS
    elif env == "aave":
        known = (_LOANS[0], _LOANS[2], _LOANS[3])
    elif env == "vesting":
        known = _SALES
    elif env == "liquidator" or (env, role) == ("market", "liquidator"):
        shares = ("a quarter", "half", "all")
        known = ("wait", *(f"account {at // 3 + 1}: {shares[at % 3]}" for at in range(max(0, count - 1))))
    return tuple(known) if len(known) == count else tuple(f"action {at}" for at in range(count))


def component_names(env: str, count: int) -> tuple[str, ...]:
    """Return a name for each of `count` components of a continuous action."""
    if env == "rwa" and count == len(_TOKENS):
        return tuple(f"preference for {token}" for token in _TOKENS)
    if env == "liquidator" and count == 2:
        return ("account", "share of the repayment")
    return ("action",) if count == 1 else tuple(f"component {at}" for at in range(count))

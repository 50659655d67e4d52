"""The section of an Aave V3 market: contracts, rate curves, reserves and the holdings of the rest of the market."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from common_choices import BORROWED_SHARE_OF_CAP, SUPPLIED_SHARE_OF_CAP
from facts.forms import ZERO_ADDRESS, MarketFacts, rows
from mayavi._kernel import create_address
from mayavi.evm.address import checksum, to_address

RAY_PERCENT = 10**25


def make_lending(
    facts: MarketFacts,
    *,
    identity: Mapping[str, Any],
    addresses: Mapping[str, str],
    names: Mapping[str, Mapping[str, str]],
    decimals: Mapping[str, int],
) -> dict[str, Any]:
    """The section. `identity` is market id, provider id, contract of the pool and premiums; `names` the tokens' names.

    The tokens of a reserve are the next three contracts its configurator creates.
    """
    configurator = to_address(addresses["pool_configurator"])
    curves = {line["name"]: line for line in rows(facts.rates)}
    listed = rows(facts.reserves)
    made = []
    for place, line in enumerate(listed):
        created = [checksum(create_address(configurator, 3 * place + nonce)) for nonce in (1, 2, 3)]
        made.append(make_reserve(line, facts, curves[line["rates"]], created, names[line["symbol"]], decimals))
    used = {line["rates"] for line in listed}
    assert used == set(curves), f"curves nobody uses: {set(curves) - used}"
    return {
        "market_id": identity["market_id"],
        "provider_id": identity["provider_id"],
        "pool_contract": identity["pool_contract"],
        "addresses": dict(addresses),
        "flash_loan_premium_bps": identity["flash_loan_premium_bps"],
        "emodes": [
            {"id": place, **vars(category), "price_source": ZERO_ADDRESS}
            for place, category in enumerate(facts.emodes, start=1)
        ],
        "rate_strategies": {line["address"]: make_curve(line) for line in curves.values()},
        "reserves": made,
    }


def token_names(a_token_name: str, a_token_symbol: str, asset: str) -> dict[str, str]:
    """Names of a reserve's three tokens, derived from its aToken's, such as `Aave Base WETH`."""
    market = a_token_name.removesuffix(f" {asset}")
    short = a_token_symbol.removeprefix("sp").removeprefix("a")
    return {
        "a_token_name": a_token_name,
        "a_token_symbol": a_token_symbol,
        "stable_debt_token_name": f"{market} Stable Debt {asset}",
        "stable_debt_token_symbol": f"stableDebt{short}",
        "variable_debt_token_name": f"{market} Variable Debt {asset}",
        "variable_debt_token_symbol": f"variableDebt{short}",
    }


def make_curve(line: Mapping[str, str]) -> dict[str, int]:
    """One interest rate curve."""
    columns = {
        "optimal_usage_ray": "optimal",
        "base_variable_rate_ray": "base",
        "variable_slope1_ray": "slope1",
        "variable_slope2_ray": "slope2",
        "base_stable_rate_ray": "stable_base",
        "stable_slope1_ray": "stable1",
        "stable_slope2_ray": "stable2",
        "optimal_stable_share_ray": "stable_share",
    }
    return {ours: int(Decimal(line[column]) * RAY_PERCENT) for ours, column in columns.items()}


def make_reserve(
    line: Mapping[str, str],
    facts: MarketFacts,
    curve: Mapping[str, str],
    created: list[str],
    names: Mapping[str, str],
    decimals: Mapping[str, int],
) -> dict[str, Any]:
    """One reserve, with the holdings of the rest of the market."""
    a_token, stable_debt_token, variable_debt_token = created
    flags = line["flags"]
    supply_cap, borrow_cap = int(line["supply_cap"]), int(line["borrow_cap"])
    supplied = supply_cap * SUPPLIED_SHARE_OF_CAP
    wanted = supplied * Decimal(curve["optimal"]) / 100 * facts.usage_share_of_optimal
    borrowed = min(wanted, borrow_cap * BORROWED_SHARE_OF_CAP) if "B" in flags else Decimal(0)
    assumed = facts.assumed.get(line["symbol"], (int(supplied), int(borrowed)))
    return {
        "symbol": line["symbol"],
        "decimals": decimals[line["symbol"]],
        "a_token": a_token,
        "stable_debt_token": stable_debt_token,
        "variable_debt_token": variable_debt_token,
        "a_token_implementation": facts.implementations["a_token"],
        "stable_debt_token_implementation": facts.implementations["stable_debt_token"],
        "variable_debt_token_implementation": facts.implementations["variable_debt_token"],
        "a_token_contract": "AToken",
        **names,
        "rate_strategy": curve["address"],
        "feed": line["feed"],
        "ltv_bps": int(line["ltv"]),
        "liquidation_threshold_bps": int(line["threshold"]),
        "liquidation_bonus_bps": int(line["bonus"]),
        "liquidation_protocol_fee_bps": int(line["fee"]),
        "reserve_factor_bps": int(line["factor"]),
        "supply_cap": supply_cap,
        "borrow_cap": borrow_cap,
        "debt_ceiling_cents": int(line["ceiling"]) * 100,
        "emode": int(line["emode"]),
        "collateral": int(line["threshold"]) > 0,
        "borrowing": "B" in flags,
        "stable_borrowing": False,
        "borrowable_in_isolation": "I" in flags,
        "siloed": "S" in flags,
        "flash_loans": True,
        "active": True,
        "frozen": "F" in flags,
        "paused": False,
        "supplied": assumed[0],
        "borrowed": assumed[1],
    }

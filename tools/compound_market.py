"""Helpers that describe a Compound V3 market: one call per market, collateral asset, feed or token."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

WAD = 10**18

# What the rest of the market is assumed to have: half of each collateral's cap, and debts for 90 % of the kink.
SUPPLIED_SHARE_OF_CAP = Decimal("0.5")
USAGE_SHARE_OF_KINK = Decimal("0.9")
RESERVES_SHARE_OF_LENT = Decimal("0.01")


def wad(value: str) -> int:
    """Scale a decimal text such as `"0.825"` by 10**18."""
    return int(Decimal(value) * WAD)


def asset(address: str, feed: str, decimals: int, factors: str, cap: int) -> dict[str, Any]:
    """A collateral asset; `factors` are borrow, liquidate and liquidation factor, `cap` counts whole tokens."""
    borrow, liquidate, liquidation = factors.split()
    return {
        "token": address,
        "price_feed": feed,
        "decimals": decimals,
        "borrow_factor_wad": wad(borrow),
        "liquidate_factor_wad": wad(liquidate),
        "liquidation_factor_wad": wad(liquidation),
        "supply_cap": cap,
        "supplied": int(cap * SUPPLIED_SHARE_OF_CAP),
    }


def market(
    key: str,
    address: str,
    extension: str,
    base: tuple[str, str, int],
    *,
    name: str,
    guardian: str,
    supply: str,
    borrow: str,
    store_front: str,
    tracking: tuple[int, int, int],
    minimum_borrow: int,
    target_reserves: int,
    lent: int,
    assets: list[dict[str, Any]],
    symbol: str | None = None,
) -> dict[str, Any]:
    """One market. `base` is token, price feed and decimals; `supply` and `borrow` are kink, yearly slopes and base.

    `tracking` is the reward speed of lenders and borrowers and the smallest amount that earns rewards.
    `target_reserves` and `lent` are in whole tokens, everything else in smallest units.
    """
    kink = Decimal(supply.split()[0])
    return {
        "key": key,
        "name": name,
        "symbol": symbol or key,
        "address": address,
        "extension": extension,
        "pause_guardian": guardian,
        "base_token": base[0],
        "base_price_feed": base[1],
        "base_decimals": base[2],
        "supply_curve_wad": [wad(figure) for figure in supply.split()],
        "borrow_curve_wad": [wad(figure) for figure in borrow.split()],
        "store_front_price_factor_wad": wad(store_front),
        "tracking_index_scale": 10**15,
        "tracking_supply_speed": tracking[0],
        "tracking_borrow_speed": tracking[1],
        "minimum_for_rewards": tracking[2],
        "minimum_borrow": minimum_borrow,
        "target_reserves": target_reserves * 10 ** base[2],
        "assets": assets,
        "lent": lent,
        "borrowed": int(lent * kink * USAGE_SHARE_OF_KINK),
        "reserves": int(lent * RESERVES_SHARE_OF_LENT),
    }


def feed(address: str, description: str, *, operator: str = "Chainlink", **answer: Any) -> dict[str, Any]:
    """A price feed with 8 decimals: `answer=` or `base=` and `ratio=`."""
    found: dict[str, Any] = {"address": address, "description": description, "operator": operator}
    if "base" in answer:
        return found | {"base": answer["base"], "ratio_e18": wad(answer["ratio"])}
    return found | {"decimals": 8, "answer": int(Decimal(answer["answer"]) * 10**8)}


def token(address: str, name: str, decimals: int = 18, **more: Any) -> dict[str, Any]:
    """A token that the other sections of a table may lack."""
    return {"address": address, "name": name, "decimals": decimals, "kind": "standard", **more}

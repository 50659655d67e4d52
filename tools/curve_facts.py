"""The Curve section of a chain's table: plain StableSwap pools.

Addresses and coins come from Curve's npm package `@curvefi/api`, which has no parameters. Those of the 3pool are
read at a recorded block; the others and all balances are assumptions, and the table says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from common_choices import CURVE_API
from npm_packages import Packages

OWNER = "0xeCb456EA5365865EbAb8a2661B0c503410e9B347"  # the contract through which Curve's DAO owns its pools


@dataclass(frozen=True)
class Choice:
    """Facts of a pool that the package lacks. Balances are in whole tokens."""

    lp_name: str
    lp_symbol: str
    a: int
    fee_e10: int
    balances: tuple[int, ...]
    admin_fee_e10: int = 5 * 10**9
    measured_coin: str | None = None


CHOICES = {
    "ethereum": {
        "3pool": Choice(
            lp_name="Curve.fi DAI/USDC/USDT",
            lp_symbol="3Crv",
            a=2000,
            fee_e10=10**6,
            balances=(55_000_000, 56_000_000, 59_000_000),
            measured_coin="USDT",
        ),
        "fraxusdc": Choice(
            lp_name="Curve.fi FRAX/USDC",
            lp_symbol="crvFRAX",
            a=1500,
            fee_e10=10**6,
            balances=(13_000_000, 12_000_000),
        ),
    }
}
SOURCES = [
    {"what": "Curve pools, their coins and LP tokens", "from": CURVE_API},
    {
        "what": "Curve 3pool: A, fee, administrator's fee",
        "from": "the pool's storage at block 17,666,333; taken to be the same since",
        "date": "2023-07-10",
    },
]
DIFFERENCES = {
    "Curve parameters": "A 1500 and the fee of 0.01 % of fraxusdc are assumed, and so are all balances: about 170 "
    "million in the 3pool and 25 million in fraxusdc, as in January 2024",
}


def make_curve(chain: str, packages: Packages) -> dict[str, Any] | None:
    """The Curve section of a table, or None for a chain without it. It needs only tokens and feeds that Aave has."""
    if chain not in CHOICES:
        return None
    pools = [make_pool(name, choice, packages.curve_pools(chain)) for name, choice in CHOICES[chain].items()]
    return {
        "section": {"pools": pools},
        "tokens": {},
        "feeds": {},
        "sources": SOURCES,
        "differences": DIFFERENCES,
    }


def make_pool(name: str, choice: Choice, text: str) -> dict[str, Any]:
    """One pool, from its entry in the package's list."""
    found = re.search(rf'\bname: "{re.escape(name)}",.*?swap_abi', text, re.DOTALL)
    assert found, f"no pool '{name}' in {CURVE_API}"
    entry = found[0]
    assert "is_plain: true" in entry, f"'{name}' is no plain pool"
    coins = re.findall(r"'([^']+)'", field(entry, r"wrapped_coins: (\[[^\]]*\])"))
    pool = {
        "name": name,
        "address": field(entry, r"swap_address: '(0x[0-9a-fA-F]{40})'"),
        "coins": coins,
        "lp_token": field(entry, r"token_address: '(0x[0-9a-fA-F]{40})'"),
        "lp_name": choice.lp_name,
        "lp_symbol": choice.lp_symbol,
        "owner": OWNER,
        "a": choice.a,
        "fee_e10": choice.fee_e10,
        "admin_fee_e10": choice.admin_fee_e10,
        "balances": list(choice.balances),
    }
    assert len(coins) == len(choice.balances), f"'{name}' has {len(coins)} coins"
    return pool | ({"measured_coin": choice.measured_coin} if choice.measured_coin else {})


def field(entry: str, pattern: str) -> str:
    """The first group of `pattern` in the entry of a pool."""
    found = re.search(pattern, entry)
    assert found, f"no {pattern} in {entry:.80}"
    return found[1]

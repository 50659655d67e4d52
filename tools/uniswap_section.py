"""The Uniswap section of a table: contracts, and pools at feed prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_DOWN, Decimal, localcontext
from typing import Any

from common_choices import PROFILES
from mayavi._kernel import create2_address
from mayavi.evm.address import checksum, to_address
from mayavi.evm.hashing import keccak256

WAD = 10**18
POOL_INIT_CODE_HASH = bytes.fromhex("e34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54")

PoolChoice = tuple[str, str, int, int, str]
"""(base, quote, fee in millionths, assumed value locked in USD, liquidity profile)."""


def make_uniswap(
    contracts: Mapping[str, str],
    pools: Iterable[PoolChoice],
    tokens: Mapping[str, Any],
    prices_usd: Mapping[str, Decimal],
) -> dict[str, Any]:
    """Build the section, with each pool at its CREATE2 address."""
    made = []
    for base, quote, fee, value_usd, profile in pools:
        with localcontext(prec=60):
            price = (prices_usd[base] / prices_usd[quote]).quantize(Decimal(10) ** -12, ROUND_DOWN)
        made.append(
            {
                "base": base,
                "quote": quote,
                "fee": fee,
                "address": pool_address(contracts["factory"], tokens[base]["address"], tokens[quote]["address"], fee),
                "price": str(price),
                "value_locked_usd": value_usd,
                "base_price_usd": str(prices_usd[base].quantize(Decimal(10) ** -8, ROUND_DOWN)),
                "profile": profile,
            }
        )
    return {"addresses": dict(contracts), "profiles": PROFILES, "pools": made}


def pool_address(factory: str, token: str, other: str, fee: int) -> str:
    """CREATE2 address of the pool of two tokens."""
    token0, token1 = sorted((to_address(token), to_address(other)))
    salt = keccak256(token0.rjust(32, b"\0") + token1.rjust(32, b"\0") + fee.to_bytes(32, "big"))
    return checksum(create2_address(to_address(factory), salt, POOL_INIT_CODE_HASH))


def price_of(name: str, feeds: Mapping[str, Any]) -> Decimal:
    """Answer of a feed, with adapters resolved."""
    feed = feeds[name]
    if "base" in feed:
        return price_of(feed["base"], feeds) * int(feed["ratio_e18"]) / WAD
    return Decimal(feed["answer"]).scaleb(-int(feed["decimals"]))

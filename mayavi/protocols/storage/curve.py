"""Storage of Curve's pools."""

from __future__ import annotations

from mayavi.protocols.storage.layout import Layout
from mayavi.protocols.storage.packed_word import Field, Word

_NUMBER = (Field("value", 256),)
_PRICES: Word = (Field("of coin 1", 128), Field("of coin 2", 128))
"""Prices of both other coins in the first one, with 18 decimals."""

STABLESWAP = Layout({}, {1: "balances"}, words={"balances[]": _NUMBER})
TRICRYPTO = Layout(
    {
        0: "price_scale",
        1: "price_oracle",
        2: "last_prices",
        3: "last_prices_timestamp",
        23: "D",
        26: "xcp_profit",
        27: "xcp_profit_a",
        28: "virtual_price",
        29: "not_adjusted",
    },
    {22: "balances"},
    words={
        "price_scale": _PRICES,
        "price_oracle": _PRICES,
        "last_prices": _PRICES,
        "last_prices_timestamp": (Field("value", 256, "time"),),
        "not_adjusted": (Field("value", 256, "flag"),),
        **dict.fromkeys(("D", "xcp_profit", "xcp_profit_a", "virtual_price", "balances[]"), _NUMBER),
    },
)
"""Pool of three volatile coins: USDT, WBTC and WETH."""
TRICRYPTO_POOLS = frozenset({bytes.fromhex("d51a44d3fae010294c616388b506acda1bfaae46")})
"""Pools of Ethereum with this layout; pools of other versions emit the same events."""

"""Storage of Uniswap's pools: V3, and the pairs of V2."""

from __future__ import annotations

from collections.abc import Iterable

from mayavi.evm.hashing import keccak256
from mayavi.protocols.storage.layout import Layout
from mayavi.protocols.storage.packed_word import Field

_TICKS_SLOT = (5).to_bytes(32)
_TICK = ("liquidity", "feeGrowthOutside0X128", "feeGrowthOutside1X128", "outside")
_OBSERVATIONS = range(8, 8 + 65_535)
_PER_LIQUIDITY = Field("secondsPerLiquidityX128", 160, "x128")
_INITIALIZED = Field("initialized", 8, "flag")

V3_POOL = Layout(
    {0: "slot0", 1: "feeGrowthGlobal0X128", 2: "feeGrowthGlobal1X128", 3: "protocolFees", 4: "liquidity"},
    {5: "ticks", 6: "tickBitmap", 7: "positions"},
    ((_OBSERVATIONS, "observations"),),
    {
        "slot0": (
            Field("sqrtPriceX96", 160),
            Field("tick", 24, "signed"),
            Field("observationIndex", 16),
            Field("observationCardinality", 16),
            Field("observationCardinalityNext", 16),
            Field("feeProtocol", 8),
            Field("unlocked", 8, "flag"),
        ),
        "feeGrowthGlobal0X128": (Field("value", 256, "x128"),),
        "feeGrowthGlobal1X128": (Field("value", 256, "x128"),),
        "protocolFees": (Field("token0", 128), Field("token1", 128)),
        "liquidity": (Field("value", 128),),
        "ticks[].liquidity": (Field("gross", 128), Field("net", 128, "signed")),
        "ticks[].feeGrowthOutside0X128": (Field("value", 256, "x128"),),
        "ticks[].feeGrowthOutside1X128": (Field("value", 256, "x128"),),
        "ticks[].outside": (
            Field("tickCumulative", 56, "signed"),
            _PER_LIQUIDITY,
            Field("seconds", 32),
            _INITIALIZED,
        ),
        "observations[]": (
            Field("blockTimestamp", 32, "time"),
            Field("tickCumulative", 56, "signed"),
            _PER_LIQUIDITY,
            _INITIALIZED,
        ),
    },
)
V2_PAIR = Layout(
    {
        0: "totalSupply",
        8: "reserves",
        9: "price0CumulativeLast",
        10: "price1CumulativeLast",
        11: "kLast",
        12: "unlocked",
    },
    {1: "balanceOf", 2: "allowance"},
    words={
        "reserves": (Field("reserve0", 112), Field("reserve1", 112), Field("blockTimestampLast", 32, "time")),
        "price0CumulativeLast": (Field("value", 256, "x112"),),
        "price1CumulativeLast": (Field("value", 256, "x112"),),
        "kLast": (Field("value", 256),),
        "unlocked": (Field("value", 256, "flag"),),
    },
)


def tick_slots(ticks: Iterable[int]) -> dict[int, str]:
    """Return the names of the slots of V3's ticks."""
    found: dict[int, str] = {}
    for tick in ticks:
        place = int.from_bytes(keccak256(tick.to_bytes(32, signed=True) + _TICKS_SLOT))
        found.update({place + offset: f"ticks[{tick}].{name}" for offset, name in enumerate(_TICK)})
    return found

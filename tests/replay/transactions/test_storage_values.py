"""Changes of storage: fields of packed words, amounts as numbers, everything else in hex."""

from __future__ import annotations

import pytest

from mayavi.protocols.storage.compound import COMET
from mayavi.protocols.storage.layout import Layout
from mayavi.protocols.storage.uniswap import V2_PAIR, V3_POOL
from mayavi.replay.transactions.storage_values import UNLIMITED, field_changes, slot_change, slot_value

FLAGGED = 1 << 255 | 5
RESERVES = 1_700_000_000 << 224 | 3_000 << 112 | 2_000_000
SLOT0 = 1 << 240 | 45 << 184 | (-5 & 0xFFFFFF) << 160 | 2**100


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("balance of sender", 1_234, "1,234 units"),
        ("balance of sender", FLAGGED, hex(FLAGGED)),
        ("allowance of sender to 0x12", UNLIMITED, "unlimited"),
        ("allowance of sender to 0x12", UNLIMITED - 7, "unlimited less 7 units"),
        ("slot0", 255, "0xff"),
        (None, 255, "0xff"),
        ("balance of sender", None, "not known"),
    ],
)
def test_a_word_is_shown_by_the_name_of_its_slot(name: str | None, value: int | None, text: str) -> None:
    assert slot_value(name, value, lambda amount: f"{amount:,} units") == text


@pytest.mark.parametrize(
    ("layout", "name", "before", "after", "text"),
    [
        (V3_POOL, "slot0", SLOT0, SLOT0 + 7, f"sqrtPriceX96 {2**100:,} → {2**100 + 7:,}"),
        (V3_POOL, "slot0", SLOT0, SLOT0 + (5 << 160), "tick -5 → 0, observationIndex 45 → 46"),
        (V3_POOL, "slot0", SLOT0, SLOT0 - (1 << 240), "unlocked true → false"),
        (V3_POOL, "ticks[-60].liquidity", 0, (-3 % 2**128) << 128 | 3, "gross 0 → 3, net 0 → -3"),
        (V3_POOL, "feeGrowthGlobal0X128", 0, 2**127, "0 → 0.5"),
        (V3_POOL, "feeGrowthGlobal0X128", 2**127, 2**127 + 1, f"{2**127:,} → {2**127 + 1:,}"),
        (V2_PAIR, "reserves", RESERVES, RESERVES + 1, "reserve0 2,000,000 → 2,000,001"),
        (V2_PAIR, "reserves", 0, 1_700_000_000 << 224, "blockTimestampLast 1970-01-01 00:00:00 → 2023-11-14 22:13:20"),
        (COMET, "userBasic[0x12]", 0, 2**104 - 9, "principal 0 → -9"),
        (COMET, "isAllowed[0x12][0x13]", 0, 1, "false → true"),
        (COMET, "userCollateral[0x12][0x13]", 5, 6 | 1 << 200, "balance 5 → 6"),
        (COMET, "userCollateral[0x12][0x13]", 5, 5 | 1 << 200, f"0x5 → {5 | 1 << 200:#x}"),
        (COMET, "nothing[0x12]", 1, 2, "0x1 → 0x2"),
    ],
)
def test_a_packed_word_is_shown_by_the_fields_that_change(
    layout: Layout, name: str, before: int, after: int, text: str
) -> None:
    assert slot_change(name, layout.word(name), before, after, str) == text


def test_a_word_that_is_not_known_has_no_fields() -> None:
    assert field_changes(V3_POOL.word("slot0"), None, 5) == {}
    assert slot_change("slot0", V3_POOL.word("slot0"), None, 5, str) == "not known → 0x5"

"""Words of storage: amounts as numbers, everything else in hex."""

from __future__ import annotations

import pytest

from mayavi.replay.transactions.storage_values import UNLIMITED, slot_value

FLAGGED = 1 << 255 | 5
RESERVES = 1_700_000_000 << 224 | 3_000 << 112 | 2_000_000


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("balance of sender", 1_234, "1,234 units"),
        ("balance of sender", FLAGGED, hex(FLAGGED)),
        ("allowance of sender to 0x12", UNLIMITED, "unlimited"),
        ("allowance of sender to 0x12", UNLIMITED - 7, "unlimited less 7 units"),
        ("balances[1]", 1_234, "1,234"),
        ("reserves", RESERVES, "2,000,000 and 3,000"),
        ("slot0: price and tick", 255, "0xff"),
        (None, 255, "0xff"),
        ("balance of sender", None, "not known"),
    ],
)
def test_a_word_is_shown_by_the_name_of_its_slot(name: str | None, value: int | None, text: str) -> None:
    assert slot_value(name, value, lambda amount: f"{amount:,} units") == text

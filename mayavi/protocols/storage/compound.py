"""Storage of Compound V3's markets."""

from __future__ import annotations

from mayavi.protocols.storage.layout import Layout
from mayavi.protocols.storage.packed_word import Field

COMET = Layout(
    {0: "indexes", 1: "totals"},
    {2: "totalsCollateral", 3: "isAllowed", 4: "userNonce", 5: "userBasic", 6: "userCollateral", 7: "liquidatorPoints"},
    words={
        "indexes": (
            Field("baseSupplyIndex", 64),
            Field("baseBorrowIndex", 64),
            Field("trackingSupplyIndex", 64),
            Field("trackingBorrowIndex", 64),
        ),
        "totals": (
            Field("totalSupplyBase", 104),
            Field("totalBorrowBase", 104),
            Field("lastAccrualTime", 40, "time"),
            Field("pauseFlags", 8),
        ),
        "totalsCollateral[]": (Field("totalSupplyAsset", 128), Field("", 128)),
        "isAllowed[]": (Field("value", 256, "flag"),),
        "userNonce[]": (Field("value", 256),),
        "userBasic[]": (
            Field("principal", 104, "signed"),
            Field("baseTrackingIndex", 64),
            Field("baseTrackingAccrued", 64),
            Field("assetsIn", 16),
            Field("", 8),
        ),
        "userCollateral[]": (Field("balance", 128), Field("", 128)),
        "liquidatorPoints[]": (
            Field("numAbsorbs", 32),
            Field("numAbsorbed", 64),
            Field("approxSpend", 128),
        ),
    },
)

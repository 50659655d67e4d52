"""Rules by the names that the official tests give them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from mayavi.evm.state import hardforks

NAMES = {
    "Frontier": "frontier",
    "Homestead": "homestead",
    "EIP150": "tangerine",
    "EIP158": "spurious_dragon",
    "Byzantium": "byzantium",
    "ConstantinopleFix": "petersburg",
    "Istanbul": "istanbul",
    "Berlin": "berlin",
    "London": "london",
    "ArrowGlacier": "london",
    "GrayGlacier": "london",
    "Merge": "paris",
    "Paris": "paris",
    "Shanghai": "shanghai",
    "Cancun": "cancun",
    "Prague": "prague",
    "Osaka": "osaka",
}
"""Hard forks of the kernel by their official names. Constantinople never was on mainnet."""

_TRANSITION = re.compile(r"(\w+?)To(\w+?)At(Time)?(\d+)(k?)")


@dataclass(frozen=True, slots=True)
class Rules:
    """Hard fork of each block of a chain: one, or two with the block or time from which the second counts."""

    first: str
    second: str = ""
    at: int = 0
    by_time: bool = False

    def hardfork(self, number: int, timestamp: int) -> str:
        """Hard fork of a block."""
        return self.second if self.second and (timestamp if self.by_time else number) >= self.at else self.first


@lru_cache(maxsize=64)
def rules_of(network: str) -> Rules | None:
    """Return the rules of a network; None if the kernel does not have them."""
    known = hardforks()
    one = NAMES.get(network, "")
    if one in known:
        return Rules(one)
    found = _TRANSITION.fullmatch(network)
    if found is None:
        return None
    first, second = NAMES.get(found[1], ""), NAMES.get(found[2], "")
    if first not in known or second not in known:
        return None
    return Rules(first, second, int(found[4]) * (1_000 if found[5] else 1), bool(found[3]))

"""Parameters and names of Morpho markets."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from mayavi.evm.address import ZERO_ADDRESS
from mayavi.evm.hashing import keccak256
from mayavi.evm.units import format_units, to_units

PREFIX = "Morpho."
"""Prefix of labels. That of a market, `Morpho.wstETH/USDC.86`, is the label of its oracle."""
VAULTS = "MetaMorpho."
"""Prefix of the labels of vaults: `MetaMorpho.steakUSDC`."""
BLUE_LABEL = f"{PREFIX}Blue"
IRM_LABEL = f"{PREFIX}AdaptiveCurveIrm"
ALLOCATOR_LABEL = f"{PREFIX}PublicAllocator"

_NAME = re.compile(r"(?P<collateral>[^/\s]+)/(?P<loan>[^/\s.]+)\.(?P<lltv>\d{1,2}(\.\d+)?)")


class MarketParameters(NamedTuple):
    """The five parameters that are a market: it has no others, and they never change."""

    loan_token: bytes
    collateral_token: bytes
    oracle: bytes
    irm: bytes
    lltv_wad: int
    """Share of the collateral's value up to which an account may owe; above it, it can be liquidated."""

    @classmethod
    def idle(cls, loan_token: bytes) -> MarketParameters:
        """Return the market without collateral, in which vaults keep what they do not lend."""
        return cls(loan_token, ZERO_ADDRESS, ZERO_ADDRESS, ZERO_ADDRESS, 0)

    @property
    def id(self) -> bytes:
        """Keccak-256 of the parameters, each in a word."""
        words = (*(bytes(12) + each for each in self[:4]), self.lltv_wad.to_bytes(32))
        return keccak256(b"".join(words))


class MarketName(NamedTuple):
    """Name of a market, in parts: `wstETH/USDC.86` lends USDC against wstETH up to 86 % of its value."""

    collateral: str
    loan: str
    lltv_wad: int

    @classmethod
    def parse(cls, text: str) -> MarketName | None:
        """Return the parts of a name; None if it is invalid."""
        found = _NAME.fullmatch(text)
        if found is None:
            return None
        return cls(found["collateral"], found["loan"], to_units(Decimal(found["lltv"]), 16))

    def __str__(self) -> str:
        return f"{self.collateral}/{self.loan}.{format_units(self.lltv_wad, 16)}"

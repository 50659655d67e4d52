"""SparkLend: an Aave V3 market with reserves and parameters of its own, so the adapter is Aave's with other names."""

from __future__ import annotations

from typing import ClassVar

from mayavi.evm.address import AddressLike
from mayavi.protocols.aave.account import AaveAccount
from mayavi.protocols.aave.market import AaveV3


class SparkAccount(AaveAccount):
    """An account on SparkLend; `SparkLend(fork).account(address)` makes one. It does all an `AaveAccount` does."""


class SparkLend(AaveV3):
    """The SparkLend market of the chain that `fork` stands on; everything else is as in `AaveV3`."""

    prefix: ClassVar[str] = "Spark"
    title: ClassVar[str] = "SparkLend"

    def account(self, address: AddressLike) -> SparkAccount:
        """The account at `address`, to act with and to look at. It needs no registration."""
        return SparkAccount(self, address)

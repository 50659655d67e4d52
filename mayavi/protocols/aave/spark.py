"""SparkLend: an Aave V3 market with its own reserves and parameters."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from mayavi.evm.address import AddressLike
from mayavi.protocols.aave.account import AaveAccount
from mayavi.protocols.aave.market import AaveV3
from mayavi.protocols.aave.rules.generation import Generation


class SparkAccount(AaveAccount):
    """Account on SparkLend, made by `SparkLend(fork).account(address)`."""


class SparkLend(AaveV3):
    """SparkLend market of the fork's chain; see `AaveV3`."""

    prefix: ClassVar[str] = "Spark"
    title: ClassVar[str] = "SparkLend"

    @cached_property
    def generation(self) -> Generation:
        """V3.0, whatever the revision: Spark counts its own upgrades of that code."""
        return Generation(1)

    def account(self, address: AddressLike) -> SparkAccount:
        """Return the account at `address`. It needs no registration."""
        return SparkAccount(self, address)

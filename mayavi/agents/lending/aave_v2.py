"""Aave V2 as a `LendingMarket`."""

from __future__ import annotations

from typing import ClassVar

from mayavi.agents.lending.aave import AaveLending, Accounts
from mayavi.errors import CallReverted
from mayavi.protocols.aave_v2.market import AaveV2
from mayavi.protocols.aave_v2.reverts import name_error


class AaveV2Lending(AaveLending):
    """Aave V2 market, for agents. Liquidation quotes use the pool's own arithmetic, to the unit."""

    supply_function: ClassVar[str] = "deposit"

    def __init__(self, market: AaveV2) -> None:
        super().__init__(market)

    def _explained(self, error: CallReverted, holder: bytes, arguments: tuple[object, ...]) -> CallReverted:
        del holder, arguments
        return name_error(error)

    def _emodes(self, borrowers: Accounts) -> list[int]:
        return [0] * len(borrowers)

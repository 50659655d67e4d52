"""Aave V2 as a `LendingMarket`: half of a debt at any health factor, and no protocol fee."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from mayavi.agents.lending.aave import AaveLending, AssetState
from mayavi.errors import CallReverted
from mayavi.protocols.aave.market import CLOSE_FACTOR_BPS
from mayavi.protocols.aave_v2.market import AaveV2
from mayavi.protocols.aave_v2.reverts import name_error

_ALL_BPS = 10_000


class AaveV2Lending(AaveLending):
    """Aave V2 market, for agents. Liquidation quotes use the pool's own arithmetic, to the unit."""

    supply_function: ClassVar[str] = "deposit"

    def __init__(self, market: AaveV2) -> None:
        super().__init__(market)

    def _explained(self, error: CallReverted, holder: bytes, arguments: tuple[object, ...]) -> CallReverted:
        del holder, arguments
        return name_error(error)

    def _emodes(self, borrowers: Sequence[bytes]) -> list[int]:
        return [0] * len(borrowers)

    def _close_factor_bps(self, health_factor_wad: int) -> int:
        del health_factor_wad
        return CLOSE_FACTOR_BPS

    def _amounts(
        self, cover: int, held: int, debt: AssetState, collateral: AssetState, bonus_bps: int
    ) -> tuple[int, int]:
        """Return the debt repaid and the collateral received; V2 applies the bonus before it divides."""
        with_bonus = (debt.price * cover * collateral.unit * bonus_bps + _ALL_BPS // 2) // _ALL_BPS
        wanted = with_bonus // (collateral.price * debt.unit)
        if wanted <= held:
            return cover, wanted
        without = collateral.price * held * debt.unit // (debt.price * collateral.unit)
        return min(cover, (without * _ALL_BPS + bonus_bps // 2) // bonus_bps), held

"""Totals of Aave V3 accounts, as the pool computes them."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from mayavi.evm.units import WAD

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mayavi.evm.fleet import Words


class AccountData(NamedTuple):
    """Totals of an account as the pool computes them. Without debt the health factor is 2**256 - 1."""

    collateral_usd_e8: int
    debt_usd_e8: int
    available_usd_e8: int
    liquidation_threshold_bps: int
    ltv_bps: int
    health_factor_wad: int

    @classmethod
    def of(cls, output: bytes) -> AccountData:
        """Decode `SIZE` bytes of output of the pool."""
        return cls._make(map(int.from_bytes, _words(output)))

    @property
    def liquidatable(self) -> bool:
        """Whether the health factor is below 1."""
        return self.health_factor_wad < WAD


SIZE = 32 * len(AccountData._fields)
_words = Struct("32s" * len(AccountData._fields)).unpack


@dataclass(frozen=True, slots=True)
class AccountsData:
    """Totals of many accounts, one row each. Columns are exact: `.ints()`, or `.float64(scale)` for plots."""

    collateral_usd_e8: Words
    debt_usd_e8: Words
    available_usd_e8: Words
    liquidation_threshold_bps: Words
    ltv_bps: Words
    health_factor_wad: Words

    @property
    def liquidatable(self) -> NDArray[np.bool_]:
        """Whether each health factor is below 1; exact, and false without debt."""
        return self.health_factor_wad < WAD

    def __len__(self) -> int:
        return len(self.health_factor_wad)

    def __getitem__(self, row: int) -> AccountData:
        return AccountData.of(b"".join([getattr(self, name).words[row].tobytes() for name in AccountData._fields]))

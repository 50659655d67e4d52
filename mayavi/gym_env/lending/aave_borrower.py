"""`mayavi/AaveBorrower-v0`: a borrower on Aave V3 at constant prices, so that interest decides."""

from __future__ import annotations

from typing import ClassVar

from mayavi.gym_env.lending.aave import AaveAdapter
from mayavi.gym_env.lending.adapter import LendingAdapter
from mayavi.gym_env.lending.config import LendingConfig
from mayavi.gym_env.lending.env import THREE_SHARES, LendingRowsEnv


class AaveBorrowerRows(LendingRowsEnv[LendingConfig]):
    """Twelve steps of 18,000 blocks, thirty days on Ethereum.

    Discrete actions: do nothing, repay as much as the wallet holds, borrow a quarter of the headroom.
    """

    name: ClassVar[str] = "aave"
    adapter_type: ClassVar[type[LendingAdapter]] = AaveAdapter
    shares_ppm: ClassVar[tuple[int, ...]] = THREE_SHARES

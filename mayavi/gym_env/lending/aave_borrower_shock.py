"""`mayavi/AaveBorrowerShock-v0`: a borrower on Aave V3 whose collateral follows price paths with shocks."""

from __future__ import annotations

from typing import Any, ClassVar

from mayavi.gym_env.lending.aave import AaveAdapter
from mayavi.gym_env.lending.adapter import LendingAdapter
from mayavi.gym_env.lending.config import ShockConfig
from mayavi.gym_env.lending.env import LendingRowsEnv


class AaveBorrowerShockRows(LendingRowsEnv[ShockConfig]):
    """Twenty-four steps of 18,000 blocks, sixty days on Ethereum.

    Discrete actions: do nothing, repay a quarter of the debt, repay as much as the wallet holds, borrow a quarter
    of the headroom, borrow half of it.
    """

    name: ClassVar[str] = "aave-shock"
    config_type: ClassVar[type[Any]] = ShockConfig
    adapter_type: ClassVar[type[LendingAdapter]] = AaveAdapter

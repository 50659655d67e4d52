"""`mayavi/CompoundV3Borrower-v0`: a borrower on Compound V3, which liquidates whole accounts."""

from __future__ import annotations

from typing import Any, ClassVar

from mayavi.gym_env.lending.adapter import LendingAdapter
from mayavi.gym_env.lending.compound import CompoundAdapter
from mayavi.gym_env.lending.config import ShockConfig
from mayavi.gym_env.lending.env import LendingRowsEnv


class CompoundV3BorrowerRows(LendingRowsEnv[ShockConfig]):
    """Steps, prices and actions of `mayavi/AaveBorrowerShock-v0` on Compound V3.

    Collateral earns nothing, and a debt has a minimum size.
    """

    name: ClassVar[str] = "compound"
    config_type: ClassVar[type[Any]] = ShockConfig
    adapter_type: ClassVar[type[LendingAdapter]] = CompoundAdapter

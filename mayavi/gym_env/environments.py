"""Environment classes for `gymnasium`: one for each environment of the registry.

    env = AaveBorrowerEnv(horizon=12)

They are what `gymnasium.make("mayavi/AaveBorrower-v0", horizon=12)` wraps. Arguments are the settings of the
environment, listed in docs/reference/environments.md, and those of `make_rows`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from mayavi.gym_env.adapters.single import MayaviEnv
from mayavi.gym_env.registry import make_rows


class NamedEnv(MayaviEnv):
    """Gymnasium environment made from settings. Subclasses set `env_name`."""

    env_name: ClassVar[str]

    def __init__(self, *, render_mode: str | None = None, **settings: Any) -> None:
        super().__init__(make_rows(self.env_name, 1, **settings), render_mode=render_mode)


class AaveBorrowerEnv(NamedEnv):
    """A borrower on Aave V3 with constant prices, where interest decides."""

    env_name = "aave"


class AaveBorrowerShockEnv(NamedEnv):
    """A borrower on Aave V3 whose collateral follows price paths with shocks."""

    env_name = "aave-shock"


class CompoundV3BorrowerEnv(NamedEnv):
    """A borrower on Compound V3."""

    env_name = "compound"


class VestingEnv(NamedEnv):
    """A holder who sells what vests into Uniswap V3."""

    env_name = "vesting"


class AaveLiquidatorEnv(NamedEnv):
    """A liquidator on Aave V3 who sells what it seizes on Uniswap V3."""

    env_name = "liquidator"

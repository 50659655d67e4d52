"""An environment whose rewards depend on how many were made before."""

from __future__ import annotations

from typing import Any

from mayavi.portfolio.env.env import RWAYieldRows


class DriftingEnv(RWAYieldRows):
    """Portfolio with rewards that are never the same twice."""

    made = 0

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        DriftingEnv.made += 1
        self.number = DriftingEnv.made

    def rewards(self, *arguments: Any, **more: Any) -> Any:
        rewards, *ends = super().rewards(*arguments, **more)
        return (rewards + self.number, *ends)

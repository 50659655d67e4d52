"""`AaveMarketEnv`: borrowers against liquidators in one Aave market, for RLlib.

```python
from mayavi.gym_env.market.env import AaveMarketEnv

env = AaveMarketEnv(borrowers=4, liquidators=2)
observations, infos = env.reset(seed=1)
```
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mayavi.gym_env.adapters.multi_agent import MayaviMultiAgentEnv, policy_of
from mayavi.gym_env.market.config import MarketConfig
from mayavi.gym_env.registry import make_rows

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.worlds.source import WorldSource

__all__ = ["AaveMarketEnv", "policy_of"]


class AaveMarketEnv(MayaviMultiAgentEnv):
    """Agents `borrower_0`, …, `liquidator_0`, …, which act at once; the order of their transactions is drawn.

    A borrower that is liquidated is terminated with a reward of -1; its account stays in the market. Liquidators are
    terminated when no borrower acts and no debt has collateral left. All other agents are truncated after `horizon`
    steps. Observations, actions and rewards are those of `market.borrowers` and
    `market.liquidators`.
    """

    def __init__(
        self,
        config: Mapping[str, object] | MarketConfig | None = None,
        *,
        world: WorldSource | Fork | None = None,
        source: str | None = None,
        threads: int | None = 1,
        specialise: str | None = None,
        exact_info: bool = True,
        render_mode: str | None = None,
        **settings: object,
    ) -> None:
        rows = make_rows(
            "market",
            1,
            config=config,
            world=world,
            source=source,
            threads=threads,
            specialise=specialise,
            **settings,
        )
        super().__init__(rows, exact_info=exact_info, render_mode=render_mode)

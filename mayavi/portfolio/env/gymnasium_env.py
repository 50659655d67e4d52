"""`RWAYieldEnv`: the portfolio of USDY, mETH and MI4 as a `gymnasium.Env`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mayavi.errors import UsageError, did_you_mean
from mayavi.gym_env.adapters.single import MayaviEnv
from mayavi.gym_env.configuration import configured
from mayavi.gym_env.registry import refuse_world
from mayavi.portfolio.env.config import RWAConfig
from mayavi.portfolio.env.env import RWAYieldRows
from mayavi.portfolio.env.markets import model_with
from mayavi.portfolio.market.arrays import SOURCE, market_of_arrays

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.worlds.source import WorldSource


class RWAYieldEnv(MayaviEnv):
    """Portfolio of three assets, rebalanced hour by hour.

    `historical_data` maps columns to hourly arrays, or is a data frame; without it, and without `data`, the market of
    each episode is simulated. `settings` are the others of `RWAConfig`; `episode_length` is another name of `horizon`.
    `specialise` has no effect, as in `make_rows`: the portfolio stands on no chain.
    """

    def __init__(
        self,
        historical_data: Mapping[str, Any] | None = None,
        episode_length: int | None = None,
        initial_capital: float | None = None,
        rebalance_cost_bps: float | None = None,
        risk_free_rate: float | None = None,
        reward_scaling: float | None = None,
        *,
        render_mode: str | None = None,
        config: Mapping[str, object] | RWAConfig | None = None,
        world: WorldSource | Fork | None = None,
        source: str | None = None,
        threads: int | None = None,
        specialise: str | None = None,
        **settings: Any,
    ) -> None:
        refuse_world(RWAYieldRows.name, world, source)
        if episode_length is not None and "horizon" in settings:
            raise UsageError("both episode_length and horizon are given", "they mean the same: leave one out")
        if historical_data is not None and settings.get("data") is not None:
            raise UsageError("both historical_data and data are given", "leave one of them out")
        named = {
            "horizon": episode_length,
            "initial_capital": initial_capital,
            "rebalance_cost_bps": rebalance_cost_bps,
            "risk_free_rate": risk_free_rate,
            "reward_scaling": reward_scaling,
        }
        for name in settings:
            if name not in RWAConfig.model_fields and (near := did_you_mean(name, ("episode_length", SOURCE))):
                raise UsageError(f"this environment has no setting '{name}'", near)
        given = {name: value for name, value in named.items() if value is not None}
        settled = configured(RWAConfig, config, settings | given)
        market = None
        if historical_data is not None:
            market = market_of_arrays(historical_data, model=model_with(settled.market))
        super().__init__(RWAYieldRows(settled, 1, threads=threads, market=market), render_mode=render_mode)

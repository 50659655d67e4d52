"""Registry of environments by name, for the command line, gymnasium and both trainers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mayavi.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.gym_env.adapters.single import MayaviEnv
    from mayavi.gym_env.adapters.vector import MayaviVectorEnv
    from mayavi.gym_env.configuration import EnvConfig
    from mayavi.gym_env.rows import RowsEnv
    from mayavi.worlds.source import WorldSource


@dataclass(frozen=True, slots=True)
class Entry:
    """An environment: its name, its gymnasium id and its class."""

    name: str
    id: str
    home: str
    """`module:class` of its `RowsEnv`."""
    about: str

    def load(self) -> type[RowsEnv[Any]]:
        """Import the class."""
        module, _, name = self.home.partition(":")
        found: type[RowsEnv[Any]] = getattr(import_module(module), name)
        return found


_HERE = "mayavi.gym_env"
ENVS: dict[str, Entry] = {
    each.name: each
    for each in (
        Entry("aave", "mayavi/AaveBorrower-v0", f"{_HERE}.lending.aave_borrower:AaveBorrowerEnv",
              "a borrower on Aave V3 whose prices stand still: interest decides"),
        Entry("aave-shock", "mayavi/AaveBorrowerShock-v0", f"{_HERE}.lending.aave_borrower_shock:AaveBorrowerShockEnv",
              "a borrower on Aave V3 whose collateral follows price paths with shocks"),
        Entry("compound", "mayavi/CompoundV3Borrower-v0", f"{_HERE}.lending.compound_borrower:CompoundV3BorrowerEnv",
              "a borrower on Compound V3"),
        Entry("vesting", "mayavi/Vesting-v0", f"{_HERE}.vesting.env:VestingEnv",
              "a holder who sells what vests into Uniswap V3"),
        Entry("liquidator", "mayavi/AaveLiquidator-v0", f"{_HERE}.liquidator.env:AaveLiquidatorEnv",
              "a liquidator on Aave V3 who sells what it seizes on Uniswap V3"),
        Entry("rwa", "mayavi/RWAYield-v0", "mayavi.portfolio.env.env:RWAYieldEnv",
              "a portfolio of USDY, mETH and MI4, rebalanced hour by hour"),
    )
}  # fmt: skip

MULTI_AGENT: dict[str, Entry] = {
    "market": Entry("market", "", f"{_HERE}.market.rows:AaveMarketRows",
                    "borrowers against liquidators in one Aave market, for RLlib"),
}  # fmt: skip
"""Environments of several roles. They have no gymnasium id; `mayavi.gym_env.adapters.rllib` makes them."""


def entry(name: str) -> Entry:
    """Find an environment by name or gymnasium id; `UnknownName` with the nearest name if there is none."""
    known = ENVS | MULTI_AGENT
    for each in known.values():
        if name and name in {each.name, each.id}:
            return each
    ids = [each.id for each in known.values() if each.id]
    raise UnknownName.of("environment", name, [*known, *ids], f"there are {', '.join(known)}")


def make_rows(
    name: str,
    rows: int = 1,
    *,
    config: Mapping[str, object] | EnvConfig | None = None,
    world: WorldSource | Fork | None = None,
    source: str | None = None,
    threads: int | None = None,
    **settings: object,
) -> RowsEnv[Any]:
    """Make an environment with a batch of `rows` episodes; `settings` change single values of `config`.

    The world is `world`, or the one that `source` names: `replica` (the default), `snapshot:PATH` or `rpc`.
    """
    from mayavi.gym_env.chain_rows import ChainRowsEnv
    from mayavi.gym_env.configuration import configured
    from mayavi.worlds.source import WorldSource

    world = chosen_world(world, source)
    kind = entry(name).load()
    settled = configured(kind.config_type, config, settings)
    if issubclass(kind, ChainRowsEnv):
        return kind(settled, rows, world=world, threads=threads)
    if world is not None and world != WorldSource():
        raise UsageError(f"'{name}' stands on no chain, and so on no world", "leave the source out")
    return kind(settled, rows, threads=threads)


def check_single_agent(name: str) -> None:
    """Raise `UsageError` if an environment has several agents."""
    found = entry(name)
    if len(found.load().role_names) > 1:
        raise UsageError(
            f"'{name}' has several agents, which gymnasium and stable-baselines3 do not know",
            f"train it with RLlib: `mayavi train --env {found.name} --framework rllib`",
        )


def chosen_world(world: WorldSource | Fork | None, source: str | None) -> WorldSource | Fork | None:
    """Return `world`, or the world that `source` names."""
    from mayavi.worlds.source import WorldSource

    if source is None:
        return world
    if world is not None:
        raise UsageError("both a world and a source are given", "leave one of them out")
    return WorldSource.named(source)


def make_single(name: str, *, render_mode: str | None = None, **settings: Any) -> MayaviEnv:
    """Entry point of `gymnasium.make`."""
    from mayavi.gym_env.adapters.single import MayaviEnv

    check_single_agent(name)
    return MayaviEnv(make_rows(name, 1, **settings), render_mode=render_mode)


def make_vector(
    name: str,
    *,
    num_envs: int = 1,
    autoreset_mode: Any = "next_step",
    exact_info: bool = True,
    render_mode: str | None = None,
    resumable: bool = False,
    **settings: Any,
) -> MayaviVectorEnv:
    """Entry point of `gymnasium.make_vec(..., vectorization_mode="vector_entry_point")`.

    `resumable` keeps the actions of the episodes under way, so that `play.state()` can save them.
    """
    from mayavi.gym_env.adapters.vector import MayaviVectorEnv

    check_single_agent(name)
    rows = make_rows(name, num_envs, **settings)
    return MayaviVectorEnv(
        rows, autoreset_mode=autoreset_mode, exact_info=exact_info, render_mode=render_mode, resumable=resumable
    )

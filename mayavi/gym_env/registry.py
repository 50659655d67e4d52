"""Registry of environments by name, for the command line, gymnasium and both trainers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mayavi.errors import UnknownName, UsageError
from mayavi.gym_env.own_environments import (
    SCENARIO,
    OwnEnvironment,
    environment_plugins,
    find_own,
    tried_environments,
)

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.gym_env.adapters.single import MayaviEnv
    from mayavi.gym_env.adapters.vector import MayaviVectorEnv
    from mayavi.gym_env.configuration import EnvConfig
    from mayavi.gym_env.rows import RowsEnv
    from mayavi.plugins.entry_points import Plugin
    from mayavi.worlds.source import WorldSource


@dataclass(frozen=True, slots=True)
class Entry:
    """An environment: its name, its gymnasium id and its class."""

    name: str
    id: str
    home: str
    """`module:class` of its `RowsEnv`."""
    about: str
    single: str = ""
    """`module:class` of its `gymnasium.Env`; empty: `MayaviEnv`."""
    argument: str = ""
    """Setting that may follow the name: `scenario:FILE` sets `scenario`."""
    own: OwnEnvironment | None = None
    """The environment of another package that it stands for."""

    def load(self) -> type[RowsEnv[Any]]:
        """Import the class of its rows."""
        if self.own is not None:
            return self.own.load()
        found: type[RowsEnv[Any]] = _imported(self.home)
        return found

    def load_single(self) -> Callable[..., MayaviEnv]:
        """Import the class of a single environment, or return a function that makes one."""
        if self.single:
            found: Callable[..., MayaviEnv] = _imported(self.single)
            return found
        return partial(_plain_single, self.name)


def _plain_single(name: str, *, render_mode: str | None, **settings: Any) -> MayaviEnv:
    from mayavi.gym_env.adapters.single import MayaviEnv

    return MayaviEnv(make_rows(name, 1, **settings), render_mode=render_mode)


def _imported(home: str) -> Any:
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


_HERE = "mayavi.gym_env"
ENVS: dict[str, Entry] = {
    each.name: each
    for each in (
        Entry("aave", "mayavi/AaveBorrower-v0", f"{_HERE}.lending.aave_borrower:AaveBorrowerRows",
              "a borrower on Aave V3 with constant prices, where interest decides",
              f"{_HERE}.environments:AaveBorrowerEnv"),
        Entry("aave-shock", "mayavi/AaveBorrowerShock-v0", f"{_HERE}.lending.aave_borrower_shock:AaveBorrowerShockRows",
              "a borrower on Aave V3 whose collateral follows price paths with shocks",
              f"{_HERE}.environments:AaveBorrowerShockEnv"),
        Entry("compound", "mayavi/CompoundV3Borrower-v0", f"{_HERE}.lending.compound_borrower:CompoundV3BorrowerRows",
              "a borrower on Compound V3",
              f"{_HERE}.environments:CompoundV3BorrowerEnv"),
        Entry("vesting", "mayavi/Vesting-v0", f"{_HERE}.vesting.env:VestingRows",
              "a holder who sells what vests into Uniswap V3",
              f"{_HERE}.environments:VestingEnv"),
        Entry("liquidator", "mayavi/AaveLiquidator-v0", f"{_HERE}.liquidator.env:AaveLiquidatorRows",
              "a liquidator on Aave V3 who sells what it seizes on Uniswap V3",
              f"{_HERE}.environments:AaveLiquidatorEnv"),
        Entry("rwa", "mayavi/RWAYield-v0", "mayavi.portfolio.env.env:RWAYieldRows",
              "a portfolio of USDY, mETH and MI4, rebalanced hour by hour",
              "mayavi.portfolio.env.gymnasium_env:RWAYieldEnv"),
        Entry("scenario", "mayavi/Scenario-v0", "mayavi.scenario_env.rows:ScenarioRows",
              "one agent of any scenario",
              "mayavi.scenario_env.environment:ScenarioEnv", "scenario"),
    )
}  # fmt: skip

MULTI_AGENT: dict[str, Entry] = {
    "market": Entry("market", "", f"{_HERE}.market.rows:AaveMarketRows",
                    "borrowers against liquidators in one Aave market, for RLlib"),
}  # fmt: skip
"""Environments of several roles. They have no gymnasium id; `mayavi.gym_env.adapters.rllib` makes them."""


def entry(name: str) -> Entry:
    """Find an environment by name, `NAME:VALUE` or gymnasium id; `UnknownName` with the nearest name if none fits."""
    known = ENVS | MULTI_AGENT
    name = split_name(name)[0]
    for each in known.values():
        if name and name in {each.name, each.id}:
            return each
    if (own := find_own(name)) is not None:
        return _own_entry(own)
    ids = [each.id for each in known.values() if each.id]
    raise UnknownName.of("environment", name, [*known, *ids], f"there are {', '.join(known)}")


def _own_entry(own: OwnEnvironment) -> Entry:
    about = f"of {own.plugin.package}" if own.plugin else f"'{own.name}'"
    return Entry(own.name, own.id, own.home, about, own=own)


def plugin_entries() -> list[Entry]:
    """Return the environments of installed packages whose names are free, without importing any."""
    taken, found = {*ENVS, *MULTI_AGENT, *(each.id for each in ENVS.values())}, environment_plugins()
    names = Counter(each.name for each in found)
    return [_own_entry(each) for each in found if names[each.name] == 1 and not {each.name, each.id} & taken]


def installed_environments() -> list[Plugin]:
    """Return the environments of installed packages; those that cannot be used with the reason."""
    return tried_environments([*ENVS, *MULTI_AGENT])


def env_versions(name: str) -> dict[str, str]:
    """Return the version of an environment's code to record; empty for a built-in one."""
    own = None if name in ENVS or name.startswith(SCENARIO) else entry(name).own
    return {} if own is None else {f"environment {own.name}": str(own.provenance())}


def split_name(name: str) -> tuple[str, dict[str, object]]:
    """Split `scenario:FILE` into the name of the environment and the setting it gives; other names give none."""
    plain, colon, value = name.partition(":")
    if not colon or not (plain in ENVS and ENVS[plain].argument):
        return name, {}
    if not value:
        raise UsageError(f"'{name}' does not say which {plain}", f"name it: {plain}:FILE")
    return plain, {ENVS[plain].argument: value}


def make_rows(
    name: str,
    rows: int = 1,
    *,
    config: Mapping[str, object] | EnvConfig | None = None,
    world: WorldSource | Fork | str | None = None,
    source: str | None = None,
    threads: int | None = None,
    specialise: str | None = None,
    **settings: object,
) -> RowsEnv[Any]:
    """Make an environment with a batch of `rows` episodes; `settings` change single values of `config`.

    The world is `world`, or the one that `source` names: `replica` (the default), `snapshot:PATH` or `rpc`. A `world`
    given by name is one of `mayavi world list`, and decides the setting `chain`.
    `specialise` says whether transactions on a chain are replayed where their path is known: off, on or check.
    """
    from mayavi.gym_env.chain_rows import ChainRowsEnv
    from mayavi.gym_env.configuration import configured

    name, named = split_name(name)
    kind = entry(name).load()
    if isinstance(world, str):
        world, chain = named_world(world)
        settings = {"chain": chain, **settings} if kind.takes_world else settings
    settled = configured(kind.config_type, config, named | settings)
    if specialise is not None and issubclass(kind, ChainRowsEnv):
        return kind(settled, rows, world=chosen_world(world, source), threads=threads, specialise=specialise)
    if kind.takes_world:
        return kind(settled, rows, world=chosen_world(world, source), threads=threads)  # type: ignore[call-arg]
    refuse_world(name, world, source)
    return kind(settled, rows, threads=threads)


def named_world(name: str) -> tuple[WorldSource, str]:
    """Return the replica `name`, of a chain or of a market, and its chain."""
    from mayavi.worlds.source import WorldSource
    from mayavi.worlds.tables.paths import chain_names

    if name in chain_names():
        return WorldSource(chain=name), name
    found = WorldSource.of(world=name)
    return found, str(found.chain)


def refuse_world(name: str, world: WorldSource | Fork | str | None, source: str | None) -> None:
    """Raise `UsageError` if a world is given to an environment that stands on no chain."""
    from mayavi.worlds.source import WorldSource

    if isinstance(world, str) or chosen_world(world, source) not in (None, WorldSource()):
        raise UsageError(f"'{name}' stands on no chain, and so on no world", "leave the source out")


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
    from mayavi.evm.fork import Fork
    from mayavi.worlds.source import WorldSource

    if not isinstance(world, WorldSource | Fork | None):
        raise UsageError(
            f"the world is {world!r}, of type {type(world).__name__}", 'name one: world="ethereum@2025-12"'
        )
    if source is None:
        return world
    if world is not None:
        raise UsageError("both a world and a source are given", "leave one of them out")
    return WorldSource.named(source)


def make_single(name: str, *, render_mode: str | None = None, **settings: Any) -> MayaviEnv:
    """Entry point of `gymnasium.make`: the class of the environment, such as `AaveBorrowerEnv`."""
    check_single_agent(name)
    name, named = split_name(name)
    return entry(name).load_single()(render_mode=render_mode, **named | settings)


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

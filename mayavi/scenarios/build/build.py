"""From a checked scenario and a world to a simulation that is ready to run.

scenario = load_scenario("depeg_cascade", chain="base")
built = build(scenario.config, Fork.replica("base"), seed=7)
Runner(built.world, built.scheduler, steps=built.steps, kpis=built.kpis, …).run()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mayavi.agents.base import Agent
from mayavi.errors import BadScenario, BadSeries, ExecutionError, UsageError
from mayavi.scenarios.build.agents import Cast
from mayavi.scenarios.build.creation import Liquidity, create_pool, create_token, open_pool, provide
from mayavi.scenarios.build.pricing import draw_prices, opening_gaps_wad
from mayavi.scenarios.build.routes import pool_named
from mayavi.scenarios.models.agents import LaunchTrader, OracleShock
from mayavi.scenarios.models.config import PRICES, ScenarioConfig
from mayavi.scenarios.run.kpis import Figures, Tally
from mayavi.sim.rows import KpiRow

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.sim.market_snapshot import MarketSnapshotHook
    from mayavi.sim.scheduler import AgentBlock, Scheduler
    from mayavi.sim.world_state import WorldState

TRACED = 200
"""Populations of at most so many are recorded account by account after every step, larger ones before the first."""
FIGURED = 3
"""Where at most so many borrow, each has its health factor among the figures of the run."""


@dataclass(frozen=True, slots=True)
class Built:
    """A simulation ready to run: `steps` ticks of `scheduler`, and then `kpis(world)`."""

    world: WorldState
    scheduler: Scheduler
    steps: int
    kpis: Callable[[WorldState], Iterable[KpiRow]]


def build(config: ScenarioConfig, fork: Fork, seed: int | None = None, threads: int = 1) -> Built:
    """The simulation that `config` describes, on `fork`, which belongs to it from here on.

    Without a `seed` it is the scenario's own. `BadScenario` where the world does not have what the scenario names.
    """
    from mayavi.sim.scheduler import Scheduler
    from mayavi.sim.world_state import WorldState

    _check_chain(config, fork)
    chosen = config.seed if seed is None else seed
    step_blocks, step_seconds = pace(config)
    create(config, fork)
    prices = draw_prices(config, fork, seed=chosen, step_seconds=step_seconds)
    cast = Cast.of(config, fork, step_seconds, chosen)
    if prices is not None:
        posters = cast.price_poster()
        cast.agents |= {PRICES: posters} if posters else {}
    agents = [agent for group in cast.agents.values() for agent in group]
    world = WorldState(fork, agents, seed=chosen, prices=prices, threads=threads)
    market = _market(cast)
    tally = Tally(cast.sellers, cast.absorbers)
    scheduler = Scheduler(
        world,
        _blocks(config, cast.agents),
        ordering=config.ordering,
        step_blocks=step_blocks,
        base_fee_wei=config.gas.base_fee if config.gas.base_fee or config.gas.priority_fee else None,
        priority_fee_wei=config.gas.priority_fee,
        hooks=[tally, market],
        halt_on_exception=config.halt_on_exception,
    )
    traced = [account for lenders in cast.lenders.values() for account in lenders.accounts]
    assets = {(f"{_subject(each.market)}.{each.collateral}", each.collateral): None for each in cast.lenders.values()}
    kpis = Figures(
        tally,
        market,
        populations=list(cast.lenders),
        traced=traced if len(traced) <= FIGURED else [],
        pools=cast.pools,
        curve_pools=cast.curve_pools,
        assets=list(assets),
        following=_following(config, cast.pools),
        oracles=_oracles(cast),
        borrowers={name: cast.agents[name][0] for name in cast.lenders if name in cast.agents},
        opening_gaps=opening_gaps_wad(config, fork, prices),
    )
    return Built(world, scheduler, config.steps, kpis)


def _subject(market: str) -> str:
    """What figures call a market."""
    return market if market in ("AaveV3", "Spark") else f"CompoundV3.{market}"


def _oracles(cast: Cast) -> dict[str, str]:
    """Where the lending markets' prices of what is borrowed and put up are to be found among the figures."""
    found: dict[str, str] = {}
    for each in cast.lenders.values():
        subject = _subject(each.market)
        found.setdefault(each.collateral, f"{subject}.{each.collateral}")
        found.setdefault(each.debt, f"{subject}.{each.debt}" if subject == each.market else subject)
    return found


def _following(config: ScenarioConfig, pools: Iterable[str]) -> list[str]:
    """The pools that trade what has a price outside: how they move is not their own doing."""
    outside = {*config.prices, *(each.asset for each in config.agents.values() if isinstance(each, OracleShock))}
    found = []
    for pool in pools:
        base, _, quote = pool.rpartition(".")[0].partition("/")
        if base in outside or (quote in outside and base not in config.tokens):
            found.append(pool)
    return found


def pace(config: ScenarioConfig) -> tuple[int, int]:
    """How many blocks a step takes, and how many seconds."""
    from mayavi.evm.chains import chain

    each = chain(config.chain).block_seconds
    wanted = config.step_blocks or max(1, (config.step_time or 0) // each)
    blocks = max(wanted, _block_count(config))  # each block of agents is one of the chain
    return blocks, blocks * each


def _block_count(config: ScenarioConfig) -> int:
    posts = any(symbol not in config.tokens for symbol in config.prices)
    if config.blocks is None:
        return 1 + (posts or any(isinstance(each, OracleShock) for each in config.agents.values()))
    placed = any(PRICES in members for members in config.blocks.values())
    return len(config.blocks) + (posts and not placed)


def create(config: ScenarioConfig, fork: Fork) -> None:
    """The tokens and pools of the scenario's own."""
    try:
        for symbol, token in config.tokens.items():
            create_token(fork, symbol, token)
        for name, pool in config.pools.items():
            create_pool(fork, name, pool)
        for name, model in config.agents.items():
            if isinstance(model, LaunchTrader):
                _launch_pool(fork, name, model)
    except (BadScenario, BadSeries):
        raise
    except (UsageError, ExecutionError) as error:
        raise BadScenario(f"what '{config.name}' creates cannot be: {error.message}", error.hint) from error


def _launch_pool(fork: Fork, name: str, model: LaunchTrader) -> None:
    from mayavi.scenarios.models.launch_record import read_launch

    record = read_launch(model.data or "", f"agents.{name}")
    token, quote = model.pool.rpartition(".")[0].split("/")
    pool = open_pool(fork, model.pool, record.price)
    for entry in record.liquidity:
        amounts = {token: entry.token, quote: entry.quote}
        given = {symbol: amount * model.liquidity_factor for symbol, amount in amounts.items() if amount}
        provide(fork, pool, Liquidity(f"{name}-{entry.account}", token, given, entry.low, entry.high))


def _check_chain(config: ScenarioConfig, fork: Fork) -> None:
    from mayavi.evm.chains import chain

    expected = chain(config.chain)
    if expected.chain_id != fork.chain_id:
        raise UsageError(
            f"'{config.name}' is set on {config.chain}, and this world is chain {fork.chain_id}",
            f'`Fork.replica("{config.chain}")` is one of {config.chain}',
        )


def _blocks(config: ScenarioConfig, agents: dict[str, list[Agent]]) -> list[AgentBlock]:
    """Who acts together: as the scenario says, by default whoever moves oracles first, then everybody else."""
    from mayavi.sim.scheduler import AgentBlock

    if config.blocks is not None:
        placed = {name for members in config.blocks.values() for name in members}
        blocks = [
            AgentBlock(block, [agent for name in members for agent in agents.get(name, [])])
            for block, members in config.blocks.items()
        ]
        if PRICES in agents and PRICES not in placed:
            blocks.insert(0, AgentBlock("oracle", agents[PRICES]))
        return [block for block in blocks if block.agents]
    oracles = [name for name in agents if name == PRICES or isinstance(config.agents.get(name), OracleShock)]
    first = [agent for name in oracles for agent in agents[name]]
    rest = [agent for name, group in agents.items() if name not in oracles for agent in group]
    return [AgentBlock(name, group) for name, group in (("oracle", first), ("market", rest)) if group]


def _market(cast: Cast) -> MarketSnapshotHook:
    """What is read of the market after every step: all that the agents have to do with."""
    from mayavi.protocols.aave.market import AaveV3
    from mayavi.protocols.aave.spark import SparkLend
    from mayavi.protocols.compound.market import CompoundV3
    from mayavi.protocols.curve.pool import CurveStableSwap
    from mayavi.sim.market_figures import (
        AaveFigures,
        CompoundFigures,
        CurveFigures,
        OutsidePrices,
        PopulationFigures,
        UniswapFigures,
    )
    from mayavi.sim.market_snapshot import MarketSnapshotHook

    fork, config = cast.fork, cast.config
    readers: list[Any] = []
    for market in sorted({lenders.market for lenders in cast.lenders.values()}):
        own = [lenders for lenders in cast.lenders.values() if lenders.market == market]
        if market in (AaveV3.prefix, SparkLend.prefix):
            aave = AaveV3(fork) if market == AaveV3.prefix else SparkLend(fork)
            assets = sorted({asset for each in own for asset in (each.collateral, each.debt)})
            readers.append(AaveFigures(aave, [*assets, *(each for each in config.watch.assets if each not in assets)]))
        else:
            readers.append(CompoundFigures(CompoundV3(fork, market), sorted({each.collateral for each in own})))
    if not readers and AaveV3.prefix + ".Pool" in fork.labels and config.watch.assets:
        readers.append(AaveFigures(AaveV3(fork), config.watch.assets))
    for name, lenders in cast.lenders.items():
        kind: Any = {AaveV3.prefix: AaveV3, SparkLend.prefix: SparkLend}.get(lenders.market)
        adapter = kind(fork) if kind else CompoundV3(fork, lenders.market)
        traced = lenders.accounts if len(lenders.accounts) <= TRACED else ()
        readers.append(PopulationFigures(name, adapter, lenders.accounts, traced))
    for pool in dict.fromkeys([*cast.pools, *config.watch.pools]):
        readers.append(UniswapFigures(pool_named(fork, pool), pool.partition("/")[0]))
    readers += [CurveFigures(CurveStableSwap(fork, pool)) for pool in cast.curve_pools]
    if config.prices:
        readers.append(OutsidePrices(sorted(config.prices)))
    return MarketSnapshotHook(readers)

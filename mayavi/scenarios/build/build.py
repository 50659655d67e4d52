"""Build a simulation from a checked scenario and a world.

```python
scenario = load_scenario("depeg_cascade", chain="base")
built = build(scenario.config, Fork.replica("base"), seed=7)
built.runner(recorder, info).run()
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from mayavi.agents.base import Agent
from mayavi.errors import BadScenario, BadSeries, ExecutionError, UsageError
from mayavi.scenarios.build.agents.members import build_agents
from mayavi.scenarios.build.agents.oracle import build_price_posters
from mayavi.scenarios.build.chain.creation import Liquidity, create_pool, create_token, open_pool, provide
from mayavi.scenarios.build.chain.lending_markets import (
    has_aave,
    market_name,
    market_reader,
    open_market,
    price_subject,
)
from mayavi.scenarios.build.chain.morpho import create_morpho, vault_readers
from mayavi.scenarios.build.chain.new_markets import create_aave_v2, create_curve_pool, list_on_aave_v3
from mayavi.scenarios.build.chain.own_protocols import deploy_protocols, protocol_readers
from mayavi.scenarios.build.chain.parameters import build_governance, set_parameters
from mayavi.scenarios.build.chain.pool_depth import scale_pools
from mayavi.scenarios.build.chain.routes import pool_named
from mayavi.scenarios.build.portion import Portion
from mayavi.scenarios.build.portion import pace as pace
from mayavi.scenarios.build.pricing import opening_gaps_wad
from mayavi.scenarios.figures.accounts import FinalAccounts
from mayavi.scenarios.figures.coarseness import LargestFall, largest_falls
from mayavi.scenarios.figures.kpis import ScenarioKpis
from mayavi.scenarios.figures.tally import ScenarioTally
from mayavi.scenarios.models.agents.oracle import OracleShock
from mayavi.scenarios.models.agents.trading import LaunchTrader
from mayavi.scenarios.models.config import GOVERNANCE, PRICES, ScenarioConfig
from mayavi.sim.rows import KpiRow

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork
    from mayavi.scenarios.build.agents.agent_set import AgentSet
    from mayavi.sim.agent_blocks import AgentBlock
    from mayavi.sim.market_figures import Reader
    from mayavi.sim.market_snapshot import MarketSnapshotHook
    from mayavi.sim.rows import Recorder, RunInfo
    from mayavi.sim.runner import Runner
    from mayavi.sim.scheduler import Scheduler
    from mayavi.sim.world_state import WorldState

TRACED_ACCOUNTS = 200
"""Populations up to this size are recorded account by account after every step, larger ones before the first."""
KPI_ACCOUNTS = 3
"""With up to this many borrowing accounts, the health factor of each is a KPI."""


@dataclass(frozen=True, slots=True)
class Built:
    """A simulation ready to run: by its `runner`, or by `scheduler.tick()` for each of `steps`, then `kpis(world)`."""

    world: WorldState
    scheduler: Scheduler
    steps: int
    kpis: Callable[[WorldState], Iterable[KpiRow]]
    tally: ScenarioTally
    snapshots: MarketSnapshotHook
    accounts: FinalAccounts

    def runner(self, recorder: Recorder, info: RunInfo, replayed: Callable[[], dict[str, Any]] | None = None) -> Runner:
        """Return the runner that executes the simulation as the run `info` and writes its rows to `recorder`.

        `replayed` returns what was replayed, for the record.
        """
        from mayavi.sim.runner import Runner

        return Runner(
            self.world,
            self.scheduler,
            steps=self.steps,
            recorder=recorder,
            info=info,
            kpis=self.kpis,
            accounts=self.accounts,
            replayed=replayed,
        )


def set_up(config: ScenarioConfig, fork: Fork) -> None:
    """Make the changes to `fork` that all seeds share: created tokens and pools, scaled pools, parameters."""
    _check_chain(config, fork)
    create(config, fork)
    scale_pools(config, fork)
    set_parameters(config, fork)


def build(
    config: ScenarioConfig,
    fork: Fork,
    seed: int | None = None,
    threads: int = 1,
    *,
    is_set_up: bool = False,
    portion: Portion | None = None,
) -> Built:
    """Build the simulation that `config` describes on `fork`, which the simulation changes.

    `seed` defaults to the scenario's own; `is_set_up`: `set_up` changed `fork` already. `portion` are the runs that it
    is one of. Raises `BadScenario` where the world lacks what the scenario names.
    """
    from mayavi.sim.scheduler import Scheduler
    from mayavi.sim.world_state import WorldState

    if not is_set_up:
        set_up(config, fork)
    chosen = config.seed if seed is None else seed
    portion = portion or Portion(config, [chosen])
    prices = portion.prices(fork, chosen)
    agents = build_agents(portion, fork, chosen)
    if prices is not None and (posters := build_price_posters(agents)):
        agents.agents[PRICES] = posters
    if governance := build_governance(config, fork):
        agents.agents[GOVERNANCE] = governance
    everyone = [agent for group in agents.agents.values() for agent in group]
    world = WorldState(fork, everyone, seed=chosen, prices=prices, threads=threads)
    snapshots = _snapshot_hook(agents)
    tally = ScenarioTally(agents.sellers, agents.absorbers)
    accounts = _final_accounts(agents, tally, snapshots)
    scheduler = Scheduler(
        world,
        _blocks(config, agents.agents),
        ordering=config.ordering,
        step_blocks=portion.step_blocks,
        base_fee_wei=config.gas.base_fee if config.gas.base_fee or config.gas.priority_fee else None,
        priority_fee_wei=config.gas.priority_fee,
        hooks=[snapshots, accounts],
        halt_on_exception=config.halt_on_exception,
        tally=tally,
    )
    limits = partial(agents.limits.counts, scheduler, tally)
    collaterals = dict.fromkeys(asset for group in agents.borrower_groups.values() for asset in group.collaterals)
    falls = largest_falls(config, prices, collaterals if agents.limits.liquidators else (), portion.step_seconds)
    kpis = _kpis(agents, tally, snapshots, opening_gaps_wad(config, fork, prices), limits, falls)
    return Built(world, scheduler, config.steps, kpis, tally, snapshots, accounts)


def _final_accounts(agents: AgentSet, tally: ScenarioTally, snapshots: MarketSnapshotHook) -> FinalAccounts:
    from mayavi.sim.population_figures import PopulationFigures

    figures = {each.name: each for each in snapshots.readers if isinstance(each, PopulationFigures)}
    last = agents.config.steps - 1
    markets = {name: group.market for name, group in agents.borrower_groups.items()}
    return FinalAccounts(last, markets, figures, tally, agents.limits.liquidators)


def _kpis(
    agents: AgentSet,
    tally: ScenarioTally,
    snapshots: MarketSnapshotHook,
    opening_gaps: dict[str, int],
    limits: Callable[[], Iterable[tuple[str, int]]],
    falls: Mapping[str, LargestFall],
) -> ScenarioKpis:
    groups = agents.borrower_groups
    accounts = [account for group in groups.values() for account in group.accounts]
    assets = {
        (price_subject(each.market, asset), asset): None for each in groups.values() for asset in each.collaterals
    }
    return ScenarioKpis(
        tally,
        snapshots,
        populations=list(groups),
        traced=accounts if len(accounts) <= KPI_ACCOUNTS else [],
        pools=agents.pools,
        curve_pools=agents.curve_pools,
        assets=list(assets),
        following=_following(agents.config, agents.pools),
        oracles=_oracle_subjects(agents),
        borrowers={name: agents.agents[name][0] for name in groups if name in agents.agents},
        opening_gaps=opening_gaps,
        limits=limits,
        falls=falls,
        priced=agents.config.prices,
    )


def _oracle_subjects(agents: AgentSet) -> dict[str, str]:
    """Return, by token, the subject of the figure that is a lending market's price of it."""
    found: dict[str, str] = {}
    for group in agents.borrower_groups.values():
        for asset in group.collaterals:
            found.setdefault(asset, price_subject(group.market, asset))
        for asset in group.debts:
            found.setdefault(asset, price_subject(group.market, asset, is_debt=True))
    return found


def _following(config: ScenarioConfig, pools: Iterable[str]) -> list[str]:
    """Return the pools whose tokens have a reference price, so that trades do not cause their price changes."""
    outside = {*config.prices, *(each.asset for each in config.agents.values() if isinstance(each, OracleShock))}
    found = []
    for pool in pools:
        base, _, quote = pool.rpartition(".")[0].partition("/")
        if base in outside or (quote in outside and base not in config.tokens):
            found.append(pool)
    return found


def create(config: ScenarioConfig, fork: Fork) -> None:
    """Create the tokens, pools and markets that the scenario adds to the chain."""
    try:
        for symbol, token in config.tokens.items():
            create_token(fork, symbol, token)
        for name, pool in config.pools.items():
            create_pool(fork, name, pool)
        for name, curve_pool in config.curve_pools.items():
            create_curve_pool(fork, name, curve_pool)
        if config.uniswap_v4_pools or config.pendle_markets:
            _create_exchanges(config, fork)
        if config.aave_v3:
            list_on_aave_v3(fork, config.aave_v3)
        if config.aave_v2:
            create_aave_v2(fork, config.aave_v2)
        if config.morpho is not None:
            create_morpho(fork, config.morpho)
        for name, model in config.agents.items():
            if isinstance(model, LaunchTrader):
                _launch_pool(fork, name, model)
        if config.contracts:
            from mayavi.scenarios.build.chain.own_contracts import deploy_contracts

            deploy_contracts(config, fork)
        deploy_protocols(config, fork)
    except (BadScenario, BadSeries):
        raise
    except (UsageError, ExecutionError) as error:
        raise BadScenario(f"'{config.name}' cannot create its tokens and pools: {error.message}", error.hint) from error


def _create_exchanges(config: ScenarioConfig, fork: Fork) -> None:
    from mayavi.scenarios.build.chain.new_exchanges import create_pendle_pt, create_v4_pool

    for name, pool in config.uniswap_v4_pools.items():
        create_v4_pool(fork, name, pool)
    for name, market in config.pendle_markets.items():
        create_pendle_pt(fork, name, market)


def _launch_pool(fork: Fork, name: str, model: LaunchTrader) -> None:
    from mayavi.scenarios.models.agents.launch_record import read_launch

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
            f"'{config.name}' runs on {config.chain}, and this world is chain {fork.chain_id}",
            f'`Fork.replica("{config.chain}")` is one of {config.chain}',
        )


def _blocks(config: ScenarioConfig, agents: dict[str, list[Agent]]) -> list[AgentBlock]:
    """Return the agent blocks of a step: the scenario's `blocks`, by default oracles first, then all other agents."""
    from mayavi.sim.agent_blocks import AgentBlock

    if config.blocks is not None:
        placed = {name for members in config.blocks.values() for name in members}
        blocks = [
            AgentBlock(block, [agent for name in members for agent in agents.get(name, [])])
            for block, members in config.blocks.items()
        ]
        if PRICES in agents and PRICES not in placed:
            blocks.insert(0, AgentBlock("oracle", agents[PRICES]))
        if GOVERNANCE in agents and GOVERNANCE not in placed:
            blocks.insert(0, AgentBlock(GOVERNANCE, agents[GOVERNANCE]))
        return [block for block in blocks if block.agents]
    oracles = [
        name for name in agents if name in (PRICES, GOVERNANCE) or isinstance(config.agents.get(name), OracleShock)
    ]
    first = [agent for name in oracles for agent in agents[name]]
    rest = [agent for name, group in agents.items() if name not in oracles for agent in group]
    return [AgentBlock(name, group) for name, group in (("oracle", first), ("market", rest)) if group]


def _snapshot_hook(agents: AgentSet) -> MarketSnapshotHook:
    """Return the hook that records the lending markets, accounts and pools that agents use, and those of `watch`."""
    from mayavi.sim.market_figures import CurveFigures, OutsidePrices, UniswapFigures
    from mayavi.sim.market_snapshot import MarketSnapshotHook
    from mayavi.sim.population_figures import PopulationFigures

    fork, config, groups = agents.fork, agents.config, agents.borrower_groups
    readers: list[Reader] = []
    markets = {name: open_market(fork, name) for name in sorted({group.market for group in groups.values()})}
    for market, opened in markets.items():
        own = [group for group in groups.values() if group.market == market]
        readers.append(market_reader(opened, own, config.watch.assets))
    if not readers and has_aave(fork) and config.watch.assets:
        readers.append(market_reader(open_market(fork, market_name("aave_v3")), (), config.watch.assets))
    for name, group in groups.items():
        traced = group.accounts if len(group.accounts) <= TRACED_ACCOUNTS else ()
        readers.append(PopulationFigures(name, markets[group.market], group.accounts, traced))
    for pool in dict.fromkeys([*agents.pools, *config.watch.pools]):
        readers.append(UniswapFigures(pool_named(fork, pool), pool.partition("/")[0]))
    if agents.curve_pools:
        from mayavi.protocols.curve.pool import CurveStableSwap

        readers += [CurveFigures(CurveStableSwap(fork, pool)) for pool in agents.curve_pools]
    if config.contracts:
        from mayavi.scenarios.build.chain.own_contracts import contract_readers

        readers += contract_readers(config)
    readers += protocol_readers(config)
    readers += vault_readers(fork, config.morpho)
    if config.prices:
        readers.append(OutsidePrices(sorted(config.prices)))
    return MarketSnapshotHook(readers, every=config.watch.every, last=config.steps - 1)

"""Build the replica of a chain from its table: the same steps in the same order on every machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mayavi.evm.address import checksum, to_address
from mayavi.evm.fork import Fork
from mayavi.worlds.artifacts import ArtifactStore
from mayavi.worlds.deploy.aave import close_reserve, deploy_aave
from mayavi.worlds.deploy.aave_market import fill_aave
from mayavi.worlds.deploy.aave_v36 import deploy_market, fill_market
from mayavi.worlds.deploy.compound import deploy_compound
from mayavi.worlds.deploy.curve import deploy_curve
from mayavi.worlds.deploy.deployment import MARKET, Deployment
from mayavi.worlds.deploy.feeds import deploy_feeds
from mayavi.worlds.deploy.tokens import deploy_tokens
from mayavi.worlds.deploy.uniswap import create_pool, deploy_uniswap
from mayavi.worlds.labels import chain_labels
from mayavi.worlds.tables.chain import Aave, ChainTable
from mayavi.worlds.tables.market import MarketTable

Progress = Callable[[str, int, int], None]
"""Called with the current step, the number of finished steps and their total."""
Step = tuple[str, Callable[[], None]]


def build_replica(
    table: ChainTable | MarketTable, artifacts: ArtifactStore | None = None, progress: Progress | None = None
) -> Fork:
    """Deploy everything in `table` on an empty chain; the fork is at the table's block."""
    fork = _empty_chain(table)
    deployment = Deployment(fork, artifacts)
    steps = _market_steps(deployment, table) if isinstance(table, MarketTable) else _chain_steps(deployment, table)
    for done, (what, step) in enumerate(steps):
        if progress:
            progress(what, done, len(steps))
        step()
    if progress:
        progress("done", len(steps), len(steps))
    fork.labels = _labels(table, deployment)
    return fork


def _market_steps(deployment: Deployment, table: MarketTable) -> list[Step]:
    market = table.aave
    fill = partial(fill_market, deployment, market, table.tokens, holder=MARKET)
    return [
        *_token_steps(deployment, table),
        (f"Aave V3.6 with {len(market.reserves)} reserves", partial(deploy_market, deployment, market, table.feeds)),
        (f"Aave V3.6 liquidity and {len(market.emodes)} eModes", fill),
    ]


def _token_steps(deployment: Deployment, table: ChainTable | MarketTable) -> list[Step]:
    feeds = partial(deploy_feeds, deployment, table.feeds, timestamp=table.block.timestamp)
    return [
        (f"{len(table.tokens)} tokens", partial(deploy_tokens, deployment, table.tokens)),
        (f"{len(table.feeds)} price feeds", feeds),
    ]


def _chain_steps(deployment: Deployment, table: ChainTable) -> list[Step]:
    uniswap = table.uniswap

    def lending_contracts(prefix: str, market: Aave) -> None:
        admin, treasury = to_address(market.addresses.acl_admin), to_address(market.addresses.treasury)
        deploy_aave(deployment, market, table.feeds, admin=admin, treasury=treasury, prefix=prefix)

    def lending_liquidity(prefix: str, market: Aave) -> None:
        fill_aave(deployment, market, table.tokens, holder=MARKET, prefix=prefix)
        for reserve in market.reserves:
            close_reserve(deployment, reserve, admin=to_address(market.addresses.acl_admin), prefix=prefix)

    def uniswap_contracts() -> None:
        deploy_uniswap(deployment, uniswap, wrapped_native=table.wrapped_native, native=table.native)

    def uniswap_pools() -> None:
        for pool in uniswap.pools:
            create_pool(deployment, uniswap, pool, table.tokens, holder=MARKET)

    steps = _token_steps(deployment, table)
    for prefix, market in table.lending_markets.items():
        steps.append((f"{prefix} with {len(market.reserves)} reserves", partial(lending_contracts, prefix, market)))
        steps.append((f"{prefix} liquidity", partial(lending_liquidity, prefix, market)))
    steps += [
        ("Uniswap V3", uniswap_contracts),
        (f"{len(uniswap.pools)} Uniswap V3 pools", uniswap_pools),
    ]
    if compound := table.compound:
        build = partial(deploy_compound, deployment, compound, table.tokens, holder=MARKET)
        steps.append((f"{len(compound.markets)} Compound V3 markets", build))
    if curve := table.curve:
        build = partial(deploy_curve, deployment, curve, table.tokens, holder=MARKET)
        steps.append((f"{len(curve.pools)} Curve pools", build))
    return steps


def _empty_chain(table: ChainTable | MarketTable) -> Fork:
    fork = Fork.empty(chain_id=table.chain_id, hardfork=table.hardfork)
    block = table.block
    fork.set_block(
        number=block.number, timestamp=block.timestamp, gas_limit=block.gas_limit, base_fee=block.base_fee_wei
    )
    fork.source = {"kind": "replica", "chain": table.chain, "chain_id": table.chain_id, "title": table.title}
    if isinstance(table, MarketTable):
        fork.source["world"] = table.world
    return fork


def _labels(table: ChainTable | MarketTable, deployment: Deployment) -> dict[str, str]:
    ours = {"Mayavi.Deployer": checksum(deployment.deployer), "Mayavi.Market": checksum(MARKET)}
    found = {**deployment.checksummed_labels(), **chain_labels(table), **ours}
    return {label: found[label] for label in sorted(found)}

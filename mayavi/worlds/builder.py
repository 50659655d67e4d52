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
from mayavi.worlds.tables.chain import Aave, ChainTable, Uniswap
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
    steps = _steps(deployment, table)
    for done, (what, step) in enumerate(steps):
        if progress:
            progress(what, done, len(steps))
        step()
    if progress:
        progress("done", len(steps), len(steps))
    fork.labels = _labels(table, deployment)
    return fork


def _steps(deployment: Deployment, table: ChainTable | MarketTable) -> list[Step]:
    """Steps of the build, in order."""
    feeds = partial(deploy_feeds, deployment, table.feeds, timestamp=table.block.timestamp)
    steps: list[Step] = [
        (f"{len(table.tokens)} tokens", partial(deploy_tokens, deployment, table.tokens)),
        (f"{len(table.feeds)} price feeds", feeds),
    ]
    if isinstance(table, MarketTable):
        v36, fill = table.aave, partial(fill_market, deployment, table.aave, table.tokens, holder=MARKET)
        steps.append(
            (f"Aave V3.6 with {len(v36.reserves)} reserves", partial(deploy_market, deployment, v36, table.feeds))
        )
        steps.append((f"Aave V3.6 liquidity and {len(v36.emodes)} efficiency modes", fill))
    for prefix, market in table.lending_markets.items():
        steps += _lending_steps(deployment, table, prefix, market)
    if table.uniswap:
        steps += _uniswap_steps(deployment, table, table.uniswap)
    if compound := table.compound:
        build = partial(deploy_compound, deployment, compound, table.tokens, holder=MARKET)
        steps.append((f"{len(compound.markets)} Compound V3 markets", build))
    if curve := table.curve:
        build = partial(deploy_curve, deployment, curve, table.tokens, holder=MARKET)
        steps.append((f"{len(curve.pools)} Curve pools", build))
    return steps


def _lending_steps(deployment: Deployment, table: ChainTable | MarketTable, prefix: str, market: Aave) -> list[Step]:
    admin, treasury = to_address(market.addresses.acl_admin), to_address(market.addresses.treasury)

    def contracts() -> None:
        deploy_aave(deployment, market, table.feeds, admin=admin, treasury=treasury, prefix=prefix)

    def liquidity() -> None:
        fill_aave(deployment, market, table.tokens, holder=MARKET, prefix=prefix)
        for reserve in market.reserves:
            close_reserve(deployment, reserve, admin=admin, prefix=prefix)

    return [(f"{prefix} with {len(market.reserves)} reserves", contracts), (f"{prefix} liquidity", liquidity)]


def _uniswap_steps(deployment: Deployment, table: ChainTable | MarketTable, uniswap: Uniswap) -> list[Step]:
    wrapped = table.wrapped_native
    assert wrapped is not None, f"{table.title}: Uniswap needs a wrapped native token"

    def pools() -> None:
        for pool in uniswap.pools:
            create_pool(deployment, uniswap, pool, table.tokens, holder=MARKET)

    contracts = partial(deploy_uniswap, deployment, uniswap, wrapped_native=wrapped, native=table.native)
    return [("Uniswap V3", contracts), (f"{len(uniswap.pools)} Uniswap V3 pools", pools)]


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

"""Builds the replica of a chain from its table: the same steps, in the same order, on every machine."""

from __future__ import annotations

from collections.abc import Callable

from mayavi.evm.address import checksum, to_address
from mayavi.evm.fork import Fork
from mayavi.worlds.aave import close_reserve, deploy_aave
from mayavi.worlds.aave_market import fill_aave
from mayavi.worlds.artifacts import ArtifactStore
from mayavi.worlds.deployment import MARKET, Deployment
from mayavi.worlds.feeds import deploy_feeds
from mayavi.worlds.labels import chain_labels
from mayavi.worlds.table import ChainTable
from mayavi.worlds.tokens import deploy_tokens
from mayavi.worlds.uniswap import create_pool, deploy_uniswap

Progress = Callable[[str, int, int], None]
"""Told what is being done, how many steps are done and how many there are."""


def build_replica(table: ChainTable, artifacts: ArtifactStore | None = None, progress: Progress | None = None) -> Fork:
    """A fork with everything `table` names on it, standing at the table's block."""
    fork = _empty_chain(table)
    deployment = Deployment(fork, artifacts)
    aave, uniswap = table.aave, table.uniswap
    admin = to_address(aave.addresses.acl_admin)
    treasury = to_address(aave.addresses.treasury)

    def aave_contracts() -> None:
        deploy_aave(deployment, aave, table.feeds, admin=admin, treasury=treasury)

    def aave_liquidity() -> None:
        fill_aave(deployment, aave, table.tokens, holder=MARKET)
        for reserve in aave.reserves:
            close_reserve(deployment, reserve, admin=admin)

    def uniswap_contracts() -> None:
        deploy_uniswap(deployment, uniswap, wrapped_native=table.wrapped_native, native=table.native)

    def uniswap_pools() -> None:
        for pool in uniswap.pools:
            create_pool(deployment, uniswap, pool, table.tokens, holder=MARKET)

    steps: list[tuple[str, Callable[[], None]]] = [
        (f"{len(table.tokens)} tokens", lambda: deploy_tokens(deployment, table.tokens)),
        (
            f"{len(table.feeds)} price feeds",
            lambda: deploy_feeds(deployment, table.feeds, timestamp=table.block.timestamp),
        ),
        (f"Aave V3 with {len(aave.reserves)} reserves", aave_contracts),
        ("Aave V3 liquidity", aave_liquidity),
        ("Uniswap V3", uniswap_contracts),
        (f"{len(uniswap.pools)} Uniswap V3 pools", uniswap_pools),
    ]
    for done, (what, step) in enumerate(steps):
        if progress:
            progress(what, done, len(steps))
        step()
    if progress:
        progress("done", len(steps), len(steps))
    fork.labels = _labels(table, deployment)
    return fork


def _empty_chain(table: ChainTable) -> Fork:
    fork = Fork.empty(chain_id=table.chain_id, hardfork=table.hardfork)
    block = table.block
    fork.set_block(
        number=block.number, timestamp=block.timestamp, gas_limit=block.gas_limit, base_fee=block.base_fee_wei
    )
    fork.source = {"kind": "replica", "chain": table.chain, "chain_id": table.chain_id, "title": table.title}
    return fork


def _labels(table: ChainTable, deployment: Deployment) -> dict[str, str]:
    ours = {"Mayavi.Deployer": checksum(deployment.deployer), "Mayavi.Market": checksum(MARKET)}
    found = {**deployment.checksummed_labels(), **chain_labels(table), **ours}
    return {label: found[label] for label in sorted(found)}

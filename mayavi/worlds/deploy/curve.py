"""Deploy Curve StableSwap pools of our own code at their real addresses, with liquidity.

Curve's code is on no package registry. `StableSwap3.vy` and `StableSwap2.vy` of `worlds/contracts/vyper` are written
from its documentation and compared with the 3pool's bytecode by tests/contracts/test_stableswap_against_mainnet.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from mayavi.evm.address import checksum, to_address
from mayavi.worlds.deploy.deployment import Deployment
from mayavi.worlds.deploy.tokens import fund
from mayavi.worlds.tables.chain import Difference, Token
from mayavi.worlds.tables.curve import Curve, CurvePool

CURVE_DIFFERENCES = (
    Difference(
        "Curve code",
        "our own StableSwap, written from its documentation and tested against the 3pool's bytecode. It replaces "
        "later pools too: fraxusdc on the real chain stores A with two more digits, returns amounts from its "
        "functions and names its LP token. No gauges, registry, router or zaps; the owner has no code. "
        "Amounts and events are the same, gas and revert texts are not",
    ),
    Difference(
        "Curve liquidity",
        "the balances are assumptions; one account deposited them and holds all LP tokens, so the virtual price "
        "starts at 1 and there are no admin fees to collect. The period in which a pool may be killed has passed",
    ),
)

_KILLABLE_UNTIL = 0
"""Pools can be killed in their first two months; those of a replica are older."""


def pool_label(pool: CurvePool) -> str:
    """Return the label of a pool: `Curve.3pool`."""
    return f"Curve.{pool.name}"


def curve_labels(curve: Curve) -> dict[str, str]:
    """Return the labels of pools and LP tokens with checksummed addresses."""
    found = {pool_label(pool): pool.address for pool in curve.pools}
    found |= {f"{pool_label(pool)}.LP": pool.lp_token for pool in curve.pools}
    return {label: checksum(address) for label, address in found.items()}


def describe_curve(curve: Curve) -> str:
    """Describe the pools in one line, for `mayavi world info`."""
    pools = (f"{pool.name} ({'/'.join(pool.coins)})" for pool in curve.pools)
    return f"Curve: {', '.join(pools)}"


def deploy_curve(deployment: Deployment, curve: Curve, tokens: Mapping[str, Token], *, holder: bytes) -> None:
    """Deploy every pool with its LP token; `holder` deposits the balances and holds all LP tokens."""
    for pool in curve.pools:
        create_pool(deployment, pool)
        _fill(deployment, pool, tokens, holder)


def create_pool(deployment: Deployment, pool: CurvePool) -> None:
    """Deploy one empty pool and its LP token."""
    label, n = pool_label(pool), len(pool.coins)
    lp_token = deployment.place(
        f"{label}.LP", "CurveLpToken", pool.lp_name, pool.lp_symbol, deployment.deployer, at=pool.lp_token
    )
    address = deployment.place(
        label,
        f"StableSwap{n}",
        to_address(pool.owner),
        deployment.addresses(pool.coins),
        lp_token,
        pool.a,
        pool.fee_e10,
        pool.admin_fee_e10,
        n if pool.measured_coin is None else pool.coins.index(pool.measured_coin),
        _KILLABLE_UNTIL,
        at=pool.address,
    )
    deployment.send(lp_token, "set_minter(address)", address)


def _fill(deployment: Deployment, pool: CurvePool, tokens: Mapping[str, Token], holder: bytes) -> None:
    address = deployment[pool_label(pool)]
    amounts = [whole * 10 ** tokens[symbol].decimals for symbol, whole in zip(pool.coins, pool.balances, strict=True)]
    for symbol, amount in zip(pool.coins, amounts, strict=True):
        fund(deployment, symbol, tokens[symbol], holder, amount)
        deployment.send(symbol, "approve(address,uint256)", address, amount, sender=holder)
    deployment.send(address, f"add_liquidity(uint256[{len(amounts)}],uint256)", amounts, 0, sender=holder)

"""Gas of Uniswap V4 through its own test routers, within one per cent of reference figures.

The routers come from the npm package when the test runs, as the other contracts do. Both tokens are new ones of ours,
the allowances are unlimited, and the range lies around the price.
"""

from __future__ import annotations

import pytest

from mayavi import Fork
from mayavi.evm.address import ZERO_ADDRESS
from mayavi.protocols.uniswap_v4.creation import _MANAGER
from mayavi.protocols.uniswap_v4.pool_key import PoolKey
from mayavi.worlds.artifacts import ArtifactStore
from mayavi.worlds.deploy.uniswap_v4 import deploy_uniswap_v4
from mayavi.worlds.published import Publication, published_contracts
from tests.protocols.uniswap_v4.worlds import ALICE

MEASURED = {
    "initialize": (51_520, "a pool without hooks, called on the pool manager"),
    "add": (291_551, "the first liquidity of the pool: both ticks, the position and the balances are new"),
    "first swap": (137_459, "exact input of currency 0, the first of the pool: its fee growth is new"),
    "second swap": (115_169, "the same again"),
}
"""Gas by action, and the condition under which it is met."""

_ROUTERS = ("PoolSwapTest", "PoolModifyLiquidityTest")
ROUTERS = Publication(
    "uniswap-v4-routers",
    "Uniswap V4's test routers",
    "uniswap_v4",
    {name: f"@uniswap/v4-core/out/{name}.sol/{name}.json" for name in _ROUTERS},
)
_PRICE_ONE, _LOWEST_PRICE = 2**96, 4_295_128_740


def pool_of_new_tokens(fork: Fork, spenders: list[bytes]) -> PoolKey:
    """Deploy two tokens, of which ALICE holds plenty, and return the key of their 0.3 % pool."""
    token = ArtifactStore().get("Token")
    made = [fork.deploy(token.initcode([name, name, 18, "1", ALICE]), sender=ALICE) for name in ("One", "Other")]
    for each in made:
        fork.deal(each, ALICE, 10**30)
        for spender in spenders:
            fork.contract(each, token.abi).approve(spender, 2**256 - 1, sender=ALICE)
    return PoolKey(*sorted(map(bytes, made)), 3000, 60, ZERO_ADDRESS)


@pytest.fixture(scope="module")
def gas_used() -> dict[str, int]:
    fork = Fork.replica("ethereum", hardfork="cancun").copy()
    deploy_uniswap_v4(fork)
    manager, code = fork.address_of("UniswapV4.PoolManager"), published_contracts(ROUTERS)
    swaps, adds = (fork.deploy(code[name].initcode([manager]), sender=ALICE) for name in _ROUTERS)
    key = tuple(pool_of_new_tokens(fork, [swaps, adds]))
    swap = fork.contract(swaps, code["PoolSwapTest"].abi).swap
    add = fork.contract(adds, code["PoolModifyLiquidityTest"].abi).modifyLiquidity
    selling = (True, -(10**15), _LOWEST_PRICE), (False, False)
    return {
        "initialize": fork.contract(manager, _MANAGER).initialize(key, _PRICE_ONE, sender=ALICE).gas_used,
        "add": add(key, (-120, 120, 10**18, bytes(32)), b"", sender=ALICE).gas_used,
        "first swap": swap(key, *selling, b"", sender=ALICE).gas_used,
        "second swap": swap(key, *selling, b"", sender=ALICE).gas_used,
    }


@pytest.mark.slow(8)
@pytest.mark.parametrize("what", MEASURED)
def test_it_costs_what_was_measured(gas_used: dict[str, int], what: str) -> None:
    figure, condition = MEASURED[what]
    assert gas_used[what] == pytest.approx(figure, rel=0.01), condition

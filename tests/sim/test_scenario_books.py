"""Every scenario of the library keeps its books: no token appears or disappears, and gains are what prices did."""

from __future__ import annotations

import pytest

from mayavi import Fork
from mayavi.errors import MayaviError
from mayavi.protocols import AaveV3, CurveStableSwap, UniswapV3
from mayavi.protocols.tokens import Erc20
from mayavi.scenarios import registry
from mayavi.scenarios.build.build import build
from mayavi.scenarios.loading import load_scenario
from mayavi.sim.accounting import NATIVE, Books
from mayavi.sim.claims import aave_claims, curve_claims

SCENARIOS = registry.names()
LONG = {
    "curve_depeg": pytest.mark.slow(3),
    "morpho_depeg": pytest.mark.slow(2),
    **dict.fromkeys(("depeg_cascade", "multi_cohort", "steth_depeg"), pytest.mark.slow),
}


def tokens_of(fork: Fork) -> list[str]:
    found = []
    for label in fork.labels:
        if "." not in label:
            try:
                Erc20(fork, label).total_supply  # noqa: B018  (no token has none)
            except MayaviError:
                continue
            found.append(label)
    return found


def price(fork: Fork, token: bytes) -> int:
    """Aave's price, or what a Uniswap pool against USDC or WETH says, or a dollar."""
    try:
        return AaveV3(fork).price_usd_e8(token)
    except MayaviError:
        pass
    for other in ("USDC", "WETH"):
        for pool in UniswapV3(fork).pools(token, other):
            return int(pool.price(token) * AaveV3(fork).price_usd_e8(other))
    return 10**8


CHAINS = ["arbitrum", "optimism", "polygon", "base", "avalanche"]
CASES = [
    *(pytest.param(name, "ethereum", marks=LONG.get(name, ())) for name in SCENARIOS),
    *(pytest.param("depeg_cascade", chain, marks=pytest.mark.slow) for chain in CHAINS),
]


@pytest.mark.parametrize(("name", "chain"), CASES)
def test_a_scenario_keeps_its_books(name: str, chain: str) -> None:
    scenario = load_scenario(name, chain=chain)
    fork = Fork.replica(scenario.config.chain)
    built = build(scenario.config, fork, 7, 1)
    tokens = tokens_of(fork)
    native = {"polygon": "WMATIC", "avalanche": "WAVAX"}.get(chain, "WETH")
    claims = aave_claims(AaveV3(fork), [native, "USDC"])
    claims += curve_claims(CurveStableSwap(fork)) if "Curve.3pool" in fork.labels else []
    books = Books(tokens, claims=claims)
    built.scheduler.hooks += (books,)
    transactions = 0
    for _ in range(built.steps):
        actions, _ = built.scheduler.tick()
        transactions += sum(row.transactions for row in actions)
    assert transactions > 0
    balances = {each.token: each for each in books.verify()}
    assert {native, "USDC", NATIVE} <= set(balances)
    pnl = books.pnl(price, native=native)
    assert pnl.balanced
    if not any(each.supply_change for each in balances.values() if each.token != NATIVE):
        assert pnl.total == pnl.price_gain - pnl.gas

"""Gas of Morpho's own bytecode, within one per cent of figures measured with other tools on the same code.

They were measured with the package's OracleMock, whose price costs one read. Without it the price feeds would count.
"""

from __future__ import annotations

import pytest

from mayavi import Fork
from mayavi.evm.units import WAD
from mayavi.protocols import MorphoBlue
from mayavi.protocols.morpho.creation import create_blue, create_vault
from mayavi.protocols.morpho.market import MorphoMarket
from mayavi.worlds.morpho_contracts import morpho_packages, read_factory
from mayavi.worlds.tables.morpho_market import IRM_LABEL, MarketParameters
from tests.protocols.morpho.worlds import ALICE, BOB, CAROL, DAVE, USDC, open_blue, pass_time

_MOCK = "@morpho-org/morpho-blue-bundlers/types/factories/src/mocks/OracleMock__factory.js"


def mock_market(blue: MorphoBlue) -> tuple[MorphoMarket, bytes]:
    """Create a market whose oracle is the package's mock, at 2,000 USDC a wstETH."""
    fork = blue.fork
    artifact = read_factory(morpho_packages().packages / _MOCK, "OracleMock")
    oracle = fork.deploy(artifact.initcode(), sender=ALICE)
    fork.contract(oracle, artifact.abi).setPrice(2_000 * 10**24, sender=ALICE)
    tokens = fork.address_of("USDC"), fork.address_of("wstETH")
    parameters = MarketParameters(*tokens, oracle, fork.address_of(IRM_LABEL), 86 * 10**16)
    return blue.create_market(parameters, sender=ALICE), oracle


def close(measured: int, expected: int) -> bool:
    return abs(measured - expected) * 100 <= expected


def test_gas_of_a_loan_and_its_liquidation() -> None:
    blue = open_blue()
    market, oracle = mock_market(blue)
    fork, contract, key = blue.fork, blue.contract, market.parameters
    for user in (ALICE, BOB, CAROL):
        fork.deal("USDC", user, 10**7 * USDC)
        fork.deal("wstETH", user, 10**5 * WAD)
        market.loan.approve(blue.address, 2**256 - 1, sender=user)
        market.collateral.approve(blue.address, 2**256 - 1, sender=user)
    assert close(contract.supply(key, 10**6 * USDC, 0, ALICE, b"", sender=ALICE).gas_used, 112_290)
    assert close(contract.supplyCollateral(key, 100 * WAD, BOB, b"", sender=BOB).gas_used, 87_822)
    with fork.dry_run():
        assert close(contract.borrow(key, 10**5 * USDC, 0, BOB, DAVE, sender=BOB).gas_used, 102_944)
    assert close(contract.borrow(key, 10**5 * USDC, 0, BOB, BOB, sender=BOB).gas_used, 85_844)
    fork.contract(oracle, ["setPrice(uint256 price)"]).setPrice(1_080 * 10**24, sender=ALICE)
    shares = market.account(BOB).data().borrow_shares
    with fork.dry_run():
        market.account(ALICE).withdraw(9 * 10**5 * USDC)  # no cash is left
        assert close(contract.repay(key, 1_000 * USDC, 0, BOB, b"", sender=BOB).gas_used, 77_577)
    with fork.dry_run():
        assert close(contract.liquidate(key, BOB, 0, shares, b"", sender=CAROL).gas_used, 82_177)


def test_gas_of_a_vault() -> None:
    fork = Fork.replica("ethereum").copy()
    blue = create_blue(fork)
    market, _ = mock_market(blue)
    vault = create_vault(fork, "vault", {market.parameters: 10**9 * USDC})
    fork.deal("USDC", ALICE, 10**7 * USDC)
    market.loan.approve(vault.address, 2**256 - 1, sender=ALICE)
    pass_time(fork, 12)
    assert close(vault.contract.deposit(10**6 * USDC, ALICE, sender=ALICE).gas_used, 257_453)
    assert close(vault.contract.withdraw(10**4 * USDC, ALICE, ALICE, sender=ALICE).gas_used, 125_899)


def test_gas_of_a_new_market() -> None:
    blue = open_blue()
    constant = bytes([7]) * 20
    blue.fork.set_code(constant, bytes.fromhex("60015f5260205ff3"))  # a model that returns one and stores nothing
    blue.contract.enableIrm(constant, sender=blue.contract.owner())
    parameters = blue.market("wstETH/USDC.86").parameters
    assert close(blue.contract.createMarket(parameters._replace(irm=constant), sender=ALICE).gas_used, 172_807)


@pytest.mark.parametrize("name", ["wstETH/USDC.86", "WBTC/USDC.86"])
def test_a_market_with_two_price_feeds_costs_more(name: str) -> None:
    blue = open_blue()
    market = blue.market(name)
    blue.fork.deal(market.collateral.address, BOB, 10**9 * 10**market.collateral.decimals)
    blue.fork.deal("USDC", ALICE, 10**7 * USDC)
    market.account(ALICE).supply(10**6 * USDC)
    market.account(BOB).supply_collateral(10**market.collateral.decimals)
    assert market.account(BOB).borrow(100 * USDC).gas_used > 102_944

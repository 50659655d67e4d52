"""Gas of Morpho's own bytecode, within one per cent of reference figures for the same code.

They were measured with the package's OracleMock, whose price costs one read. Without it the price feeds would count.
Unless a condition says otherwise everybody holds both tokens and no second has passed, so that no interest is due.
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

MEASURED = {
    "createMarket": (172_807, "with a rate model that stores nothing"),
    "supply": (112_290, "the first of the market"),
    "supplyCollateral": (87_822, "the borrower's first"),
    "borrow": (85_844, "the market's first, to somebody who holds the loan token"),
    "borrow to a new holder": (102_944, "the market's first, to somebody who holds none: 17,100 more"),
    "repay": (77_577, "a part, to a market without cash"),
    "liquidate": (82_177, "the whole debt, by somebody who holds the collateral token"),
    "liquidate half": (104_345, "half of the debt, by somebody who holds no collateral token"),
    "vault deposit": (257_453, "the first of a vault, which supplies it to an empty market"),
    "vault withdraw": (125_899, "a part, in the same second"),
}
"""Gas by action, and the condition under which it is met."""

_MOCK = "@morpho-org/morpho-blue-bundlers/types/factories/src/mocks/OracleMock__factory.js"
_UNLIMITED = 2**256 - 1


def mock_market(blue: MorphoBlue) -> tuple[MorphoMarket, bytes]:
    """Create a market whose oracle is the package's mock, at 2,000 USDC a wstETH."""
    fork = blue.fork
    artifact = read_factory(morpho_packages().packages / _MOCK, "OracleMock")
    oracle = fork.deploy(artifact.initcode(), sender=ALICE)
    fork.contract(oracle, artifact.abi).setPrice(2_000 * 10**24, sender=ALICE)
    tokens = fork.address_of("USDC"), fork.address_of("wstETH")
    parameters = MarketParameters(*tokens, oracle, fork.address_of(IRM_LABEL), 86 * 10**16)
    return blue.create_market(parameters, sender=ALICE), oracle


def loan() -> dict[str, int]:
    """Gas of a loan of 100,000 USDC for 100 wstETH, and of its liquidation after a fall of the price."""
    blue = open_blue()
    market, oracle = mock_market(blue)
    fork, contract, key = blue.fork, blue.contract, market.parameters
    for user in (ALICE, BOB, CAROL, DAVE):
        if user != DAVE:
            fork.deal("wstETH", user, 10**5 * WAD)
        fork.deal("USDC", user, 10**7 * USDC)
        market.loan.approve(blue.address, _UNLIMITED, sender=user)
        market.collateral.approve(blue.address, _UNLIMITED, sender=user)
    used = {
        "supply": contract.supply(key, 10**6 * USDC, 0, ALICE, b"", sender=ALICE).gas_used,
        "supplyCollateral": contract.supplyCollateral(key, 100 * WAD, BOB, b"", sender=BOB).gas_used,
    }
    with fork.dry_run():
        nobody = bytes([0xE5]) * 20
        used["borrow to a new holder"] = contract.borrow(key, 10**5 * USDC, 0, BOB, nobody, sender=BOB).gas_used
    used["borrow"] = contract.borrow(key, 10**5 * USDC, 0, BOB, BOB, sender=BOB).gas_used
    fork.contract(oracle, ["setPrice(uint256 price)"]).setPrice(1_080 * 10**24, sender=ALICE)
    shares = market.account(BOB).data().borrow_shares
    with fork.dry_run():
        market.account(ALICE).withdraw(9 * 10**5 * USDC)  # no cash is left
        used["repay"] = contract.repay(key, 1_000 * USDC, 0, BOB, b"", sender=BOB).gas_used
    with fork.dry_run():
        used["liquidate half"] = contract.liquidate(key, BOB, 0, shares // 2, b"", sender=DAVE).gas_used
    used["liquidate"] = contract.liquidate(key, BOB, 0, shares, b"", sender=CAROL).gas_used
    return used


def vault() -> dict[str, int]:
    fork = Fork.replica("ethereum").copy()
    blue = create_blue(fork)
    market, _ = mock_market(blue)
    made = create_vault(fork, "vault", {market.parameters: 10**9 * USDC})
    fork.deal("USDC", ALICE, 10**7 * USDC)
    market.loan.approve(made.address, _UNLIMITED, sender=ALICE)
    pass_time(fork, 12)
    return {
        "vault deposit": made.contract.deposit(10**6 * USDC, ALICE, sender=ALICE).gas_used,
        "vault withdraw": made.contract.withdraw(10**4 * USDC, ALICE, ALICE, sender=ALICE).gas_used,
    }


def new_market() -> dict[str, int]:
    blue = open_blue()
    constant = bytes([7]) * 20
    blue.fork.set_code(constant, bytes.fromhex("60015f5260205ff3"))  # a model that returns one and stores nothing
    blue.contract.enableIrm(constant, sender=blue.contract.owner())
    parameters = blue.market("wstETH/USDC.86").parameters
    return {"createMarket": blue.contract.createMarket(parameters._replace(irm=constant), sender=ALICE).gas_used}


@pytest.fixture(scope="module")
def gas_used() -> dict[str, int]:
    return loan() | vault() | new_market()


@pytest.mark.parametrize("what", MEASURED)
def test_it_costs_what_was_measured(gas_used: dict[str, int], what: str) -> None:
    figure, condition = MEASURED[what]
    assert gas_used[what] == pytest.approx(figure, rel=0.01), condition


@pytest.mark.parametrize("name", ["wstETH/USDC.86", "WBTC/USDC.86"])
def test_a_market_with_two_price_feeds_costs_more(name: str) -> None:
    blue = open_blue()
    market = blue.market(name)
    blue.fork.deal(market.collateral.address, BOB, 10**9 * 10**market.collateral.decimals)
    blue.fork.deal("USDC", ALICE, 10**7 * USDC)
    market.account(ALICE).supply(10**6 * USDC)
    market.account(BOB).supply_collateral(10**market.collateral.decimals)
    assert market.account(BOB).borrow(100 * USDC).gas_used > 102_944

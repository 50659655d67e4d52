"""Gas of Aave V3 actions, equal to a real node's figures.

The figures were measured on a Shanghai node: the same Aave code, two reserves, Aave's mock tokens and aggregators from
the package, which are used here too. What the record leaves open is chosen here, once for all figures: no caps, a
stable rate without slope, unlimited approvals, round amounts, an hour before the repayment and a second before the last
liquidation. A replica has other figures: its tokens and feeds are ours, and its market is not empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from mayavi import Fork
from mayavi.errors import ExecutionError
from mayavi.evm.abi.interface import Function
from mayavi.evm.receipt import Receipt
from mayavi.protocols import AaveAccount, AaveV3, Erc20
from mayavi.worlds.artifacts import Artifact, ArtifactStore
from mayavi.worlds.deploy.aave import deploy_aave
from mayavi.worlds.deploy.deployment import DEPLOYER, Deployment, named_account
from mayavi.worlds.deploy.feeds import feed_label
from mayavi.worlds.tables.chain import load_table
from tests.protocols.aave.reference import WAD

MEASURED = {
    "first supply of WETH": 236_178,
    "first borrow": 257_765,
    "partial repay": 192_353,
    "estimate of getUserAccountData": 125_335,
    "liquidation for WETH": 373_795,
    "liquidation for aWETH": 336_104,
}
DEPLOYMENT = 56_873_777

USDC = 10**6
FEEDS = {"WETH": "ETH/USD", "USDC": "USDC/USD"}
ANSWER_SLOT = 0
MOCKS = {
    "MintableERC20": "tokens/MintableERC20.sol/MintableERC20.json",
    "MockAggregator": "oracle/CLAggregators/MockAggregator.sol/MockAggregator.json",
}
NOT_NEEDED = {
    "PoolAddressesProviderRegistry",
    "registerAddressesProvider(address,uint256)",
    "addEmergencyAdmin(address)",
    "addRiskAdmin(address)",
    "updateFlashloanPremiumTotal(uint128)",
    "updateFlashloanPremiumToProtocol(uint128)",
}
"""Contracts and settings beyond a minimal market."""


class WithMocks(ArtifactStore):
    """Artifacts of the packages, including Aave's mocks."""

    def get(self, name: str) -> Artifact:
        if name in MOCKS:
            return self._read_npm(name, f"@aave/core-v3/artifacts/contracts/mocks/{MOCKS[name]}")
        return super().get(name)


class MeteredFork:
    """Fork for a deployment; `gas_used` is that of the last transaction."""

    def __init__(self, fork: Fork) -> None:
        self.fork, self.gas_used = fork, 0

    def call(self, to: bytes, data: bytes, /) -> bytes:
        return self.fork.call(to, data)

    def send(self, to: bytes, data: bytes, /, *, sender: bytes, value: int = 0) -> None:
        self.gas_used = self.fork.send(to, data, sender, value=value).gas_used

    def deploy(self, initcode: bytes, /, *, sender: bytes) -> bytes:
        receipt = Receipt(self.fork._evm.transact(None, initcode, sender, 0, None))
        assert receipt.created is not None
        self.gas_used = receipt.gas_used
        return receipt.created

    def create_at(self, address: bytes, initcode: bytes, /, *, sender: bytes) -> None:
        raise NotImplementedError("a node creates contracts where their creator's nonce puts them")

    def set_balance(self, address: bytes, amount: int, /) -> None:
        self.fork.set_balance(address, amount)

    def set_storage(self, address: bytes, slot: int, value: int, /) -> None:
        self.fork.set_storage(address, slot, value)


class MeteredDeployment(Deployment):
    """Deployment that records the gas of every creation and transaction."""

    def __init__(self, chain: MeteredFork) -> None:
        super().__init__(chain, WithMocks(), real_addresses=False)
        self.meter = chain
        self.spent: list[tuple[str, int]] = []

    def place(
        self,
        label: str,
        contract: str,
        *arguments: object,
        at: str | None = None,
        libraries: Mapping[str, bytes] | None = None,
        sender: bytes | None = None,
    ) -> bytes:
        address = super().place(label, contract, *arguments, at=at, libraries=libraries, sender=sender)
        self.spent.append((contract, self.meter.gas_used))
        return address

    def send(
        self, to: str | bytes, function: str, *arguments: object, sender: bytes | None = None, value: int = 0
    ) -> None:
        super().send(to, function, *arguments, sender=sender, value=value)
        self.spent.append((function, self.meter.gas_used))


@pytest.fixture(scope="module")
def deployed() -> tuple[Fork, MeteredDeployment]:
    """Deploy Aave with WETH and USDC, with only borrowing, factors and flash loans configured."""
    table = load_table("ethereum")
    fork = Fork.empty(chain_id=31_337, hardfork="shanghai")
    fork.set_block(number=1, timestamp=table.block.timestamp, gas_limit=30_000_000)
    deployment = MeteredDeployment(MeteredFork(fork))
    for symbol, feed in FEEDS.items():
        deployment.place(symbol, "MintableERC20", symbol, symbol, table.tokens[symbol].decimals)
        deployment.place(feed_label(feed, table.feeds[feed]), "MockAggregator", table.feeds[feed].answer)
    plain = {"supply_cap": 0, "borrow_cap": 0, "emode": 0, "borrowable_in_isolation": False}
    aave = replace(
        table.aave,
        emodes=(),
        reserves=tuple(replace(reserve, **plain) for reserve in table.aave.reserves),
        rate_strategies={
            address: replace(strategy, stable_slope1_ray=0, stable_slope2_ray=0)
            for address, strategy in table.aave.rate_strategies.items()
        },
    )
    treasury = named_account("treasury")
    deploy_aave(deployment, aave, table.feeds, admin=DEPLOYER, treasury=treasury, symbols=FEEDS)
    fork.labels = deployment.checksummed_labels()
    return fork, deployment


@pytest.fixture(scope="module")
def gas_used(deployed: tuple[Fork, MeteredDeployment]) -> dict[str, int]:
    """Return the gas of a lender, a borrower, and a liquidator who comes twice."""
    fork, deployment = deployed
    market = AaveV3(fork)
    lender, borrower, liquidator = (market.account(named_account(name)) for name in ("alice", "bob", "carol"))
    for account, symbol, amount in (
        (lender, "USDC", 10**12),
        (borrower, "WETH", 100 * WAD),
        (liquidator, "USDC", 10**12),
    ):
        deployment.send(symbol, "mint(address,uint256)", account.address, amount)
    for account in (lender, borrower, liquidator):
        for symbol in FEEDS:
            Erc20(fork, symbol).approve(market.pool.address, 2**256 - 1, sender=account.address)

    lender.supply("USDC", 10**12)
    used = {
        "first supply of WETH": borrower.supply("WETH", 10 * WAD).gas_used,
        "first borrow": borrower.borrow("USDC", 4_000 * USDC).gas_used,
    }
    fork.mine(seconds=3_600)
    used["partial repay"] = borrower.repay("USDC", 1_000 * USDC).gas_used
    used["estimate of getUserAccountData"] = least_gas_of_account_data(borrower)
    price = (borrower.liquidation_price_usd_e8("WETH") or 0) * 94 // 100  # health below 0.95, and above after the first
    fork.set_storage("Chainlink.ETH/USD", ANSWER_SLOT, price)
    first = liquidator.liquidate(borrower, "WETH", "USDC", 1_000 * USDC)
    fork.mine(seconds=1)
    second = liquidator.liquidate(borrower, "WETH", "USDC", 500 * USDC, receive_a_token=True)
    used["liquidation for WETH"], used["liquidation for aWETH"] = first.receipt.gas_used, second.receipt.gas_used
    return used


def least_gas_of_account_data(account: AaveAccount) -> int:
    """Return a node's gas estimate: the least sufficient limit, above the gas used since a call keeps back a 64th."""
    market = account.market
    data = Function.parse("getUserAccountData(address)").encode(account.address)
    too_little, enough = 21_000, 1_000_000
    while enough - too_little > 1:
        middle = (too_little + enough) // 2
        try:
            market.fork.call(market.pool.address, data, account.address, gas=middle)
            enough = middle
        except ExecutionError:
            too_little = middle
    return enough


@pytest.mark.parametrize("what", MEASURED)
def test_it_costs_what_it_costs_on_a_node(gas_used: dict[str, int], what: str) -> None:
    assert gas_used[what] == MEASURED[what]


def test_so_does_the_deployment(deployed: tuple[Fork, MeteredDeployment]) -> None:
    """Token names and address bytes are not on record; a name of more than 31 letters costs 22,100 gas."""
    _, deployment = deployed
    needed = [gas for what, gas in deployment.spent if what not in NOT_NEEDED and not what.startswith("mint(")]
    assert {what for what, _ in deployment.spent} >= NOT_NEEDED
    assert sum(needed) == pytest.approx(DEPLOYMENT, rel=0.001)

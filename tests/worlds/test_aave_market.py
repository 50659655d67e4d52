"""Borrowing works on the replica as on mainnet, and the background account stays solvent."""

from __future__ import annotations

import pytest

from mayavi.errors import CallReverted
from mayavi.evm.fork import Fork
from mayavi.worlds.artifacts import ArtifactStore
from mayavi.worlds.deploy.aave import deploy_aave
from mayavi.worlds.deploy.deployment import DEPLOYER, Deployment, named_account
from mayavi.worlds.deploy.feeds import deploy_feeds
from mayavi.worlds.deploy.tokens import deploy_tokens, fund
from mayavi.worlds.tables.chain import ChainTable
from tests.worlds.contract_of import ContractOf

ALICE, BOB = named_account("alice"), named_account("bob")
WAD, RAY, UNLIMITED = 10**18, 10**27, 2**256 - 1
VARIABLE = 2


def supply_weth(fork: Fork, contract: ContractOf, amount: int = WAD) -> None:
    fork.deal("WETH", ALICE, amount)
    contract("WETH", "WETH9").approve(fork.address_of("AaveV3.Pool"), UNLIMITED, sender=ALICE)
    contract("AaveV3.Pool", "Pool").supply(fork.address_of("WETH"), amount, ALICE, 0, sender=ALICE)


def test_one_weth_lets_borrow_80_5_percent_of_its_price(fork: Fork, contract: ContractOf) -> None:
    pool, usdc = contract("AaveV3.Pool", "Pool"), fork.address_of("USDC")
    supply_weth(fork, contract)
    position = pool.getUserAccountData(ALICE)
    assert position.totalCollateralBase == 2562_92441874
    assert position.ltv == 8050
    assert position.currentLiquidationThreshold == 8300

    pool.borrow(usdc, 1_700 * 10**6, VARIABLE, 0, ALICE, sender=ALICE)
    assert contract("USDC", "Token").balanceOf(ALICE) == 1_700 * 10**6
    assert pool.getUserAccountData(ALICE).healthFactor / WAD == pytest.approx(2562.92 * 0.83 / 1_700, rel=1e-3)
    with pytest.raises(CallReverted, match="36"):
        pool.borrow(usdc, 400 * 10**6, VARIABLE, 0, ALICE, sender=ALICE)


def test_debt_grows_at_the_rate_the_market_shows(fork: Fork, contract: ContractOf) -> None:
    pool = contract("AaveV3.Pool", "Pool")
    supply_weth(fork, contract)
    pool.borrow(fork.address_of("USDC"), 1_000 * 10**6, VARIABLE, 0, ALICE, sender=ALICE)
    rate = pool.getReserveData(fork.address_of("USDC")).currentVariableBorrowRate / RAY
    fork.mine(blocks=1, seconds=365 * 24 * 3600)
    debt = contract("AaveV3.variableDebtUSDC", "VariableDebtToken").balanceOf(ALICE)
    assert debt / 10**6 == pytest.approx(1_000 * 2.718281828**rate, rel=1e-4)


def test_usage_is_nine_tenths_of_optimal_where_caps_allow(contract: ContractOf, table: ChainTable) -> None:
    data = contract("AaveV3.DataProvider", "AaveProtocolDataProvider")
    for reserve in table.aave.reserves:
        asset, unit = table.tokens[reserve.symbol].address, 10**reserve.decimals
        supplied, debt = data.getATokenTotalSupply(asset), data.getTotalDebt(asset)
        assert supplied == reserve.supplied * unit, reserve.symbol
        assert debt == reserve.borrowed * unit, reserve.symbol
        assert reserve.supply_cap == 0 or supplied <= reserve.supply_cap * unit
        assert reserve.borrow_cap == 0 or debt <= reserve.borrow_cap * unit
        optimal = table.aave.rate_strategies[reserve.rate_strategy].optimal_usage_ray
        assert not optimal or debt * RAY <= supplied * optimal
    usdc = data.getReserveData(table.tokens["USDC"].address)
    assert usdc.variableBorrowRate / RAY == pytest.approx(0.035 * 0.9, rel=1e-6)


def test_the_market_account_survives_a_crash(fork: Fork, contract: ContractOf) -> None:
    pool, market = contract("AaveV3.Pool", "Pool"), fork.address_of("Mayavi.Market")
    assert pool.getUserAccountData(market).healthFactor > 15 * WAD // 10
    for name in ("Chainlink.ETH/USD", "Chainlink.BTC/USD"):
        feed = contract(name, "PriceFeed")
        feed.set_answer(feed.latestAnswer() // 5, sender=DEPLOYER)
    assert pool.getUserAccountData(market).healthFactor > WAD


def test_a_liquidator_earns_the_bonus(fork: Fork, contract: ContractOf) -> None:
    pool, weth, usdc = contract("AaveV3.Pool", "Pool"), fork.address_of("WETH"), fork.address_of("USDC")
    supply_weth(fork, contract)
    pool.borrow(usdc, 1_700 * 10**6, VARIABLE, 0, ALICE, sender=ALICE)
    contract("Chainlink.ETH/USD", "PriceFeed").set_answer(2_000 * 10**8, sender=DEPLOYER)
    fork.deal("USDC", BOB, 1_000 * 10**6)
    contract("USDC", "Token").approve(pool.address, UNLIMITED, sender=BOB)
    pool.liquidationCall(weth, usdc, ALICE, 850 * 10**6, False, sender=BOB)
    # 5 % bonus, a tenth of it kept by the protocol.
    assert contract("WETH", "WETH9").balanceOf(BOB) / WAD == pytest.approx(850 / 2_000 * 1.045, rel=1e-3)


def test_isolated_collateral_borrows_stablecoins_only(fork: Fork, contract: ContractOf) -> None:
    pool, ens = contract("AaveV3.Pool", "Pool"), fork.address_of("ENS")
    fork.deal("ENS", ALICE, 100 * WAD)
    contract("ENS", "Token").approve(pool.address, UNLIMITED, sender=ALICE)
    pool.supply(ens, 100 * WAD, ALICE, 0, sender=ALICE)
    pool.setUserUseReserveAsCollateral(ens, True, sender=ALICE)
    pool.borrow(fork.address_of("USDT"), 10 * 10**6, VARIABLE, 0, ALICE, sender=ALICE)
    with pytest.raises(CallReverted, match="60"):
        pool.borrow(fork.address_of("LINK"), WAD, VARIABLE, 0, ALICE, sender=ALICE)


def test_gho_can_be_borrowed_at_its_constant_rate(fork: Fork, contract: ContractOf) -> None:
    pool, gho = contract("AaveV3.Pool", "Pool"), fork.address_of("GHO")
    supply_weth(fork, contract)
    pool.borrow(gho, 100 * WAD, VARIABLE, 0, ALICE, sender=ALICE)
    assert contract("GHO", "Token").balanceOf(ALICE) == 100 * WAD
    assert pool.getReserveData(gho).currentVariableBorrowRate == 3 * RAY // 100


class TestOnAChainWithoutChosenAddresses:
    """The same market by ordinary creation, as on a node: two reserves, no other users."""

    @pytest.fixture
    def deployment(self, table: ChainTable, artifacts: ArtifactStore) -> Deployment:
        fork = Fork.empty(chain_id=31_337, hardfork="shanghai")
        fork.set_block(number=1, timestamp=table.block.timestamp, gas_limit=30_000_000)
        deployment = Deployment(fork, artifacts, real_addresses=False)
        deploy_tokens(deployment, {symbol: table.tokens[symbol] for symbol in ("WETH", "USDC")})
        deploy_feeds(
            deployment,
            {name: table.feeds[name] for name in ("ETH/USD", "USDC/USD")},
            timestamp=table.block.timestamp,
        )
        deploy_aave(
            deployment,
            table.aave,
            table.feeds,
            admin=DEPLOYER,
            treasury=named_account("treasury"),
            symbols=("WETH", "USDC"),
        )
        for symbol, holder, amount in (("USDC", BOB, 10**12), ("WETH", ALICE, 10 * WAD)):
            fund(deployment, symbol, table.tokens[symbol], holder, amount)
            deployment.send(symbol, "approve(address,uint256)", deployment["AaveV3.Pool"], UNLIMITED, sender=holder)
        return deployment

    def test_nothing_stands_at_a_mainnet_address(self, deployment: Deployment, table: ChainTable) -> None:
        assert deployment["AaveV3.Pool"] != bytes.fromhex(table.aave.addresses.pool[2:])
        assert deployment.view("AaveV3.Pool", "getReservesList()(address[])") == [
            deployment["WETH"],
            deployment["USDC"],
        ]

    def test_first_supply_and_borrow_cost_what_they_cost_on_a_node(
        self, deployment: Deployment, artifacts: ArtifactStore
    ) -> None:
        """Reference: a Shanghai node with Aave's mock tokens and aggregator, 236,178 and 257,765 gas.

        Ours may differ by 5 %: the tokens and feeds are written in Vyper and dispatch and store differently.
        """
        fork = deployment.chain
        assert isinstance(fork, Fork)
        pool = fork.contract(deployment["AaveV3.Pool"], artifacts.get("Pool").abi)
        pool.supply(deployment["USDC"], 10**12, BOB, 0, sender=BOB)
        fork.mine(seconds=12)
        supply = pool.supply(deployment["WETH"], 10 * WAD, ALICE, 0, sender=ALICE)
        fork.mine(seconds=12)
        borrow = pool.borrow(deployment["USDC"], 1_000 * 10**6, VARIABLE, 0, ALICE, sender=ALICE)
        assert supply.gas_used == pytest.approx(236_178, rel=0.05)
        assert borrow.gas_used == pytest.approx(257_765, rel=0.05)

"""The six replicas: each its own chain, one builder, all with what a first example needs."""

from __future__ import annotations

import pytest

from mayavi.evm.chains import chain as known_chain
from mayavi.evm.chains import hardfork_at
from mayavi.evm.fork import Fork
from mayavi.worlds import describe_world, world_names
from mayavi.worlds.builder import build_replica
from mayavi.worlds.deploy.deployment import DEPLOYER, named_account
from mayavi.worlds.labels import chain_labels, labels_of
from mayavi.worlds.tables.chain import load_table
from tests.worlds.replicas import MARKETS, artifact_store, built_replica, interface_of

CHAINS = ["arbitrum", "avalanche", "base", "ethereum", "optimism", "polygon"]
ROLLUPS = ["arbitrum", "base", "optimism"]
ALICE = named_account("alice")
WAD, VARIABLE = 10**18, 2

# Written down independently of the tables.
REAL = {
    "arbitrum": {
        "WETH": "0x82aF49447D8a07e3bd95BD0d56f35241523fBab1",
        "USDC": "0xaf88d065e77c8cC2239327C5EDb3A432268e5831",
        "USDC.e": "0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8",
        "AaveV3.Pool": "0x794a61358D6845594F94dc1DB02A252b5b4814aD",
        "AaveV3.aUSDC": "0x724dc807b04555b71ed48a6896b6F41593b8C637",
        "AaveV3.stableDebtUSDC": "0xDC1fad70953Bb3918592b6fCc374fe05F5811B6a",
        "UniswapV3.SwapRouter": "0xE592427A0AEce92De3Edee1F18E0157C05861564",
        "UniswapV3.WETH/USDC.500": "0xC6962004f452bE9203591991D15f6b388e09E8D0",
        "UniswapV3.WETH/USDC.e.500": "0xC31E54c7a869B9FcBEcc14363CF510d1c41fa443",
        "Chainlink.ETH/USD": "0x639Fe6ab55C921f74e7fac1ee960C0B6293ba612",
    },
    "avalanche": {
        "WETH": "0x49D5c2BdFfac6CE2BFdB6640F4F80f226bc10bAB",
        "USDC": "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E",
        "WAVAX": "0xB31f66AA3C1e785363F0875A1B74E27b85FD66c7",
        "AaveV3.Pool": "0x794a61358D6845594F94dc1DB02A252b5b4814aD",
        "AaveV3.aWAVAX": "0x6d80113e533a2C0fe82EaBD35f1875DcEA89Ea97",
        "UniswapV3.Factory": "0x740b1c1de25031C31FF4fC9A62f554A55cdC1baD",
        "UniswapV3.WAVAX/USDC.500": "0xfAe3f424a0a47706811521E3ee268f00cFb5c45E",
        "Chainlink.AVAX/USD": "0x0A77230d17318075983913bC2145DB16C7366156",
    },
    "base": {
        "WETH": "0x4200000000000000000000000000000000000006",
        "USDC": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "AaveV3.Pool": "0xA238Dd80C259a72e81d7e4664a9801593F98d1c5",
        "AaveV3.aUSDC": "0x4e65fE4DbA92790696d040ac24Aa414708F5c0AB",
        "AaveV3.variableDebtUSDC": "0x59dca05b6c26dbd64b5381374aAaC5CD05644C28",
        "UniswapV3.Factory": "0x33128a8fC17869897dcE68Ed026d694621f6FDfD",
        "UniswapV3.WETH/USDC.500": "0xd0b53D9277642d899DF5C87A3966A349A798F224",
        "Chainlink.ETH/USD": "0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70",
    },
    "ethereum": {
        "Spark.Pool": "0xC13e21B648A5Ee794902342038FF3aDAB66BE987",
        "Spark.aDAI": "0x4DEDf26112B3Ec8eC46e7E31EA5e123490B05B8B",
        "Spark.variableDebtUSDT": "0x529b6158d1D2992E3129F7C69E81a7c677dc3B12",
        "AaveV3.Pool": "0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2",
    },
    "optimism": {
        "WETH": "0x4200000000000000000000000000000000000006",
        "USDC": "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85",
        "AaveV3.Pool": "0x794a61358D6845594F94dc1DB02A252b5b4814aD",
        "AaveV3.aUSDC": "0x38d693cE1dF5AaDF7bC62595A37D667aD57922e5",
        "UniswapV3.WETH/USDC.500": "0x1fb3cf6e48F1E7B10213E7b6d87D4c073C7Fdb7b",
        "Chainlink.ETH/USD": "0x13e3Ee699D1909E989722E753853AE30b17e08c5",
    },
    "polygon": {
        "WETH": "0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619",
        "USDC": "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
        "WMATIC": "0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270",
        "AaveV3.Pool": "0x794a61358D6845594F94dc1DB02A252b5b4814aD",
        "AaveV3.aUSDC": "0xA4D94019934D8333Ef880ABFFbF2FDd611C762BD",
        "UniswapV3.WBTC/WETH.500": "0x50eaEDB835021E4A108B7290636d62E9765cc6d7",
        "Chainlink.MATIC/USD": "0xAB594600376Ec9fD91F8e885dADF0CE036862dE0",
    },
}


def contract(fork: Fork, label: str, artifact: str) -> object:
    return fork.contract(label, interface_of(artifact))


def test_there_are_six() -> None:
    assert world_names() == CHAINS


@pytest.mark.parametrize("chain", CHAINS)
def test_a_replica_is_its_chain_at_its_block(chain: str) -> None:
    table, fork = load_table(chain), built_replica(chain).copy()
    block, known = table.block, known_chain(chain)
    assert fork.chain_id == table.chain_id == known.chain_id
    assert (fork.block_number, fork.timestamp) == (block.number, 1705173443)
    assert table.hardfork == hardfork_at(table.chain_id, block.number, block.timestamp)
    assert block.seconds == known.block_seconds
    fork.mine(3)
    assert (fork.block_number, fork.timestamp) == (block.number + 3, block.timestamp + 3 * block.seconds)


@pytest.mark.parametrize("chain", CHAINS)
def test_two_builds_are_one_world(chain: str) -> None:
    again = build_replica(load_table(chain), artifact_store())
    assert again.digest() == built_replica(chain).digest()
    assert again.labels == built_replica(chain).labels


@pytest.mark.parametrize(("chain", "label"), [(chain, label) for chain, labels in REAL.items() for label in labels])
def test_a_known_contract_stands_at_its_real_address(chain: str, label: str) -> None:
    fork = built_replica(chain)
    assert fork.labels[label] == REAL[chain][label]
    assert fork.code(REAL[chain][label])


@pytest.mark.parametrize("chain", CHAINS)
def test_every_label_has_code_except_accounts_and_what_the_replica_does_without(chain: str) -> None:
    fork = built_replica(chain)
    empty = {label for label, address in fork.labels.items() if not fork.code(address)}
    accounts = {f"{prefix}.{who}" for prefix in load_table(chain).lending_markets for who in ("Admin", "Treasury")}
    accounts |= {label for label in fork.labels if label.startswith("Mayavi.")}
    assert {label for label in empty if not label.endswith(".Extension")} == accounts


@pytest.mark.parametrize("chain", CHAINS)
def test_a_fork_of_the_real_chain_has_the_same_names_for_the_same_addresses(chain: str) -> None:
    table = load_table(chain)
    assert labels_of(table.chain_id) == chain_labels(table)
    assert chain_labels(table).items() <= built_replica(chain).labels.items()


def test_a_chain_without_a_table_has_no_names() -> None:
    assert labels_of(987_654_321) == {}


def test_a_chain_with_a_market_alone_has_its_labels() -> None:
    assert labels_of(9745)["AaveV3.Pool"] == "0x925a2A7214Ed92428B5b1B090F80b25700095e12"


@pytest.mark.parametrize("chain", CHAINS)
def test_one_weth_lets_borrow_a_thousand_usdc(chain: str) -> None:
    fork = built_replica(chain).copy()
    pool, weth, usdc = contract(fork, "AaveV3.Pool", "Pool"), fork.address_of("WETH"), fork.address_of("USDC")
    fork.deal("WETH", ALICE, WAD)
    contract(fork, "WETH", "Token").approve(pool.address, WAD, sender=ALICE)
    pool.supply(weth, WAD, ALICE, 0, sender=ALICE)
    pool.borrow(usdc, 1_000 * 10**6, VARIABLE, 0, ALICE, sender=ALICE)
    assert contract(fork, "USDC", "Token").balanceOf(ALICE) == 1_000 * 10**6
    threshold = load_table(chain).aave.reserve("WETH").liquidation_threshold_bps / 10_000
    assert pool.getUserAccountData(ALICE).healthFactor / WAD == pytest.approx(2562.92 * threshold / 1_000, rel=1e-3)
    assert pool.getReserveData(usdc).currentVariableBorrowRate > 0


@pytest.mark.parametrize("chain", CHAINS)
def test_every_pool_trades_what_its_quote_says_at_the_price_of_the_table(chain: str) -> None:
    table = load_table(chain)
    for pool in table.uniswap.pools:
        fork = built_replica(chain).copy()
        base, quote = fork.address_of(pool.base), fork.address_of(pool.quote)
        units = {symbol: 10 ** table.tokens[symbol].decimals for symbol in (pool.base, pool.quote)}
        amount = int(1_000 / float(pool.base_price_usd) * units[pool.base])
        asked = (base, quote, amount, pool.fee, 0)
        quoted = contract(fork, "UniswapV3.QuoterV2", "QuoterV2").quoteExactInputSingle.call(asked).amountOut
        expected = amount / units[pool.base] * float(pool.price) * (1 - pool.fee / 1e6)
        assert quoted / units[pool.quote] == pytest.approx(expected, rel=2e-3), pool.name

        fork.deal(pool.base, ALICE, amount)
        router = contract(fork, "UniswapV3.SwapRouter", "SwapRouter")
        contract(fork, pool.base, "Token").approve(router.address, amount, sender=ALICE)
        router.exactInputSingle((base, quote, pool.fee, ALICE, 2**255, amount, 0, 0), sender=ALICE)
        assert contract(fork, pool.quote, "Token").balanceOf(ALICE) == quoted, pool.name


@pytest.mark.parametrize(("chain", "prefix"), MARKETS)
def test_the_account_that_stands_for_everybody_survives_a_crash(chain: str, prefix: str) -> None:
    fork = built_replica(chain).copy()
    pool, market = contract(fork, f"{prefix}.Pool", "Pool"), fork.address_of("Mayavi.Market")
    assert pool.getUserAccountData(market).healthFactor > 15 * WAD // 10
    for coin in ("ETH", "BTC", "MATIC", "AVAX", "OP", "ARB"):
        if (label := f"Chainlink.{coin}/USD") in fork.labels:
            feed = contract(fork, label, "PriceFeed")
            feed.set_answer(feed.latestAnswer() // 5, sender=DEPLOYER)
    assert pool.getUserAccountData(market).healthFactor > WAD


@pytest.mark.parametrize(("chain", "name"), [("polygon", "Wrapped Matic"), ("avalanche", "Wrapped AVAX")])
def test_the_wrapped_native_coin_has_its_own_name_and_wraps(chain: str, name: str) -> None:
    fork, symbol = built_replica(chain).copy(), load_table(chain).wrapped_native
    wrapped = contract(fork, symbol, "WETH9")
    assert (wrapped["name"](), wrapped.symbol(), wrapped.decimals()) == (name, symbol, 18)
    fork.set_balance(ALICE, 5 * WAD)
    wrapped.deposit(sender=ALICE, value=3 * WAD)
    wrapped.withdraw(WAD, sender=ALICE)
    assert wrapped.balanceOf(ALICE) == 2 * WAD


def test_a_token_says_the_symbol_it_has_on_its_chain() -> None:
    assert contract(built_replica("avalanche"), "WETH", "Token").symbol() == "WETH.e"
    assert contract(built_replica("arbitrum"), "USDC.e", "Token").symbol() == "USDC"
    assert contract(built_replica("arbitrum"), "USDC", "Token").symbol() == "USDC"


@pytest.mark.parametrize("chain", ROLLUPS)
def test_a_rollups_pool_takes_calls_packed_by_its_encoder(chain: str) -> None:
    fork = built_replica(chain).copy()
    pool, encoder = contract(fork, "AaveV3.Pool", "L2Pool"), contract(fork, "AaveV3.L2Encoder", "L2Encoder")
    fork.deal("WETH", ALICE, WAD)
    contract(fork, "WETH", "Token").approve(pool.address, WAD, sender=ALICE)
    packed = encoder.encodeSupplyParams(fork.address_of("WETH"), WAD, 0)
    fork.contract(pool.address, ["supply(bytes32)"]).supply(packed, sender=ALICE)
    assert contract(fork, "AaveV3.aWETH", "AToken").balanceOf(ALICE) == WAD


@pytest.mark.parametrize("chain", CHAINS)
def test_a_replica_says_where_its_facts_come_from_and_what_it_leaves_out(chain: str) -> None:
    world = describe_world(chain)
    subjects = {difference.subject for difference in world.differences}
    assert {"dates", "tokens", "price feeds", "Uniswap liquidity", "blocks"} <= subjects
    assert {source.what for source in world.sources if "Aave V3 parameters" in source.what}
    assert ({"fees", "sequencer"} <= subjects) is (chain in ROLLUPS)


def test_sparklend_has_other_terms_than_aave() -> None:
    fork = built_replica("ethereum").copy()
    pool, dai = contract(fork, "Spark.Pool", "Pool"), fork.address_of("DAI")
    fork.deal("WETH", ALICE, WAD)
    contract(fork, "WETH", "WETH9").approve(pool.address, WAD, sender=ALICE)
    pool.supply(fork.address_of("WETH"), WAD, ALICE, 0, sender=ALICE)
    assert pool.getUserAccountData(ALICE).ltv == 8000
    pool.borrow(dai, 1_000 * WAD, VARIABLE, 0, ALICE, sender=ALICE)
    assert pool.getReserveData(dai).currentVariableBorrowRate == 5379 * 10**22
    assert (pool.FLASHLOAN_PREMIUM_TOTAL(), pool.FLASHLOAN_PREMIUM_TO_PROTOCOL()) == (0, 0)
    assert contract(fork, "Spark.aDAI", "AToken").symbol() == "spDAI"
    assert contract(fork, "Spark.variableDebtDAI", "VariableDebtToken").balanceOf(ALICE) == 1_000 * WAD
    assert contract(fork, "AaveV3.variableDebtDAI", "VariableDebtToken").balanceOf(ALICE) == 0

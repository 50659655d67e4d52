"""Every contract a user addresses is at its mainnet address, with code."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from mayavi.evm.address import to_address
from mayavi.evm.fork import Fork
from mayavi.evm.hashing import keccak256
from mayavi.worlds.artifacts import ArtifactStore
from mayavi.worlds.deploy.deployment import Deployment, ReplicaMismatchError
from mayavi.worlds.tables.chain import ChainTable

# Written down independently of the table.
MAINNET = {
    "WETH": "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
    "USDC": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
    "USDT": "0xdAC17F958D2ee523a2206206994597C13D831ec7",
    "DAI": "0x6B175474E89094C44Da98b954EedeAC495271d0F",
    "WBTC": "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599",
    "wstETH": "0x7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0",
    "AaveV3.Provider": "0x2f39d218133AFaB8F2B819B1066c7E434Ad94E9e",
    "AaveV3.Pool": "0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2",
    "AaveV3.PoolConfigurator": "0x64b761D848206f447Fe2dd461b0c635Ec39EbB27",
    "AaveV3.Oracle": "0x54586bE62E3c3580375aE3723C145253060Ca0C2",
    "AaveV3.ACLManager": "0xc2aaCf6553D20d1e9d78E365AAba8032af9c85b0",
    "AaveV3.DataProvider": "0x7B4EB56E7CD4b454BA8ff71E4518426369a138a3",
    "AaveV3.aWETH": "0x4d5F47FA6A74757f35C14fD3a6Ef8E3C9BC514E8",
    "AaveV3.aUSDC": "0x98C23E9d8f34FEFb1B7BD6a91B7FF122F4e16F5c",
    "AaveV3.variableDebtUSDC": "0x72E95b8931767C79bA4EeE721354d6E99a61D004",
    "AaveV3.variableDebtWETH": "0xeA51d7853EEFb32b6ee06b1C12E6dcCA88Be0fFE",
    "Chainlink.ETH/USD": "0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419",
    "Chainlink.BTC/USD": "0xF4030086522a5bEEa4988F8cA5B36dbC97BeE88c",
    "UniswapV3.Factory": "0x1F98431c8aD98523631AE4a59f267346ea31F984",
    "UniswapV3.SwapRouter": "0xE592427A0AEce92De3Edee1F18E0157C05861564",
    "UniswapV3.QuoterV2": "0x61fFE014bA17989E743c5F6cB21bF9697530B21e",
    "UniswapV3.PositionManager": "0xC36442b4a4522E871399CD717aBDD847Ab11FE88",
    "UniswapV3.WETH/USDC.500": "0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640",
    "UniswapV3.WETH/USDC.3000": "0x8ad599c3A0ff1De082011EFDDc58f1908eb6e6D8",
    "UniswapV3.WBTC/WETH.3000": "0xCBCdF9626bC03E24f779434178A73a0B4bad62eD",
    "UniswapV3.DAI/USDC.100": "0x5777d92f208679DB4b9778590Fa3CAB3aC9e2168",
    "UniswapV3.wstETH/WETH.100": "0x109830a1AAaD605BbF02a9dFA7B0B92EC2FB7dAa",
}


@pytest.mark.parametrize("label", MAINNET)
def test_a_known_contract_stands_at_its_mainnet_address(fork: Fork, label: str) -> None:
    assert fork.labels[label] == MAINNET[label]
    assert fork.code(MAINNET[label])


def test_the_proxies_point_at_the_implementations_mainnet_had(fork: Fork, table: ChainTable) -> None:
    slot = int.from_bytes(keccak256(b"eip1967.proxy.implementation"), "big") - 1
    at = table.aave.addresses
    proxies = {at.pool: at.pool_implementation, at.pool_configurator: at.pool_configurator_implementation}
    for reserve in table.aave.reserves:
        proxies[reserve.a_token] = reserve.a_token_implementation
        proxies[reserve.variable_debt_token] = reserve.variable_debt_token_implementation
    for proxy, implementation in proxies.items():
        assert fork.storage(proxy, slot) == int.from_bytes(to_address(implementation), "big")
        assert fork.code(implementation)


def test_pools_have_the_creation_code_their_addresses_follow_from(artifacts: ArtifactStore) -> None:
    published = "e34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54"
    assert keccak256(artifacts.get("UniswapV3Pool").initcode()).hex() == published


def test_router_and_pools_are_mainnets_own_bytecode_to_the_byte(fork: Fork, cases: Path) -> None:
    with gzip.open(cases / "mainnet" / "blocks" / "bytecodes.json.gz") as stored:
        seen_on_mainnet = {code_hash.removeprefix("0x") for code_hash in json.load(stored)}
    for name in ("SwapRouter", "WETH/USDC.500", "WETH/USDC.3000", "WBTC/WETH.3000", "wstETH/WETH.100"):
        code = fork.code(fork.address_of(f"UniswapV3.{name}"))
        assert keccak256(code).hex() in seen_on_mainnet, name


def test_a_contract_that_lands_elsewhere_is_refused(fork: Fork) -> None:
    deployment = Deployment(fork)
    with pytest.raises(ReplicaMismatchError, match=r"AaveV3\.Pool is at"):
        deployment.label("AaveV3.Pool", bytes(19) + b"\1", expected=MAINNET["AaveV3.Pool"])

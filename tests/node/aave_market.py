"""Aave V3 on a real node, deployed by the replica's code, with transactions and reads to compare a fork by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mayavi.evm.abi.interface import Function
from mayavi.evm.fork import Fork
from mayavi.worlds.deploy.aave import deploy_aave
from mayavi.worlds.deploy.deployment import MARKET, Deployment, named_account
from mayavi.worlds.deploy.feeds import deploy_feeds
from mayavi.worlds.deploy.tokens import deploy_tokens, fund
from mayavi.worlds.tables.chain import load_table
from tests.node.hardhat import Hardhat

ALICE = named_account("alice")
ADMIN = named_account("admin")
TREASURY = named_account("treasury")
SYMBOLS = ("WETH", "USDC", "DAI")
ETHER = 10**18
USDC = 10**6

_SUPPLY = "supply(address,uint256,address,uint16)"
_BORROW = "borrow(address,uint256,uint256,uint16,address)"
_REPAY = "repay(address,uint256,uint256,address)"
_RESERVE_DATA = (
    "getReserveData(address)(((uint256),uint128,uint128,uint128,uint128,uint128,uint40,uint16,"
    "address,address,address,address,uint128,uint128,uint128))"
)


@dataclass(frozen=True)
class Act:
    """Transaction: `seconds` after the previous block, `sender` calls `to`."""

    seconds: int
    sender: bytes
    to: bytes
    data: bytes
    value: int = 0


@dataclass(frozen=True)
class AaveMarket:
    """Market with deposits at block `block`, where Alice has ether and no position yet."""

    node: Hardhat
    labels: dict[str, bytes]
    block: int

    def act(
        self, seconds: int, to: str, function: str, *arguments: object, sender: bytes = ALICE, value: int = 0
    ) -> Act:
        values = [self.labels.get(each, each) if isinstance(each, str) else each for each in arguments]
        return Act(seconds, sender, self.labels[to], Function.parse(function).encode(*values), value)

    def borrowing(self) -> list[Act]:
        """Return transactions: Alice wraps ether, supplies, borrows, waits, repays a part and withdraws some
        collateral.
        """
        return [
            self.act(12, "WETH", "deposit()", value=10 * ETHER),
            self.act(12, "WETH", "approve(address,uint256)", "AaveV3.Pool", 2**256 - 1),
            self.act(12, "AaveV3.Pool", _SUPPLY, "WETH", 10 * ETHER, ALICE, 0),
            self.act(12, "AaveV3.Pool", _BORROW, "USDC", 9_000 * USDC, 2, 0, ALICE),
            self.act(86_400 * 30, "USDC", "approve(address,uint256)", "AaveV3.Pool", 2**256 - 1),
            self.act(3_600, "AaveV3.Pool", _REPAY, "USDC", 4_321 * USDC, 2, ALICE),
            self.act(7, "AaveV3.Pool", _BORROW, "DAI", 1_234 * ETHER + 1, 2, 0, ALICE),
            self.act(1, "AaveV3.Pool", "withdraw(address,uint256,address)", "WETH", ETHER // 3, ALICE),
        ]

    def reads(self) -> dict[str, tuple[bytes, bytes]]:
        """Return all reads of the market and Alice: name, contract and calldata."""
        found: dict[str, tuple[bytes, bytes]] = {}

        def read(to: str, function: str, *arguments: object) -> None:
            values = [self.labels.get(each, each) if isinstance(each, str) else each for each in arguments]
            shown = ", ".join(each if isinstance(each, str) else "…" for each in arguments)
            name = f"{to}.{function.partition('(')[0]}({shown})"
            assert name not in found
            found[name] = (self.labels[to], Function.parse(function).encode(*values))

        read("AaveV3.Pool", "getUserAccountData(address)", ALICE)
        read("AaveV3.Pool", "getUserConfiguration(address)", ALICE)
        read("AaveV3.Pool", "getReservesList()")
        for symbol in SYMBOLS:
            read("AaveV3.Pool", _RESERVE_DATA, symbol)
            read("AaveV3.Pool", "getReserveNormalizedIncome(address)", symbol)
            read("AaveV3.Pool", "getReserveNormalizedVariableDebt(address)", symbol)
            read("AaveV3.DataProvider", "getReserveData(address)", symbol)
            read("AaveV3.DataProvider", "getUserReserveData(address,address)", symbol, ALICE)
            read("AaveV3.Oracle", "getAssetPrice(address)", symbol)
            for token in (symbol, f"AaveV3.a{symbol}", f"AaveV3.variableDebt{symbol}"):
                read(token, "balanceOf(address)", ALICE)
                read(token, "totalSupply()")
        return found


def deploy_market(node: Hardhat) -> AaveMarket:
    """Deploy tokens, feeds and Aave on `node`, and supply all three assets from the market account."""
    table = load_table("ethereum")
    deployment = Deployment(node, real_addresses=False)
    for account in (deployment.deployer, MARKET, ADMIN, ALICE):
        node.set_balance(account, 100 * ETHER)
    tokens = {symbol: table.tokens[symbol] for symbol in SYMBOLS}
    deploy_tokens(deployment, tokens)
    deploy_feeds(deployment, table.feeds, timestamp=int(node.head["timestamp"], 16))
    deploy_aave(deployment, table.aave, table.feeds, admin=ADMIN, treasury=TREASURY, symbols=SYMBOLS)
    for symbol, amount in (("WETH", 1_000 * ETHER), ("USDC", 2_000_000 * USDC), ("DAI", 1_500_000 * ETHER)):
        fund(deployment, symbol, tokens[symbol], MARKET, amount)
        deployment.send(symbol, "approve(address,uint256)", deployment["AaveV3.Pool"], amount, sender=MARKET)
        deployment.send("AaveV3.Pool", _SUPPLY, deployment[symbol], amount, MARKET, 0, sender=MARKET)
    deployment.send(
        "AaveV3.Pool", _BORROW, deployment["USDC"], 500_000 * USDC, 2, 0, MARKET, sender=MARKET
    )  # so that rates are not zero
    return AaveMarket(node, dict(deployment.labels), node.block_number)


def act_on_node(node: Hardhat, acts: list[Act]) -> list[tuple[int, list[Any]]]:
    """Return gas used and logs of each transaction, executed on the node in its own block."""
    outcomes = []
    for act in acts:
        node.rpc("evm_setNextBlockTimestamp", hex(int(node.head["timestamp"], 16) + act.seconds))
        receipt = node.send(act.to, act.data, sender=act.sender, value=act.value)
        logs = [(log["address"], tuple(log["topics"]), log["data"]) for log in receipt["logs"]]
        outcomes.append((int(receipt["gasUsed"], 16), logs))
    return outcomes


def act_on_fork(fork: Fork, acts: list[Act]) -> list[tuple[int, list[Any]]]:
    """Return gas used and logs of each transaction, executed on the fork in its own block."""
    outcomes = []
    for act in acts:
        fork.mine(1, seconds=act.seconds)
        receipt = fork.send(act.to, act.data, sender=act.sender, value=act.value)
        logs = [
            ("0x" + log.address.hex(), tuple("0x" + topic.hex() for topic in log.topics), "0x" + log.data.hex())
            for log in receipt.logs
        ]
        outcomes.append((receipt.gas_used, logs))
    return outcomes

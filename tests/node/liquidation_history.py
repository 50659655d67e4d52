"""Small history like that of the CRV short on a node: Aave V2 with an unhealthy account, and liquidations of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mayavi import Fork
from mayavi.evm.abi.interface import Function
from mayavi.protocols import AaveV2
from mayavi.protocols.aave_v2.liquidation_event import LIQUIDATION_TOPIC
from mayavi.protocols.chainlink.price_feed import PriceFeed
from mayavi.scenarios.build.chain.new_markets import create_aave_v2
from mayavi.scenarios.incidents import crv_2022
from mayavi.scenarios.models.chain.new_markets import NewReserveV2
from tests.node.chain_history import ChainHistory
from tests.node.hardhat import Hardhat
from tests.node.replica_on_node import put_on_node

CRV, USDC = 10**18, 10**6
COLLATERAL, DEBT = 900_000 * USDC, 1_300_000 * CRV
RESERVES = {
    "USDC": {"price": 1, "ltv": "87%", "liquidation_threshold": "89%", "liquidation_bonus": "4.5%"},
    "CRV": {
        "price": "0.6",
        "ltv": "55%",
        "liquidation_threshold": "61%",
        "liquidation_bonus": "8%",
        "supplied": 3_000_000,
    },
}
PRICE = "0.63"
"""Price of CRV that makes the account unhealthy."""
REPAID = {"first": 100_000 * CRV, "second": 50_000 * CRV + 1, "third": 70_000 * CRV}
_LIQUIDATE = "liquidationCall(address,address,address,uint256,bool)"


@dataclass(frozen=True)
class LiquidationHistory:
    """Node, and the transactions `first`, `second` and `third`; the last two share a block with a transfer."""

    chain: ChainHistory

    @property
    def node(self) -> Hardhat:
        return self.chain.node

    def event(self, name: str) -> tuple[int, int]:
        """Amounts repaid and seized by a liquidation, as its receipt has them."""
        topic = "0x" + LIQUIDATION_TOPIC.hex()
        (log,) = [log for log in self.chain.receipt(name)["logs"] if log["topics"][0] == topic]
        return int(log["data"][2:66], 16), int(log["data"][66:130], 16)


def start_liquidations(folder: Path) -> LiquidationHistory:
    """Start a node with chain id and block numbers of the incident, and liquidate the account three times."""
    fork = Fork.replica("ethereum").copy()
    began = crv_2022.BEGIN - 120
    fork.set_block(number=crv_2022.FIRST_BLOCK - 10, timestamp=began)
    create_aave_v2(fork, {symbol: NewReserveV2.model_validate(each) for symbol, each in RESERVES.items()})
    node = Hardhat.start(folder, chain_id=1, hardfork="merge", first_timestamp=began - crv_2022.FIRST_BLOCK - 1_000)
    accounts: list[str] = node.rpc("eth_accounts")
    short = AaveV2(fork).account(crv_2022.ACCOUNT)
    fork.deal("USDC", short.address, COLLATERAL)
    short.supply("USDC", COLLATERAL)
    short.borrow("CRV", DEBT)
    PriceFeed(fork, "Chainlink.CRV/USD").set_price(PRICE)
    approve = Function.parse("approve(address,uint256)").encode(crv_2022.POOL, 2**256 - 1)
    for account in accounts[1:3]:
        fork.deal("CRV", account, 500_000 * CRV)
        fork.send("CRV", approve, sender=account)
    put_on_node(node, fork)
    chain = ChainHistory(node, dict(fork.labels), node.block_number + 1, accounts)
    _liquidate(chain)
    return LiquidationHistory(chain)


def _liquidate(chain: ChainHistory) -> None:
    node = chain.node
    node.rpc("hardhat_mine", hex(crv_2022.FIRST_BLOCK - node.block_number - 1), "0x1")
    node.rpc("evm_setNextBlockTimestamp", hex(crv_2022.BEGIN + 12))
    user = bytes.fromhex(crv_2022.ACCOUNT[2:])
    chain.call("first", 1, "AaveV2.Pool", _LIQUIDATE, "USDC", "CRV", user, REPAID["first"], False)
    node.rpc("evm_setAutomine", False)
    node.rpc("evm_setNextBlockTimestamp", hex(crv_2022.BEGIN + 24))
    chain.call("second", 1, "AaveV2.Pool", _LIQUIDATE, "USDC", "CRV", user, REPAID["second"], False)
    chain.call("third", 2, "AaveV2.Pool", _LIQUIDATE, "USDC", "CRV", user, REPAID["third"], False)
    chain.call("transfer", 2, "CRV", "transfer(address,uint256)", chain.address(4), 5 * CRV)
    node.rpc("evm_mine")
    node.rpc("evm_setAutomine", True)
    chain.last = node.block_number
    node.rpc("hardhat_mine", hex(crv_2022.LAST_BLOCK - node.block_number), "0x1")

"""History of real transactions on a node with the replica: swaps, loans, a liquidation, a failure, a creation.

Every transaction is signed by one of the node's own accounts, as on a real chain: a replay recovers its sender from the
signature.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mayavi import Fork
from mayavi.evm.abi.interface import Function
from mayavi.evm.hashing import create_address
from mayavi.evm.token_balance import slot_behind
from tests.node.hardhat import Hardhat, NodeError
from tests.node.replica_on_node import put_on_node

ETHER = 10**18
USDC = 10**6
GWEI = 10**9
_SWAP = (
    "exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 deadline,"
    " uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96) params)"
)
CREATION = "6005600055600a6011600039600a6000f360005460010160005500"
"""Creation code of a contract that starts with 5 in slot 0 and adds 1 at every call."""
DOOMED = "6002600c60003960026000f333ff"
"""Creation code of a contract that destroys itself when called."""
HISTORIAN = "6009600c60003960096000f3600343034060005500"
"""Creation code of a contract that stores the hash of the block three before."""
FRESH = "0x" + "fe" * 20
"""Account that nobody has used before."""


@dataclass
class ChainHistory:
    """Node with a history from block `first` to `last`; `hashes` names its transactions."""

    node: Hardhat
    labels: dict[str, str]
    first: int
    accounts: list[str]
    hashes: dict[str, str] = field(default_factory=dict)
    last: int = 0
    answers: dict[str, str] = field(default_factory=dict)
    """Answers of the node that proxies in front of it have passed on."""

    def send(
        self, name: str, sender: int, to: str | None, data: bytes = b"", value: int = 0, gas: int = 3_000_000
    ) -> None:
        """Send a signed transaction; in automine it gets its own block, successful or not."""
        transaction = {
            "from": self.accounts[sender],
            "data": "0x" + data.hex(),
            "value": hex(value),
            "gas": hex(gas),
            "maxFeePerGas": hex(3 * GWEI),
            "maxPriorityFeePerGas": hex(GWEI),
        }
        if to is not None:
            transaction["to"] = self.labels.get(to, to)
        with suppress(NodeError):  # the node reports a failure and mines the transaction all the same
            self.node.rpc("eth_sendTransaction", transaction)
        pending = self.node.rpc("eth_getBlockByNumber", "pending", False)["transactions"]
        mined = self.node.rpc("eth_getBlockByNumber", "latest", False)["transactions"]
        self.hashes[name] = (pending or mined)[-1]

    def call(self, name: str, sender: int, to: str, function: str, *arguments: object, **more: Any) -> None:
        values = [self.labels.get(each, each) if isinstance(each, str) else each for each in arguments]
        self.send(name, sender, to, Function.parse(function).encode(*values), **more)

    def address(self, index: int) -> bytes:
        return bytes.fromhex(self.accounts[index][2:])

    def swap(self, name: str, sender: int, sold: str, bought: str, amount: int, least: int = 0) -> None:
        params = (self.labels[sold], self.labels[bought], 500, self.address(sender), 2**40, amount, least, 0)
        values = [bytes.fromhex(each[2:]) if isinstance(each, str) else each for each in params]
        self.send(name, sender, "UniswapV3.SwapRouter", Function.parse(_SWAP).encode(tuple(values)), gas=500_000)

    def block_of(self, name: str) -> int:
        return int(self.receipt(name)["blockNumber"], 16)

    def receipt(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.node.rpc("eth_getTransactionReceipt", self.hashes[name])
        return found


def start_history(folder: Path) -> ChainHistory:
    """Start a node with the replica of Ethereum and make a history of signed transactions on it."""
    replica = Fork.replica("ethereum").copy()
    first_timestamp = replica.timestamp - replica.block_number - 100_000
    node = Hardhat.start(folder, chain_id=1, first_timestamp=first_timestamp)
    accounts: list[str] = node.rpc("eth_accounts")
    feed = replica.address_of("Chainlink.ETH/USD")
    owner = slot_behind(replica, feed, Function.parse("owner()").encode())
    replica.set_storage(*owner, int(accounts[3], 16))
    last = put_on_node(node, replica)
    history = ChainHistory(node, dict(replica.labels), last + 1, accounts)
    make_history(history)
    history.last = node.block_number
    return history


def make_history(history: ChainHistory) -> None:
    """Alice (0) trades and borrows, Bob (1) liquidates her, the feed's owner (3) moves the price."""
    maximum = 2**256 - 1
    for sender in (0, 1):
        history.send(f"wrap {sender}", sender, "WETH", bytes.fromhex("d0e30db0"), value=100 * ETHER)
        for spender in ("UniswapV3.SwapRouter", "AaveV3.Pool"):
            history.call(f"approve {sender} {spender}", sender, "WETH", "approve(address,uint256)", spender, maximum)
    history.swap("swap", 0, "WETH", "USDC", 3 * ETHER)
    supply = "supply(address,uint256,address,uint16)"
    history.call("supply", 0, "AaveV3.Pool", supply, "WETH", 10 * ETHER, history.address(0), 0)
    borrow = "borrow(address,uint256,uint256,uint16,address)"
    history.call("borrow", 0, "AaveV3.Pool", borrow, "USDC", 19_000 * USDC, 2, 0, history.address(0))
    history.call("too much", 0, "AaveV3.Pool", borrow, "USDC", 90_000 * USDC, 2, 0, history.address(0))
    history.send("creation", 2, None, bytes.fromhex(CREATION))
    _dependent_block(history)
    _block_with_a_creation(history)
    history.call("crash", 3, "Chainlink.ETH/USD", "set_answer(int256)", 2_100 * 10**8)
    liquidate = "liquidationCall(address,address,address,uint256,bool)"
    history.call("approve USDC", 1, "USDC", "approve(address,uint256)", "AaveV3.Pool", maximum)
    history.call("liquidation", 1, "AaveV3.Pool", liquidate, "WETH", "USDC", history.address(0), 5_000 * USDC, False)
    for name, code in (("doomed", DOOMED), ("historian", HISTORIAN)):
        history.send(name, 2, None, bytes.fromhex(code), value=0)
        history.send(f"{name} called", 2, history.receipt(name)["contractAddress"])
    history.node.rpc("evm_mine")  # an empty block


def _dependent_block(history: ChainHistory) -> None:
    """One block in which each transaction depends on the one before."""
    node = history.node
    node.rpc("evm_setAutomine", False)
    history.swap("first of block", 1, "WETH", "USDC", 20 * ETHER)
    history.send("second of block", 2, "WETH", bytes.fromhex("d0e30db0"), value=5 * ETHER)
    history.call("third of block", 2, "WETH", "transfer(address,uint256)", history.address(4), 5 * ETHER)
    history.call("fourth of block", 4, "WETH", "withdraw(uint256)", 2 * ETHER)
    node.rpc("evm_mine")
    node.rpc("evm_setAutomine", True)


def _block_with_a_creation(history: ChainHistory) -> None:
    """One block in which a contract is created and called twice, and a new account is funded twice."""
    node = history.node
    nonce = int(node.rpc("eth_getTransactionCount", history.accounts[2], "latest"), 16)
    created = "0x" + create_address(history.address(2), nonce).hex()
    node.rpc("evm_setAutomine", False)
    history.send("creation in place", 2, None, bytes.fromhex(CREATION))
    history.send("first use", 2, created, value=0)
    history.send("second use", 2, created, value=0)
    history.send("first gift", 4, FRESH, value=ETHER)
    history.send("second gift", 4, FRESH, value=2 * ETHER)
    node.rpc("evm_mine")
    node.rpc("evm_setAutomine", True)

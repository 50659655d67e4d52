"""Chainlink-compatible price feeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.evm.address import AddressLike

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

_FEED = [
    "latestAnswer() view returns (int256)",
    "owner() view returns (address)",
    "set_answer(int256 answer)",
]


class ReplicaFeed:
    """A feed of a replica, whose owner may post any price. `feed` is a label such as `Chainlink.ETH/USD`."""

    def __init__(self, fork: Fork, feed: AddressLike) -> None:
        self.contract = fork.contract(feed, _FEED)

    @property
    def answer(self) -> int:
        """The price that stands, in the feed's own decimals."""
        price: int = self.contract.latestAnswer()
        return price

    def post(self, answer: int) -> None:
        """Post `answer` as the next round, at the time of this block."""
        self.contract.set_answer(answer, sender=self.contract.owner())

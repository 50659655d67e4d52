"""A price feed that programs post to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.errors import ExecutionError, UsageError
from mayavi.evm.address import account_address
from mayavi.evm.fleet import Program, Template, Word
from mayavi.evm.fork.token_balance import slot_behind
from mayavi.protocols.chainlink.price_feed import PriceFeed

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork

ORACLE = account_address("oracle")
"""Owner of a feed that replaces a chain's own."""


class PostedFeed:
    """Price feed at `address` whose owner posts rounds by transactions.

    A chain's own feed accepts rounds only from its oracles. On a fork it is replaced by the feed of the replica before
    the first episode, with the same decimals, answer and round.
    """

    def __init__(self, fork: Fork, address: bytes) -> None:
        self.address = address
        contract = PriceFeed(fork, address).contract
        if _answer(fork, address, contract.ratio.encode()):
            raise UsageError(
                f"{fork.name(address)} has no price of its own: it follows another feed", "take WETH as collateral"
            )
        if _answer(fork, address, contract.aggregator.encode())[-20:] != address:
            _replace(fork, PriceFeed(fork, address))
        self._place = slot_behind(fork, address, contract.latestAnswer.encode())
        self._owner: bytes = contract.owner()
        self._scale = 10 ** int(contract.decimals())
        self._post: bytes = contract.set_answer.encode(0)

    def price_e8(self, program: Program) -> Word:
        """Latest answer of the feed, with eight decimals."""
        return program.multiply_divide(program.load(*self._place), 10**8, self._scale)

    def post(self, program: Program, price_e8: Word, mask: Word | int) -> None:
        """Post `price_e8` as the latest answer where `mask` is not zero."""
        answer = program.multiply_divide(price_e8, self._scale, 10**8)
        program.call(Template(self.address, self._post, {4: answer}, sender=self._owner), mask=mask)


def _answer(fork: Fork, address: bytes, view: bytes) -> bytes:
    """Result of a view; empty if the contract does not have it."""
    try:
        return fork.call(address, view)
    except ExecutionError:
        return b""


def _replace(fork: Fork, feed: PriceFeed) -> None:
    from mayavi.worlds.artifacts import ArtifactStore

    latest, place = feed.latest_round, feed.contract.address
    facts = feed.description, feed.decimals, latest.answer, latest.round_id, latest.updated_at, ORACLE
    initcode = ArtifactStore().get("PriceFeed").initcode(facts)
    fork.set_code(place, b"")
    fork.set_nonce(place, 0)
    fork.create_at(place, initcode, sender=ORACLE)

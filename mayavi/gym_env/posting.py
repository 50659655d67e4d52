"""Prices that a program posts to a feed."""

from __future__ import annotations

from mayavi.errors import UsageError
from mayavi.evm.fleet import Program, Template, Word
from mayavi.evm.fork import Fork
from mayavi.gym_env.slots import slot_behind
from mayavi.protocols.price_feed import PriceFeed
from mayavi.sim.world_state import account_address

ORACLE = account_address("oracle")
_VIEWS = ["aggregator() view returns (address)", "ratio() view returns (uint256)"]


class Posting:
    """A feed that a program can post to: that of a replica, whose owner posts.

    A chain's own feed listens to nobody but its oracles. On a fork of such a chain a feed of ours takes its place, with
    the same decimals, answer and round, before the first episode.
    """

    def __init__(self, fork: Fork, feed: PriceFeed) -> None:
        place = feed.contract.address
        views = fork.contract(place, _VIEWS)
        if _told(fork, place, views.ratio.encode()):
            raise UsageError(
                f"{feed.name} has no price of its own: it follows another feed", "take a collateral that has, as WETH"
            )
        if _told(fork, place, views.aggregator.encode())[-20:] != place:
            _replace(fork, feed)
        slot = slot_behind(fork, place, feed.contract.latestAnswer.encode())
        if slot is None:
            raise UsageError(f"{feed.name} does not keep its answer in a slot of its own", "take another collateral")
        self.contract, self.slot = feed.contract, slot
        self.owner: bytes = feed.contract.owner()
        self.scale = 10**feed.decimals

    def price_e8(self, program: Program) -> Word:
        """What the feed answers, with eight decimals."""
        return program.multiply_divide(program.load(self.contract.address, self.slot), 10**8, self.scale)

    def post(self, program: Program, price_e8: Word) -> Word:
        """Post a price where it is another; where it is zero nothing is posted. What the feed answers then."""
        answer = program.multiply_divide(price_e8, self.scale, 10**8)
        known = program.equal(answer, program.load(self.contract.address, self.slot))
        call = Template(self.contract.address, self.contract.set_answer.encode(0), {4: answer}, sender=self.owner)
        program.call(call, mask=program.either(known, 0, answer))
        return self.price_e8(program)


def _told(fork: Fork, place: bytes, view: bytes) -> bytes:
    """What a view returns; nothing where the contract does not have it."""
    from mayavi.errors import ExecutionError

    try:
        return fork.call(place, view)
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

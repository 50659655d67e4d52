"""A price feed that programs post to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mayavi.evm.fleet import Program, Template, Word
from mayavi.evm.hashing import selector_of

if TYPE_CHECKING:
    from mayavi.evm.fork import Fork


class PostedFeed:
    """The feed at `address`: the replica's own, whose owner posts a round by a transaction."""

    def __init__(self, fork: Fork, address: bytes) -> None:
        self.address = address
        self._owner: bytes = fork.contract(address, ["owner() view returns (address)"]).owner()

    def post(self, program: Program, price_e8: Word, mask: Word) -> None:
        """Make `price_e8` its latest answer."""
        data = selector_of("set_answer(int256)") + bytes(32)
        program.call(Template(self.address, data, {4: price_e8}, sender=self._owner), mask=mask)

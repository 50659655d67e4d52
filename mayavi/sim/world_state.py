"""`WorldState`: what all agents of a run share. The chain, the prices outside of it, names, addresses, chance."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

from mayavi.agents.base import Agent
from mayavi.errors import BadInteger, UnknownName, UsageError
from mayavi.evm.address import account_address

if TYPE_CHECKING:
    import numpy as np

    from mayavi.evm.fork import Fork

T = TypeVar("T")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}\b")

SEED_LIMIT = 2**63
"""Seeds are from 0 up to, not including, this: what a signed 64-bit column holds."""


class Prices(Protocol):
    """Prices outside the chain, one for each step and symbol; `mayavi.markets.PricePaths` is one."""

    def usd(self, symbol: str, step: int) -> float:
        """The price of one whole `symbol` at `step`, in US dollars."""

    def usd_e8(self, symbol: str, step: int) -> int:
        """The same with eight decimals, exact."""


class WorldState:
    """The world of one run: a `World` for its agents.

    `prices` are those of the outside market, one for each step; the chain learns of them where an agent posts them.
    What depends on chance comes from `rng(name)`, what has an address from `address(name)`: both follow from names
    alone, so an agent's fate does not hang on who else is there or where it stands in a list. `fork` belongs to the run
    from here on.
    """

    def __init__(
        self, fork: Fork, agents: Sequence[Agent], *, seed: int, prices: Prices | None = None, threads: int = 1
    ) -> None:
        names = [agent.name for agent in agents]
        twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        if twice:
            raise UsageError(
                f"two agents are called '{twice[0]}'",
                "names are unique in a run: chance and addresses follow from them",
            )
        if any(not name for name in names):
            raise UsageError("an agent has no name", "give it one that no other has")
        if type(threads) is not int or threads < 1:
            raise UsageError(f"{threads!r} threads do nothing", "give at least one thread")
        self.fork = fork
        self.seed = checked_seed(seed)
        self.threads = threads
        self.prices = prices
        self.agents: tuple[Agent, ...] = tuple(agents)
        self.by_name: tuple[Agent, ...] = tuple(sorted(agents, key=lambda agent: agent.name))
        """All agents in the order of their names, which is the order in which they are asked."""
        self.step = -1
        self.gas_price_wei = 0
        self.burned_wei = 0
        """Native coins that were burned as gas so far; tips are not among them, the block's producer has those."""
        self.prepared = False
        self.accounts: dict[bytes, str] = {}
        """Every address handed out so far, and whose it is."""
        self._addresses: dict[str, bytes] = {}
        self._streams: dict[str, np.random.Generator] = {}
        self._seen: dict[Hashable, object] | None = None
        fork.threads = threads

    def prepare(self) -> None:
        """Let every agent set up what it starts with, in the order of their names. Once."""
        if not self.prepared:
            for agent in self.by_name:
                agent.prepare(self)
            self.prepared = True

    # -- what agents see ----------------------------------------------------------------------------------------------

    def rng(self, name: str) -> np.random.Generator:
        """The random stream of `name`: it goes on from call to call, and nothing else draws from it."""
        stream = self._streams.get(name)
        if stream is None:
            stream = self._streams[name] = random_stream(self.seed, name)
        return stream

    def address(self, name: str) -> bytes:
        """The account of `name`; the same name has the same address in every run."""
        address = self._addresses.get(name)
        if address is None:
            address = self._addresses[name] = account_address(name)
            self.accounts[address] = name
        return address

    def named(self, text: str) -> str:
        """`text` with the names of this world's accounts in place of their addresses."""
        return _ADDRESS.sub(lambda found: self.accounts.get(bytes.fromhex(found[0][2:]), found[0]), text)

    def price_usd(self, symbol: str) -> float:
        """What the outside market pays for one whole `symbol` at this step."""
        return self._prices(symbol).usd(symbol, max(self.step, 0))

    def price_usd_e8(self, symbol: str) -> int:
        """The same with eight decimals, as a feed would say it."""
        return self._prices(symbol).usd_e8(symbol, max(self.step, 0))

    def _prices(self, symbol: str) -> Prices:
        if self.prices is None:
            raise UnknownName(f"unknown price '{symbol}'", "this run has no price processes")
        return self.prices

    def observe(self, key: Hashable, read: Callable[[], T]) -> T:
        """What `read` gives, read once a block while agents look; afterwards, and before, it is read anew each time."""
        seen = self._seen
        if seen is None:
            return read()
        if key not in seen:
            seen[key] = read()
        return seen[key]  # type: ignore[return-value]  # the key decides the type

    @contextmanager
    def observing(self) -> Iterator[None]:
        """Inside, all see the same: the chain stands still, and what one has read is there for the others."""
        self._seen = {}
        try:
            yield
        finally:
            self._seen = None

    def __repr__(self) -> str:
        return f"<WorldState of {len(self.agents)} agents on {self.fork!r}, seed {self.seed}, step {self.step}>"


def checked_seed(seed: int) -> int:
    """`seed`, or `BadInteger` where it is none."""
    if type(seed) is not int:
        raise BadInteger(f"seed {seed!r} is not an integer")
    if not 0 <= seed < SEED_LIMIT:
        raise BadInteger(f"seed {seed} is out of range", "a seed is from 0 to 2**63 - 1")
    return seed


def random_stream(seed: int, name: str) -> np.random.Generator:
    """The stream that belongs to `name` in a run with `seed`. No global generator is touched."""
    from numpy.random import PCG64, Generator, SeedSequence

    digest = hashlib.sha256(name.encode()).digest()
    words = [int.from_bytes(digest[start : start + 4], "big") for start in range(0, 32, 4)]
    return Generator(PCG64(SeedSequence([seed, *words])))

"""`WorldState`: shared state of all agents of a run: chain, reference prices, addresses and RNG streams."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from mayavi.agents.base import Agent
from mayavi.errors import BadInteger, ExecutionError, UnknownName, UsageError
from mayavi.evm.address import account_address

if TYPE_CHECKING:
    import numpy as np

    from mayavi.evm.fork import Fork

T = TypeVar("T")
_UNREAD = object()
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}\b")

SEED_LIMIT = 2**63
"""Exclusive upper bound of seeds, which are stored in a signed 64-bit column."""


class Prices(Protocol):
    """Protocol for prices off chain, by symbol and step, such as `mayavi.markets.PricePaths`."""

    def usd(self, symbol: str, step: int) -> float:
        """Return the price of one whole `symbol` at `step` in US dollars."""

    def usd_e8(self, symbol: str, step: int) -> int:
        """Return the price in US dollars with eight decimals, exact."""


class WorldState:
    """The world of one run; implements `World` for its agents.

    `prices` are off-chain prices by step; feeds on chain change only where an agent posts them. Random numbers come
    from `rng(name)` and accounts from `address(name)`. Both depend on the name alone, so an agent's results do not
    depend on other agents or on its place in a list. The run changes `fork`.
    """

    def __init__(
        self, fork: Fork, agents: Sequence[Agent], *, seed: int, prices: Prices | None = None, threads: int = 1
    ) -> None:
        names = [agent.name for agent in agents]
        twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        if twice:
            raise UsageError(
                f"two agents are called '{twice[0]}'",
                "names are unique in a run: random streams and addresses follow from them",
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
        """All agents sorted by name, the order in which they prepare and observe."""
        self.step = -1
        self.gas_price_wei = 0
        self.burned_wei = 0
        """Wei burned as base fees so far; tips go to the block's producer."""
        self.prepared = False
        self.accounts: dict[bytes, str] = {}
        """Names by address, for every address handed out so far."""
        self._addresses: dict[str, bytes] = {}
        self._streams: dict[str, np.random.Generator] = {}
        self._seen: dict[Hashable, object] | None = None
        fork.threads = threads

    def prepare(self) -> None:
        """Let every agent set up its initial holdings, in the order of names; later calls do nothing."""
        if not self.prepared:
            for agent in self.by_name:
                try:
                    agent.prepare(self)
                except ExecutionError as error:
                    error.message = f"agent '{agent.name}' cannot prepare: {self.named(error.message)}"
                    error.args = (error.message,)
                    raise
            self.prepared = True

    # -- World, for agents --------------------------------------------------------------------------------------------

    def rng(self, name: str) -> np.random.Generator:
        """Return the random generator of `name`; each call returns the same one."""
        stream = self._streams.get(name)
        if stream is None:
            stream = self._streams[name] = random_stream(self.seed, name)
        return stream

    def address(self, name: str) -> bytes:
        """Return the account address of `name`, which is the same in every run."""
        address = self._addresses.get(name)
        if address is None:
            address = self._addresses[name] = account_address(name)
            self.accounts[address] = name
        return address

    def named(self, text: str) -> str:
        """Replace addresses of this world's accounts in `text` by their names."""
        return _ADDRESS.sub(lambda found: self.accounts.get(bytes.fromhex(found[0][2:]), found[0]), text)

    def price_usd(self, symbol: str) -> float:
        """Return the outside price of one whole `symbol` at this step, in dollars."""
        return self._prices(symbol).usd(symbol, max(self.step, 0))

    def price_usd_e8(self, symbol: str) -> int:
        """Return the outside price in dollars with eight decimals, as feeds answer."""
        return self._prices(symbol).usd_e8(symbol, max(self.step, 0))

    def _prices(self, symbol: str) -> Prices:
        if self.prices is None:
            raise UnknownName(f"unknown price '{symbol}'", "this run has no price processes")
        return self.prices

    def observe(self, key: Hashable, read: Callable[[], T]) -> T:
        """Return `read()`, cached by `key` while agents or hooks observe; outside of that, read again each time."""
        seen = self._seen
        if seen is None:
            return read()
        found = seen.get(key, _UNREAD)
        if found is _UNREAD:
            found = seen[key] = read()
        return found  # type: ignore[return-value]  # the key decides the type

    def observing(self) -> _Sharing:
        """Share reads made through `observe` inside the body, during which the chain must not change."""
        return _Sharing(self)

    def __repr__(self) -> str:
        return f"<WorldState of {len(self.agents)} agents on {self.fork!r}, seed {self.seed}, step {self.step}>"


class _Sharing:
    """Context in which a world remembers what is observed."""

    __slots__ = ("_world",)

    def __init__(self, world: WorldState) -> None:
        self._world = world

    def __enter__(self) -> None:
        self._world._seen = {}

    def __exit__(self, *_: object) -> None:
        self._world._seen = None


def checked_seed(seed: int) -> int:
    """Return `seed`; raise `BadInteger` unless it is an integer from 0 to 2**63 - 1."""
    if type(seed) is not int:
        raise BadInteger(f"seed {seed!r} is not an integer")
    if not 0 <= seed < SEED_LIMIT:
        raise BadInteger(f"seed {seed} is out of range", "a seed is from 0 to 2**63 - 1")
    return seed


def random_stream(seed: int, name: str) -> np.random.Generator:
    """Return a new generator for `name` in a run with `seed`; no global state is used."""
    from numpy.random import PCG64, Generator, SeedSequence

    digest = hashlib.sha256(name.encode()).digest()
    words = [int.from_bytes(digest[start : start + 4], "big") for start in range(0, 32, 4)]
    return Generator(PCG64(SeedSequence([seed, *words])))

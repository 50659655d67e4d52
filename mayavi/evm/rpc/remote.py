"""State of a chain at one block, read from a node and cached.

A `RemoteState` is pinned to a *block hash*. Opening resolves the requested block to a header, checks that the header's
fields hash to the hash the node states (except on `header.UNCHECKED_CHAINS`), and checks the chain id. State is then
requested by block hash (EIP-1898). A node that does not support that form, or ignores it (detected by a request for a
block that cannot exist), is asked by number, and the hash at that number is checked again after every batch, before a
value of the batch is used.

Trusted from the cache, so that opening a cached block makes no request:

- which chain an address serves, and the hash of a block number, if the block was at least 64 blocks behind the head
  when it was kept. `verify=True` asks the node all the same.
- headers and state by block hash, without limit of time: they cannot change.
- On development chains (ids 31337 and 1337) a number is trusted at any depth, but per node and only for opening: such
  nodes are restarted and reverted. One request verifies chain id and block hash before the first cached value is used.
  If they differ, the number is forgotten and `BlockHashMismatch` says to open the fork again. If the node is
  unreachable, the fork continues from the cache, with a warning in the log.

The first batch after an opening from the cache also requests chain id and block hash, which are compared before any
fetched value is used. So a warm cache saves requests but no checks.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, SupportsIndex

from mayavi.errors import BlockHashMismatch, MissingStateError
from mayavi.evm.rpc.access import AccessLists
from mayavi.evm.rpc.answers import data, quantity, quantity64
from mayavi.evm.rpc.block_cache import Account, BlockCache
from mayavi.evm.rpc.cache import Cache, CacheUnusable
from mayavi.evm.rpc.client import Call, Clock, RpcClient
from mayavi.evm.rpc.endpoint import url_from_environment as url_from_environment
from mayavi.evm.rpc.header import Header
from mayavi.evm.rpc.opening import (
    DEV_CHAINS,
    BlockWanted,
    Opening,
    checked_header,
    numbering,
    read_chain_id,
    wrong_chain,
)
from mayavi.evm.rpc.refusals import NodeRefused, NodeUnreachable

_log = logging.getLogger("mayavi.evm.rpc.remote")

_BATCH_CALLS = 1000  # fetched, checked and stored together
_NO_BLOCK = {"blockHash": "0x" + "11" * 32}
_NO_ADDRESS = "0x" + "00" * 20

Missing = tuple[str, bytes, int]  # ("account", address, 0) | ("slot", address, slot) | ("block_hash", b"", number)


@dataclass(slots=True)
class Facts:
    """Accounts (balance, nonce, code), slots and block hashes of a node."""

    accounts: dict[bytes, Account] = field(default_factory=dict)
    slots: dict[bytes, dict[int, int]] = field(default_factory=dict)
    block_hashes: dict[int, bytes] = field(default_factory=dict)

    def add_slots(self, slots: Iterable[tuple[tuple[bytes, int], int]]) -> None:
        """Add values keyed by (address, slot)."""
        for (address, slot), value in slots:
            self.slots.setdefault(address, {})[slot] = value


class RemoteState:
    """State of one block of one chain. Open it with `RemoteState.open`; close it, or use it as a context manager."""

    def __init__(
        self, client: RpcClient, cache: Cache, chain_id: int, header: Header, *, check_header: bool, verified: bool
    ) -> None:
        self.client = client
        self.chain_id = chain_id
        self.header = header
        self._cache = cache
        self._block_cache = BlockCache(cache, chain_id, header.hash)
        self._check_header = check_header
        self._verified = verified
        self._cache_alone = not verified  # nothing fetched yet
        self._cache_checked = verified or chain_id not in DEV_CHAINS
        self._by_hash: bool | None = None  # None: not known yet whether the node accepts block hashes
        self._access_lists = AccessLists(client, hex(header.number))
        self.asked = 0
        """Number of accounts, slots and block hashes fetched, from the cache or the node."""

    @classmethod
    def open(
        cls,
        url: str,
        block: SupportsIndex | str | bytes,
        *,
        chain_id: int | None = None,
        cache_dir: Path | str | None = None,
        cached: bool = True,
        verify: bool = False,
        check_header: bool = True,
        budget: int | None = None,
        timeout_s: float = 30.0,
        patience_s: float = 60.0,
        clock: Clock | None = None,
        client: RpcClient | None = None,
    ) -> RemoteState:
        """Open the state at `block`: a number, a block hash, or "latest", "safe" or "finalized".

        `chain_id` is the chain expected (`WrongChain` if the node serves another). `cached=False` keeps nothing on
        disk; neither does a folder in which no file can be made, after a warning in the log. `check_header=False`
        trusts the block hash of the node, for chains whose headers are not Ethereum's. `budget` bounds the HTTP
        requests, `timeout_s` the time of one, `patience_s` the time without a usable answer after which nothing is
        tried again. `client` replaces the one created from `url` and the options.
        """
        wanted = BlockWanted.parse(block)
        own = client is None
        client = client or RpcClient(url, timeout_s=timeout_s, patience_s=patience_s, budget=budget, clock=clock)
        cache = None
        try:
            cache = _open_cache(cache_dir) if cached else Cache.in_memory()
            opening = Opening(client, cache, wanted, chain_id, check_header)
            found = None if verify else opening.from_cache()
            chain, header = found or opening.from_node()
            return cls(client, cache, chain, header, check_header=check_header, verified=found is None)
        except BaseException:
            if own:
                client.close()
            if cache is not None:
                cache.close()
            raise

    @property
    def requests(self) -> int:
        """HTTP requests made so far, retries included."""
        return self.client.requests

    def close(self) -> None:
        """Close the connections and the cache."""
        self.client.close()
        self._cache.close()

    def __enter__(self) -> RemoteState:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        block = f"block {self.header.number} 0x{self.header.hash.hex()[:8]}…"
        return f"RemoteState({self.client.endpoint.shown!r}, chain {self.chain_id}, {block})"

    def known(self) -> Facts:
        """Return everything cached for this block. Makes no request."""
        accounts, slots, block_hashes = self._block_cache.everything()
        facts = Facts(accounts, {}, block_hashes)
        facts.add_slots(slots.items())
        return facts

    def verify(self) -> None:
        """Ask the node for chain id and block hash now: `WrongChain` or `BlockHashMismatch` if they differ."""
        self._check_guards(self.client.batch(self._guards()))

    def fetch(self, missing: Sequence[Missing]) -> Facts:
        """Fetch values from the cache and, in as few batches as possible, from the node.

        The cache of a development node is checked once before it is used. Each value is exact and belongs to the pinned
        block, or an error is raised. Values that arrived before an error stay cached.
        """
        if missing and not self._cache_checked:
            self._check_cache()
        self.asked += len(missing)
        accounts = list(dict.fromkeys(address for kind, address, _ in missing if kind == "account"))
        slots = list(dict.fromkeys((address, key) for kind, address, key in missing if kind == "slot"))
        numbers = list(dict.fromkeys(key for kind, _, key in missing if kind == "block_hash"))
        facts = Facts(self._block_cache.accounts(accounts), {}, self._near_hashes(numbers))
        facts.add_slots(self._block_cache.slots(slots).items())
        facts.block_hashes.update(self._block_cache.block_hashes(n for n in numbers if n not in facts.block_hashes))
        wanted: list[Missing] = [("account", address, 0) for address in accounts if address not in facts.accounts]
        wanted += [("slot", address, key) for address, key in slots if key not in facts.slots.get(address, {})]
        wanted += [("block_hash", b"", number) for number in numbers if number not in facts.block_hashes]
        for batch in _batches(wanted):
            self._fetch_batch(batch, facts)
        return facts

    def access_list(
        self, sender: bytes, to: bytes | None, data: bytes, value: int = 0
    ) -> list[tuple[bytes, list[int]]] | None:
        """Accounts and slots that a call touches on the node; None if the node does not report them.

        For prefetching only: it describes the node's state without the changes of a fork. After an opening from the
        cache it is None until the first fetch, so that cached work makes no request.
        """
        if self._cache_alone:
            return None
        return self._access_lists.of(sender, to, data, value)

    def _check_cache(self) -> None:
        """Check that a development node is still the cached one; continue without it if it is off."""
        try:
            self._check_guards(self.client.batch(self._guards(), fail_fast=True))
        except NodeUnreachable as error:
            _log.warning("%s; going on from the cache, unverified", error.message)
        self._cache_checked = True

    def _near_hashes(self, numbers: Iterable[int]) -> dict[int, bytes]:
        """Hashes known from the pinned header: its own and its parent's."""
        near: dict[int, bytes] = {}
        for number in numbers:
            if number > self.header.number or number < 0:
                raise MissingStateError(
                    f"block {number} has no hash at the node as of block {self.header.number}",
                    "blocks after the forked one exist on the fork only",
                )
            if number == self.header.number:
                near[number] = self.header.hash
            elif number == self.header.number - 1:
                near[number] = self.header.parent_hash
        return near

    def _fetch_batch(self, batch: list[Missing], facts: Facts) -> None:
        self._cache_alone = False
        guards = [] if self._verified else self._guards()
        if self._by_hash is None:
            probe = Call("eth_getBalance", [_NO_ADDRESS, _NO_BLOCK], lambda answer: answer, patient=False)
            answers = self.client.attempt([*guards, probe, *self._calls(batch, by_hash=True)])
            self._check_guards(answers[: len(guards)])
            probed, values = answers[len(guards)], answers[len(guards) + 1 :]
            state_refused = [isinstance(value, NodeRefused) for value in values[: self._state_calls(batch)]]
            ignored = not isinstance(probed, NodeRefused) and probed is not None
            if state_refused:
                self._by_hash = not ignored and not all(state_refused)
            if self._by_hash is False:
                values = self.client.attempt(self._calls(batch, by_hash=False))
        else:
            answers = self.client.attempt([*guards, *self._calls(batch, by_hash=self._by_hash)])
            self._check_guards(answers[: len(guards)])
            values = answers[len(guards) :]
        for value in values:
            if isinstance(value, NodeRefused):
                self.verify()  # a node that was restarted or reorganised refuses too: report that instead
                raise value
        if self._by_hash is False or any(kind == "block_hash" for kind, _, _ in batch):
            self.verify()
        self._collect(batch, values, facts)

    def _calls(self, batch: list[Missing], *, by_hash: bool) -> list[Call]:
        """The calls for `batch`: state first, then block hashes."""
        at: object = {"blockHash": "0x" + self.header.hash.hex()} if by_hash else hex(self.header.number)
        calls: list[Call] = []
        for kind, address, key in batch:
            who = "0x" + address.hex()
            if kind == "account":
                calls.append(Call("eth_getBalance", [who, at], quantity))
                calls.append(Call("eth_getTransactionCount", [who, at], quantity64))
                calls.append(Call("eth_getCode", [who, at], data))
            elif kind == "slot":
                calls.append(Call("eth_getStorageAt", [who, f"0x{key:064x}", at], quantity))
            else:
                calls.append(Call("eth_getBlockByNumber", [hex(key), False], self._read_ancestor(key)))
        return calls

    @staticmethod
    def _state_calls(batch: list[Missing]) -> int:
        return sum(_CALLS[kind] for kind, _, _ in batch if kind != "block_hash")

    def _collect(self, batch: list[Missing], values: list[Any], facts: Facts) -> None:
        accounts: dict[bytes, Account] = {}
        slots: dict[tuple[bytes, int], int] = {}
        block_hashes: dict[int, bytes] = {}
        taken = iter(values)
        for kind, address, key in batch:
            if kind == "account":
                accounts[address] = (next(taken), next(taken), next(taken))
            elif kind == "slot":
                slots[address, key] = next(taken)
            else:
                block_hashes[key] = next(taken)
        self._block_cache.store(accounts, slots, block_hashes)
        facts.accounts.update(accounts)
        facts.add_slots(slots.items())
        facts.block_hashes.update(block_hashes)

    def _read_ancestor(self, number: int) -> Any:
        def read(answer: object) -> bytes:
            header = checked_header(answer, number, self.chain_id, self._check_header, str(self.client.endpoint))
            return header.hash

        return read

    def _guards(self) -> list[Call]:
        def read(answer: object) -> Header | None:
            if answer is None and self.chain_id in DEV_CHAINS:
                return None  # restarted; elsewhere a backend that lags, worth asking again
            return Header.parse(answer)

        return [
            Call("eth_chainId", [], read_chain_id),
            Call("eth_getBlockByNumber", [hex(self.header.number), False], read),
        ]

    def _check_guards(self, answers: list[Any]) -> None:
        if not answers:
            return
        for answer in answers:
            if isinstance(answer, NodeRefused):
                raise answer
        chain_id, header = answers
        if chain_id != self.chain_id:
            self._cache.remember_chain(self.client.endpoint.identity, chain_id, self.client.clock.wall())
            hint = "another node answers at this address now; open the fork again"
            raise wrong_chain(self.client, chain_id, self.chain_id, hint)
        if header is None or header.hash != self.header.hash:
            self._cache.forget_canonical(numbering(self.client, self.chain_id), self.header.number)
            there = "does not have it" if header is None else f"now has 0x{header.hash.hex()} there"
            happened = "restarted or reverted" if self.chain_id in DEV_CHAINS else "restarted, or the chain reorganised"
            raise BlockHashMismatch(
                f"this state belongs to block {self.header.number} 0x{self.header.hash.hex()}, "
                f"but the node at {self.client.endpoint} {there}",
                f"the node was {happened}; open the fork again, by number or as 'latest', to see what it has now",
            )
        self._verified = True


def _open_cache(directory: Path | str | None) -> Cache:
    try:
        return Cache.open(directory)
    except CacheUnusable as error:
        _log.warning("%s; going on without, %s", error.message, error.hint)
        return Cache.in_memory()


_CALLS = {"account": 3, "slot": 1, "block_hash": 1}


def _batches(missing: list[Missing]) -> Iterable[list[Missing]]:
    batch: list[Missing] = []
    calls = 0
    for item in missing:
        batch.append(item)
        calls += _CALLS[item[0]]
        if calls >= _BATCH_CALLS:
            yield batch
            batch, calls = [], 0
    if batch:
        yield batch

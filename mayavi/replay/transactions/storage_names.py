"""Names of storage slots: layouts of known contracts, and keys of mappings found by hashing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from mayavi.evm.hashing import keccak256, keccak_text
from mayavi.evm.receipt import Log
from mayavi.protocols.storage.compound import COMET
from mayavi.protocols.storage.curve import STABLESWAP, TRICRYPTO, TRICRYPTO_POOLS
from mayavi.protocols.storage.layout import Layout
from mayavi.protocols.storage.packed_word import Word
from mayavi.protocols.storage.uniswap import V2_PAIR, V3_POOL, tick_slots
from mayavi.protocols.topics import COMET as COMET_EVENTS
from mayavi.protocols.topics import DEPOSIT, TRANSFER, UNISWAP_V2_SYNC, UNISWAP_V3_SWAP
from mayavi.replay.transactions.token_flows import Holding

BASES = 64
"""Slots at which mappings are looked for."""
ELEMENTS = 256
"""Elements of an array that are looked for."""
TICKS = 2_000
"""Ticks on either side of a swap's end whose slots are named."""
_STANDARD = {
    int.from_bytes(keccak_text(f"eip1967.proxy.{name}")) - 1: f"proxy {name}"
    for name in ("implementation", "admin", "beacon")
}


class SlotNames:
    """Names of the slots of one transaction: who took part, and what its contracts are."""

    def __init__(
        self, logs: Sequence[Log], accounts: Iterable[bytes], labels: Callable[[bytes], str], flows: dict[Holding, int]
    ) -> None:
        self._logs = logs
        self._accounts = list(dict.fromkeys(accounts))
        self._label = labels
        self._flows = flows
        self._single: dict[int, tuple[int, bytes]] | None = None
        self._double: dict[int, tuple[int, bytes, bytes]] | None = None
        self._near: dict[bytes, dict[int, str]] = {}

    def name(self, contract: bytes, slot: int, before: object, after: object) -> str | None:
        """Name of a slot, or None if nothing known leads to it."""
        if slot in _STANDARD:
            return _STANDARD[slot]
        layout = self._layout(contract)
        if layout is V3_POOL and (tick := self._ticks(contract).get(slot)):
            return tick
        if layout is not None:
            if slot in layout.slots:
                return layout.slots[slot]
            for places, name in layout.arrays:
                if slot in places:
                    return f"{name}[{slot - places.start}]"
        return self._mapping(contract, slot, layout, before, after)

    def word(self, contract: bytes, name: str | None) -> Word | None:
        """Return the fields of a named slot, if its contract's layout tells them."""
        layout = self._layout(contract)
        return layout.word(name) if layout is not None and name is not None else None

    def _layout(self, contract: bytes) -> Layout | None:
        label = self._label(contract)
        topics = {log.topics[0] for log in self._logs if log.address == contract and log.topics}
        if UNISWAP_V3_SWAP in topics:
            return V3_POOL
        if UNISWAP_V2_SYNC in topics:
            return V2_PAIR
        if label.startswith("Curve."):
            return STABLESWAP
        if contract in TRICRYPTO_POOLS:
            return TRICRYPTO
        if label.startswith("CompoundV3.") or topics & COMET_EVENTS:
            return COMET
        return None

    def _ticks(self, pool: bytes) -> dict[int, str]:
        """Names of the slots of ticks near those that the pool's swaps ended at."""
        if pool not in self._near:
            found: dict[int, str] = {}
            for log in self._logs:
                if log.address == pool and log.topics and log.topics[0] == UNISWAP_V3_SWAP and len(log.data) == 160:
                    end = int.from_bytes(log.data[-32:], signed=True)
                    found.update(tick_slots(range(end - TICKS, end + TICKS + 1)))
            self._near[pool] = found
        return self._near[pool]

    def _mapping(self, contract: bytes, slot: int, layout: Layout | None, before: object, after: object) -> str | None:
        named = layout.mappings if layout else {}
        for base in range(BASES):  # an array whose elements start at the hash of its slot
            place = slot - _array_start(base)
            if 0 <= place < ELEMENTS:
                return f"{named.get(base, f'array {base}')}[{place}]"
        if found := self._keys().get(slot):
            base, key = found
            if self._is_balance(contract, key, before, after):
                return f"balance of {self._label(key)}"
            return f"{named.get(base, f'mapping {base}')}[{self._label(key)}]"
        if pair := self._pairs().get(slot):
            base, key, inner = pair
            if base not in named and self._is_token(contract):
                return f"allowance of {self._label(key)} to {self._label(inner)}"
            return f"{named.get(base, f'mapping {base}')}[{self._label(key)}][{self._label(inner)}]"
        return None

    def _is_token(self, contract: bytes) -> bool:
        kinds = (TRANSFER, DEPOSIT)
        return any(log.address == contract and log.topics and log.topics[0] in kinds for log in self._logs)

    def _is_balance(self, contract: bytes, key: bytes, before: object, after: object) -> bool:
        if not isinstance(before, int) or not isinstance(after, int):
            return False
        return self._flows.get(Holding(key, contract)) == after - before

    def _keys(self) -> dict[int, tuple[int, bytes]]:
        if self._single is None:
            self._single = {}
            for account in self._accounts:
                for base in range(BASES):
                    for slot in _mapping_slots(account.rjust(32, b"\0"), base.to_bytes(32)):
                        self._single[int.from_bytes(slot)] = (base, account)
        return self._single

    def _pairs(self) -> dict[int, tuple[int, bytes, bytes]]:
        if self._double is None:
            self._double = {}
            for outer, (base, account) in self._keys().items():
                place = outer.to_bytes(32)
                for inner in self._accounts:
                    for slot in _mapping_slots(inner.rjust(32, b"\0"), place):
                        self._double[int.from_bytes(slot)] = (base, account, inner)
        return self._double


def _mapping_slots(key: bytes, base: bytes) -> tuple[bytes, bytes]:
    """Slots of a mapping's entry, as Solidity and as Vyper lay it out."""
    return keccak256(key + base), keccak256(base + key)


@cache
def _array_start(base: int) -> int:
    return int.from_bytes(keccak256(base.to_bytes(32)))

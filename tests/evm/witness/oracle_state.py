"""States in tries of py-trie, an implementation that shares nothing with the kernel's."""

from __future__ import annotations

from dataclasses import dataclass, field

import rlp
from trie import HexaryTrie

from mayavi.evm.hashing import keccak256

EMPTY_ROOT = bytes.fromhex("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421")


@dataclass
class OracleAccount:
    """One account; zero slots do not count."""

    nonce: int = 0
    balance: int = 0
    code: bytes = b""
    slots: dict[int, int] = field(default_factory=dict)

    def storage(self) -> HexaryTrie:
        trie = HexaryTrie({})
        for slot, value in self.slots.items():
            if value:
                trie[keccak256(slot.to_bytes(32, "big"))] = rlp.encode(value)
        return trie

    def encoded(self) -> bytes:
        return rlp.encode([self.nonce, self.balance, self.storage().root_hash, keccak256(self.code)])


@dataclass
class OracleState:
    """Accounts by address."""

    accounts: dict[bytes, OracleAccount] = field(default_factory=dict)

    def trie(self) -> HexaryTrie:
        trie = HexaryTrie({})
        for address, account in self.accounts.items():
            trie[keccak256(address)] = account.encoded()
        return trie

    @property
    def root(self) -> bytes:
        return bytes(self.trie().root_hash)

    @property
    def codes(self) -> list[bytes]:
        return [account.code for account in self.accounts.values() if account.code]

    def nodes(self) -> list[bytes]:
        """Every node of the state trie and of the storage tries."""
        found: dict[bytes, None] = {}
        for trie in (self.trie(), *(account.storage() for account in self.accounts.values())):
            found.update(dict.fromkeys(whole_nodes(trie)))
        return list(found)

    def proof(self, address: bytes, *slots: int) -> list[bytes]:
        """Nodes on the way to an account and to slots of it."""
        found = path_nodes(self.trie(), keccak256(address))
        account = self.accounts.get(address)
        for slot in slots:
            if account is not None:
                found += path_nodes(account.storage(), keccak256(slot.to_bytes(32, "big")))
        return list(dict.fromkeys(found))


def whole_nodes(trie: HexaryTrie) -> list[bytes]:
    """Nodes that the root reaches; py-trie also keeps those of earlier roots."""
    if trie.root_hash == EMPTY_ROOT:
        return []
    found, open_ = [], [bytes(trie.root_hash)]
    while open_:
        raw = trie.db[open_.pop()]
        found.append(raw)
        pending = list(rlp.decode(raw))
        while pending:
            item = pending.pop()
            if isinstance(item, list | tuple):
                pending += item
            elif len(item) == 32 and item in trie.db:
                open_.append(item)
    return found


def path_nodes(trie: HexaryTrie | None, key: bytes) -> list[bytes]:
    """Nodes from the root to a key, or to where it would be; those inside others are left out."""
    if trie is None or trie.root_hash == EMPTY_ROOT:
        return []
    encoded = [rlp.encode(node) for node in trie.get_proof(key)]
    return [raw for position, raw in enumerate(encoded) if position == 0 or len(raw) >= 32]

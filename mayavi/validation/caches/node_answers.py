"""Check the cached answers of nodes: checksums, storage triples, and on request the node itself."""

from __future__ import annotations

from pathlib import Path

from mayavi.evm.address import checksum
from mayavi.evm.hashing import keccak256
from mayavi.evm.rpc.audit import CachedBlock, audit_cache
from mayavi.evm.rpc.cache import CacheError
from mayavi.evm.rpc.remote import Missing, RemoteState
from mayavi.validation.caches.world_triples import chain_triples
from mayavi.validation.gate import Tally
from mayavi.worlds.known_storage import known_triples


def check_rpc_cache(path: Path, tally: Tally, rpc_url: str | None = None) -> None:
    """Check every row of the cache file at `path`, its known words, and with `rpc_url` all words against the node."""
    part = "answers of nodes"
    if not path.is_file():
        tally.notes.append(f"there are no cached answers of nodes at '{path}'")
        return
    try:
        audit = audit_cache(path)
    except CacheError as error:
        tally.check(False, str(error), part=part)
        return
    if audit.rows:
        tally.check(True, "", part=part, cases=audit.rows)
    for fault in audit.faults:
        tally.check(False, f"'{path}': {fault}", part=part, cases=0)
    for block in audit.blocks:
        _check_block(block, tally, f"'{path}', {block.name}")
        if rpc_url is not None:
            _compare_with_node(block, rpc_url, tally, f"'{path}', {block.name}")


def _check_block(block: CachedBlock, tally: Tally, where: str) -> None:
    number = -1 if block.header is None else block.header.number
    for triple in (*known_triples(block.chain_id, number), *chain_triples(block.chain_id)):
        if (triple.address, triple.slot) in block.slots:
            fault = triple.fault(block.slots[triple.address, triple.slot])
            tally.check(not fault, f"{where}: {fault}", part="answers of nodes")


def _compare_with_node(block: CachedBlock, rpc_url: str, tally: Tally, where: str) -> None:
    with RemoteState.open(rpc_url, block.hash, cached=False) as node:
        if node.chain_id != block.chain_id:
            tally.notes.append(f"{block.name} is not compared: the node serves chain {node.chain_id}")
            return
        wanted: list[Missing] = [("account", address, 0) for address in block.accounts]
        wanted += [("slot", address, slot) for address, slot in block.slots]
        facts = node.fetch(wanted)
    for address, cached in block.accounts.items():
        balance, nonce, code = facts.accounts[address]
        code_hash = int.from_bytes(keccak256(code), "big")
        words = {
            "balance": (cached[0], balance),
            "nonce": (cached[1], nonce),
            "code hash": (int.from_bytes(cached[2], "big"), code_hash),
        }
        for field, (kept, asked) in words.items():
            shown = f"{where}: {field} of {checksum(address)} is {kept:#x}, the node says {asked:#x}"
            tally.check(kept == asked, shown, part="words of the node")
    for (address, slot), kept in block.slots.items():
        asked = facts.slots[address][slot]
        shown = f"{where}: slot {slot:#x} of {checksum(address)} holds {kept:#x}, the node says {asked:#x}"
        tally.check(kept == asked, shown, part="words of the node")

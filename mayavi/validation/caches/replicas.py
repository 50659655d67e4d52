"""Check cached replicas: every word against a replica built now, and against the facts of its table."""

from __future__ import annotations

from pathlib import Path

from mayavi.errors import SnapshotError
from mayavi.evm.address import checksum
from mayavi.evm.fork import Fork
from mayavi.evm.snapshot.contents import Difference, WorldContents, differences
from mayavi.validation.caches.snapshots import check_triples
from mayavi.validation.caches.world_triples import replica_triples
from mayavi.validation.gate import Tally
from mayavi.worlds.builder import build_replica
from mayavi.worlds.tables.chain import load_table


def check_replica(chain: str, path: Path, tally: Tally) -> None:
    """Compare the cached replica at `path` with one built now, and with the facts of its table."""
    part, table = f"replica {chain}", load_table(chain)
    try:
        cached = Fork.load_snapshot(path)
    except SnapshotError as error:
        tally.check(False, f"{part}: {error}", part=part)
        return
    check_triples(cached, replica_triples(table), tally, where=f"{part} at '{path}'", part=part)
    fresh = build_replica(table)
    worlds = [WorldContents.of(fork.freeze().dump()) for fork in (fresh, cached)]
    words = sum(len(account.slots) + 3 for account in worlds[0].accounts.values())
    found = list(differences(worlds[0], worlds[1]))
    tally.check(not found, lambda: f"{part} at '{path}': {_text(found[0], cached)}", part=part, cases=words)
    if fresh.labels != cached.labels:
        odd = sorted(set(fresh.labels.items()) ^ set(cached.labels.items()))[0]
        tally.check(False, f"{part} at '{path}': label {odd[0]} differs at {odd[1]}", part=part)


def _text(found: Difference, fork: Fork) -> str:
    name = "the block" if found.address is None else fork.name(found.address)
    place = f" ({checksum(found.address)})" if found.address is not None and not name.startswith("0x") else ""
    field = f"slot {found.slot:#x}" if found.field == "slot" and found.slot is not None else found.field
    before, after = (hex(each) if isinstance(each, int) else each for each in (found.before, found.after))
    return f"{field} of {name}{place} holds {after}, expected {before}"

"""Check snapshot files and the storage triples of a world."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mayavi.errors import MissingStateError, SnapshotError
from mayavi.evm.fork import Fork
from mayavi.evm.snapshot.file import read_info
from mayavi.evm.storage_triples import StorageTriple
from mayavi.validation.caches.world_triples import chain_triples
from mayavi.validation.gate import Tally
from mayavi.worlds.known_storage import known_triples


def check_snapshot(path: Path, tally: Tally) -> None:
    """Check the file at `path`: its checksum, its digest, and the triples of its chain and block."""
    part = f"snapshot {path.name}"
    try:
        fork, info = Fork.load_snapshot(path), read_info(path)
    except SnapshotError as error:
        tally.check(False, str(error), part=part)
        return
    same = fork.digest() == info.digest
    tally.check(same, f"'{path}': its state has digest {fork.digest()}, its metadata say {info.digest}", part=part)
    triples = [*known_triples(fork.chain_id, fork.block_number), *chain_triples(fork.chain_id)]
    check_triples(fork, triples, tally, where=f"'{path}'", part=part)


def check_triples(fork: Fork, triples: Iterable[StorageTriple], tally: Tally, *, where: str, part: str) -> None:
    """Check each triple whose word is part of the world."""
    for triple in triples:
        try:
            value = fork.storage(triple.address, triple.slot)
        except MissingStateError:
            continue
        fault = triple.fault(value)
        tally.check(not fault, f"{where}: {fault}", part=part)

"""Gate `cache`: cached replicas, cached answers of nodes and snapshots, down to the single word."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mayavi.cache_directory import default_cache_dir
from mayavi.evm.rpc.cache import FILE_NAME
from mayavi.validation.caches.node_answers import check_rpc_cache
from mayavi.validation.caches.replicas import check_replica
from mayavi.validation.caches.snapshots import check_snapshot
from mayavi.validation.gate import GateContext, GateReport, Progress, Tally
from mayavi.worlds import world_names
from mayavi.worlds.cache import cached_replica
from mayavi.worlds.known_storage import ETHEREUM, ETHEREUM_BLOCK

Step = Callable[[GateContext, Tally], None]


@dataclass(frozen=True, slots=True)
class CacheGate:
    """Compare caches with what they must hold; the first poisoned entry is named with address and slot."""

    snapshots: Sequence[Path] = ()
    """Snapshot files to check as well."""
    rpc_url: str | None = None
    """Node to compare the cached answers of its chain with, word by word."""
    name: str = "cache"
    what: str = "cached words with rebuilt replicas, checksums and storage triples"

    def run(self, context: GateContext, progress: Progress) -> GateReport:
        """Check replicas, the cache of nodes' answers, snapshots and the recorded chain."""
        tally = Tally()
        steps: list[Step] = [_replica_step(chain) for chain in world_names()]
        steps += [_recorded_step, self._rpc_step, *map(_snapshot_step, self.snapshots)]
        for done, step in enumerate(steps):
            progress(done, len(steps))
            step(context, tally)
        progress(len(steps), len(steps))
        return tally.report(self.what)

    def _rpc_step(self, context: GateContext, tally: Tally) -> None:
        check_rpc_cache((context.cache_dir or default_cache_dir()) / FILE_NAME, tally, self.rpc_url)


def _replica_step(chain: str) -> Step:
    def step(context: GateContext, tally: Tally) -> None:
        path = cached_replica(chain, context.cache_dir)
        if path is None:
            tally.notes.append(f"the replica of {chain} is not cached")
            return
        check_replica(chain, path, tally)

    return step


def _snapshot_step(path: Path) -> Step:
    return lambda _, tally: check_snapshot(path, tally)


def _recorded_step(context: GateContext, tally: Tally) -> None:
    """Compare the known triples with the recorded chain; without the recording nothing is compared."""
    if context.cases is None:
        return
    path = context.cases / "mainnet" / "blocks" / str(ETHEREUM_BLOCK + 1) / "pre_state.json.gz"
    if not path.is_file():
        return
    content = {key.lower(): account for key, account in json.loads(gzip.decompress(path.read_bytes())).items()}
    for triple in ETHEREUM:
        slots = content.get(f"0x{triple.address.hex()}", {}).get("storage", {})
        words = {int(slot, 16): int(value, 16) for slot, value in slots.items()}
        if triple.slot in words:
            fault = triple.fault(words[triple.slot])
            tally.check(not fault, f"recorded block {ETHEREUM_BLOCK + 1}: {fault}", part="recorded chain")

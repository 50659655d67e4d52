"""Cache of built replicas: one snapshot file each, so that a replica is built once and opened many times.

The file name holds a hash of everything the replica depends on: its table, the pinned packages, our contract sources
and the code of this package. If any of them changes, the replica is built again.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path

from mayavi.cache_directory import default_cache_dir, remove_abandoned
from mayavi.errors import SnapshotError
from mayavi.evm.fork import Fork
from mayavi.worlds.contract_folder import ContractFolder
from mayavi.worlds.tables.paths import is_market, market_name, replica_block, table_path

_log = logging.getLogger("mayavi.worlds")
_KEPT_PER_REPLICA = 4


def open_replica(
    chain: str,
    *,
    block: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    cache_dir: Path | None = None,
    rebuild: bool = False,
) -> Fork:
    """See `mayavi.worlds.open_world`."""
    path = replica_path(chain, cache_dir, block)
    if not rebuild:
        try:
            if path.exists():
                return Fork.load_snapshot(path)
        except (OSError, SnapshotError) as error:
            _log.warning("the cached replica of %s is built again: %s", chain, error)
    from mayavi.worlds.builder import build_replica
    from mayavi.worlds.tables.market import load_world

    built = build_replica(load_world(chain, block), progress=progress)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        built.dump_snapshot(path)
        _drop_old(path)
    except (OSError, SnapshotError) as error:
        # The replica can be used even if it cannot be cached.
        _log.warning("the replica of %s could not be cached in '%s': %s", chain, path.parent, error)
    # Freeze the state, as loading does: copies then cost only their own writes, not the whole state.
    return Fork.from_state(built.freeze(), labels=built.labels, source=built.source)


def replica_path(chain: str, cache_dir: Path | None = None, block: int | None = None) -> Path:
    """Cache file of the replica of `chain` at `block`, as it would be built now."""
    dated = replica_block(chain, block)
    name = (market_name(chain) if is_market(chain) else chain) if dated is None else f"{chain}@{dated}"
    key = _key(table_path(chain, dated))
    return (cache_dir or default_cache_dir()) / "replicas" / f"{name}-{key}.snapshot"


def cached_replica(chain: str, cache_dir: Path | None = None, block: int | None = None) -> Path | None:
    """Cache file of the replica of `chain` at `block`, or None if it is not built or the cache cannot be read."""
    path = replica_path(chain, cache_dir, block)
    try:
        return path if path.is_file() else None
    except OSError:
        return None


def _key(table: Path) -> str:
    sources = ContractFolder.default().sources
    inputs = [
        table,
        sources / "package-lock.json",
        sources / "aave_v36" / "package-lock.json",
        *sorted((sources / "vyper").glob("*.vy")),
        *sorted(Path(__file__).parent.rglob("*.py")),
    ]
    digest = hashlib.sha256()
    for path in inputs:
        content = path.read_bytes() if path.exists() else b""
        digest.update(f"{path.name}:{len(content)}:".encode() + content)
    return digest.hexdigest()[:16]


def _drop_old(path: Path) -> None:
    """Delete the oldest cache files of the same replica, and what killed processes have left of any."""
    remove_abandoned(path.parent)
    name = path.name.rpartition("-")[0]
    same = [each for each in path.parent.glob(f"{name}-*.snapshot") if each.name.rpartition("-")[0] == name]
    for old in sorted(same, key=lambda each: each.stat().st_mtime, reverse=True)[_KEPT_PER_REPLICA:]:
        old.unlink(missing_ok=True)

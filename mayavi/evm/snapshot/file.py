"""Snapshot files: a world on disk that opens without network and gives the same results.

Layout (integers big-endian):

| bytes | what |
|---|---|
| 8 | `MAYAVISN` |
| 2 | format version, now 1 |
| 4 | length of the metadata |
| 8 | length of the compressed world |
| 8 | length of the world before compression |
| 32 | SHA-256 of everything behind this field |
| … | metadata: JSON with sorted keys (source, labels, chain, block, digest, the version that wrote it) |
| … | the world: the kernel's canonical dump (sorted accounts, code by hash, slots, block), zstd |

The digest of a snapshot is the SHA-256 of the world before compression: it identifies the state, not the file. A file
is written beside its place, flushed, and renamed over it, so the old one stays readable until the new one is complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mayavi._kernel import State, zstd_compress, zstd_decompress
from mayavi.errors import SnapshotCorrupt, SnapshotError, SnapshotFutureVersion, SnapshotTruncated

MAGIC = b"MAYAVISN"
VERSION = 1
_HEADER = struct.Struct(">8sHIQQ32s")
_LIMIT = 1 << 34
"""Upper bound of a world's size before compression, so that a damaged length cannot exhaust the memory."""


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """Metadata and sizes of a snapshot file."""

    metadata: dict[str, Any]
    file_bytes: int
    world_bytes: int

    @property
    def digest(self) -> str:
        """Digest of the state."""
        return str(self.metadata["digest"])


def write_snapshot(path: Path, dump: bytes, metadata: dict[str, Any]) -> str:
    """Write a snapshot file and return the digest of its world. The old file stays until the new one is complete."""
    digest = hashlib.sha256(dump).hexdigest()
    meta = json.dumps({**metadata, "digest": digest}, sort_keys=True, separators=(",", ":")).encode()
    world = zstd_compress(dump)
    lengths = struct.pack(">IQQ", len(meta), len(world), len(dump))
    checksum = hashlib.sha256(lengths + meta + world).digest()
    header = _HEADER.pack(MAGIC, VERSION, len(meta), len(world), len(dump), checksum)
    write_atomically(path, header + meta + world)
    return digest


def read_info(path: Path) -> SnapshotInfo:
    """Metadata and sizes of the file at `path`; verifies the checksum."""
    meta, _, size = _read(path)
    return SnapshotInfo(meta, path.stat().st_size, size)


def read_snapshot(path: Path) -> tuple[State, dict[str, Any]]:
    """World and metadata of the file at `path`; `SnapshotError` if it cannot be read."""
    meta, world, size = _read(path)
    try:
        dump = zstd_decompress(world, size)
        if len(dump) != size:
            raise ValueError(f"unpacks to {len(dump)} bytes instead of {size}")
        return State.load(dump), meta
    except ValueError as error:
        raise SnapshotCorrupt(f"snapshot '{path}' is damaged: {error}", _REMEDY) from error


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` to `path` in one step: a reader sees the old file or the new one, even after a crash."""
    if path.is_dir():
        raise SnapshotError(f"'{path}' is a folder", "name the file to write")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except FileNotFoundError as error:
        raise SnapshotError(
            f"'{path}' cannot be written: there is no folder '{path.parent}'", "make it first"
        ) from error
    except OSError as error:
        raise SnapshotError(f"'{path}' cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


_REMEDY = "write it again from its source; the file is not usable in part"


def _read(path: Path) -> tuple[dict[str, Any], bytes, int]:
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise SnapshotError(f"there is no snapshot at '{path}'", "`fork.dump_snapshot(path)` writes one") from error
    except OSError as error:
        raise SnapshotError(f"snapshot '{path}' cannot be read: {error.strerror}") from error
    if content[:8] != MAGIC[: len(content[:8])] or not content:
        raise SnapshotCorrupt(f"'{path}' is not a Mayavi snapshot: it does not start with {MAGIC.decode()}")
    if len(content) < _HEADER.size:
        raise SnapshotTruncated(f"snapshot '{path}' ends inside its header, at byte {len(content)}", _REMEDY)
    _, version, meta_len, world_len, dump_len, checksum = _HEADER.unpack_from(content)
    if version > VERSION:
        raise SnapshotFutureVersion(
            f"snapshot '{path}' has format {version}, this Mayavi reads up to {VERSION}",
            "`pip install --upgrade mayavi-sim` brings a version that reads it",
        )
    if version < 1:
        raise SnapshotCorrupt(f"snapshot '{path}' claims format {version}, which never existed", _REMEDY)
    expected = _HEADER.size + meta_len + world_len
    if len(content) < expected:
        raise SnapshotTruncated(f"snapshot '{path}' has {len(content)} of {expected} bytes", _REMEDY)
    body = content[_HEADER.size :]
    lengths = struct.pack(">IQQ", meta_len, world_len, dump_len)
    if len(content) != expected or hashlib.sha256(lengths + body).digest() != checksum:
        raise SnapshotCorrupt(f"snapshot '{path}' is damaged: its checksum does not match", _REMEDY)
    if dump_len > _LIMIT:
        raise SnapshotCorrupt(f"snapshot '{path}' claims a world of {dump_len} bytes", _REMEDY)
    return json.loads(body[:meta_len]), body[meta_len:], dump_len

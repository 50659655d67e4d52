"""Cache of recorded paths: what one process has recorded of the transactions on a world, the next one takes up.

    fleet = Fleet(fork.frozen(), 64, cache=PathCache(fork.digest()))
    ...
    fleet.save_paths()

A file holds the paths of one world, recorded by one build of the kernel. A file of another one, a damaged one or one of
another block is ignored with a warning. Paths from a file are compared with the interpreter at first, as recorded ones
are. No result depends on the cache.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from mayavi import _kernel
from mayavi.cache_directory import default_cache_dir, remove_abandoned, write_cache_file

_log = logging.getLogger("mayavi.specialise")

MAGIC = b"mayavi paths 1\n"
SUFFIX = ".paths"
LARGEST = 256 << 20
"""Bytes of the paths of one world, not compressed; more are not kept."""
FOLDER_LARGEST = 512 << 20
"""Bytes of all files; the ones that were not used for longest are deleted."""


class PathCache:
    """The paths of one world, in a file."""

    def __init__(self, world: str, folder: Path | None = None) -> None:
        self.world, self.folder = world, folder or paths_folder()
        named = hashlib.sha256(f"{world} {kernel_build()}".encode()).hexdigest()[:32]
        self.path = self.folder / f"{named}{SUFFIX}"

    def read(self) -> bytes | None:
        """Read the paths; None if there are none, with a warning if the file cannot be used."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self.warn(str(error))
            return None
        begin = len(MAGIC) + 32
        if not content.startswith(MAGIC) or hashlib.sha256(content[begin:]).digest() != content[len(MAGIC) : begin]:
            self.warn("it is damaged, or of another version")
            return None
        head, _, packed = content[begin:].partition(b"\n")
        try:
            if json.loads(head) != self._head():
                self.warn("it belongs to another world or another build of the kernel")
                return None
            plain = _kernel.zstd_decompress(packed, LARGEST)
        except (ValueError, OSError) as error:
            self.warn(str(error))
            return None
        with suppress(OSError):  # a folder that cannot be written can be read
            os.utime(self.path)
        return plain

    def write(self, plain: bytes) -> int | None:
        """Replace the file and return its size; None, with a warning, if it cannot be written."""
        if len(plain) > LARGEST:
            _warn_once(f"recorded paths are not kept: {len(plain):,} bytes are too many")
            return None
        body = json.dumps(self._head()).encode() + b"\n" + _kernel.zstd_compress(plain, 3)
        content = MAGIC + hashlib.sha256(body).digest() + body
        try:
            write_cache_file(self.path, content)
            _drop_unused(self.folder)
        except OSError as error:
            reason = error.strerror or str(error)
            _warn_once(
                f"recorded paths cannot be kept in '{self.folder}': {reason}; MAYAVI_CACHE_DIR names another folder"
            )
            return None
        return len(content)

    def warn(self, reason: str) -> None:
        """Warn that the file is not used."""
        _warn_once(f"recorded paths in '{self.path}' are not used: {reason}")

    def _head(self) -> dict[str, str]:
        return {"world": self.world, "kernel": kernel_build()}


@lru_cache(maxsize=64)
def _warn_once(text: str) -> None:
    """Log a warning, once in each process."""
    _log.warning(text)


def paths_folder() -> Path:
    """Folder of all files."""
    return default_cache_dir() / "paths"


def clear_paths(folder: Path | None = None) -> tuple[int, int]:
    """Delete all files; return how many there were, and their bytes."""
    count = size = 0
    folder = folder or paths_folder()
    remove_abandoned(folder)
    for each in _files(folder):
        size += each.stat().st_size
        each.unlink(missing_ok=True)
        count += 1
    return count, size


@lru_cache(maxsize=1)
def kernel_build() -> str:
    """Hash of the kernel: another build may record other paths."""
    with open(_kernel.__file__, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []


def _drop_unused(folder: Path) -> None:
    left = FOLDER_LARGEST
    for each in sorted(_files(folder), key=lambda each: each.stat().st_mtime, reverse=True):
        left -= each.stat().st_size
        if left < 0:
            each.unlink(missing_ok=True)

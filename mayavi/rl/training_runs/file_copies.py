"""Copy the files of a training run between machines, verified by a manifest with their hashes.

The manifest is written last, and readers trust only files that it confirms. An interrupted copy is therefore detected,
and continuing it transfers only the missing files.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from mayavi.errors import RemoteError
from mayavi.rl.training_runs.atomic_files import PARTIAL, write_json

MANIFEST = "manifest.json"
FORMAT = 1
_EXCLUDED = {MANIFEST, ".lock"}
_CHUNK = 1 << 20

Manifest = dict[str, dict[str, Any]]
"""`sha256` and size in `bytes` of each file, by relative path."""


def list_files(folder: Path) -> Manifest:
    """Manifest of the files in `folder`, without unfinished ones."""
    found: Manifest = {}
    for each in sorted(folder.rglob("*")):
        name = each.relative_to(folder).as_posix()
        unfinished = any(part.endswith((PARTIAL, ".part")) for part in each.relative_to(folder).parts)
        if each.is_file() and name not in _EXCLUDED and not unfinished:
            found[name] = {"sha256": digest_of(each), "bytes": each.stat().st_size}
    return found


def mirror(source: Path, target: Path) -> Manifest:
    """Copy the run in `source` to `target`, its manifest last. Unchanged files are skipped."""
    wanted = list_files(source)
    there = read_manifest(target) if (target / MANIFEST).is_file() else {}
    target.mkdir(parents=True, exist_ok=True)
    for name in sorted(wanted, key=lambda name: name == "run.json"):  # the record after the files that it names
        place = target / name
        if there.get(name) == wanted[name] and place.is_file() and place.stat().st_size == wanted[name]["bytes"]:
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        partial = place.with_name(place.name + ".part")
        shutil.copyfile(source / name, partial)
        os.replace(partial, place)
    write_json(target / MANIFEST, {"format": FORMAT, "files": wanted})
    for name in set(there) - set(wanted):
        (target / name).unlink(missing_ok=True)
    return wanted


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a copy."""
    return parse_manifest((folder / MANIFEST).read_bytes(), str(folder))


def parse_manifest(content: bytes, where: str) -> Manifest:
    """Parse a manifest; `RemoteError` if it is damaged or names a file outside of its folder."""
    try:
        document = json.loads(content)
        files: Manifest = {
            str(name): {"sha256": str(each["sha256"]), "bytes": int(each["bytes"])}
            for name, each in document["files"].items()
        }
        known = document["format"] == FORMAT
    except (ValueError, KeyError, TypeError, AttributeError):
        raise RemoteError(f"the manifest of '{where}' cannot be read", "it may be incomplete: try again") from None
    if not known:
        raise RemoteError(f"the manifest of '{where}' has another format than {FORMAT}", "install a newer mayavi")
    for name in files:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise RemoteError(
                f"the manifest of '{where}' names '{name}', which is outside of its folder", "mayavi did not write it"
            )
    return files


def fetch(
    files: Manifest,
    read: Callable[[str], Iterable[bytes]],
    folder: Path,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Download `files` into `folder` with `read(name)`, skipping those that are there with the right hash.

    A file gets its name only after its hash was verified. Files that the manifest does not list are removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    total, done = sum(each["bytes"] for each in files.values()), 0
    for name, wanted in files.items():
        place = folder / name
        if not (place.is_file() and digest_of(place) == wanted["sha256"]):
            place.parent.mkdir(parents=True, exist_ok=True)
            partial = place.with_name(place.name + ".part")
            found = hashlib.sha256()
            with open(partial, "wb") as file:
                for chunk in read(name):
                    found.update(chunk)
                    file.write(chunk)
            if found.hexdigest() != wanted["sha256"]:
                partial.unlink()
                raise RemoteError(
                    f"'{name}' arrived with another hash than its manifest has", "try again: it is downloaded anew"
                )
            os.replace(partial, place)
        done += wanted["bytes"]
        if progress is not None:
            progress(done, total)
    for each in folder.rglob("*"):
        if each.is_file() and each.relative_to(folder).as_posix() not in files:
            each.unlink()


def digest_of(file: Path) -> str:
    """SHA-256 of a file."""
    found = hashlib.sha256()
    with open(file, "rb") as content:
        while chunk := content.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()

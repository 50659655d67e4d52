"""Bundles: a single file with everything behind a result, byte-identical on every machine.

A bundle is an uncompressed zip file without timestamps: `manifest.json` first, then the files it lists with their
SHA-256. `kind` names the contents, such as a simulation run or a training run.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from mayavi.errors import BundleError, UsageError
from mayavi.runs.write_errors import explain_write_errors

FORMAT, VERSION = "mayavi-bundle", 1
MANIFEST = "manifest.json"
_NO_TIME = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Bundle:
    """Bundle whose hashes have been verified."""

    path: Path
    kind: str
    facts: dict[str, Any]
    files: dict[str, bytes]

    def text(self, name: str) -> str:
        """Text of a file in the bundle."""
        return self.files[name].decode()

    def unpack(self, folder: Path) -> None:
        """Write all files below `folder`; `BundleError` if one names a place outside of it."""
        for name, content in self.files.items():
            inside = PurePosixPath(name)
            if inside.is_absolute() or ".." in inside.parts or "\\" in name:
                raise BundleError(f"'{self.path}' names a file outside of it: {name!r}", "do not trust it")
            file = folder / inside
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison of what a bundle says with what its repetition gives."""

    name: str
    expected: str
    got: str

    @property
    def equal(self) -> bool:
        """Whether both are equal."""
        return self.expected == self.got


def write_bundle(path: Path, kind: str, facts: Mapping[str, Any], files: Mapping[str, bytes]) -> str:
    """Write a bundle and return its SHA-256, which depends only on `kind`, `facts` (plain JSON) and `files`."""
    listed = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()} for name, content in files.items()
    }
    manifest = {"format": FORMAT, "version": VERSION, "kind": kind, **facts, "files": listed}
    text = json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    with explain_write_errors(path.parent):
        try:
            with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_STORED) as archive:
                for name, content in [(MANIFEST, text.encode()), *sorted(files.items())]:
                    entry = zipfile.ZipInfo(name, _NO_TIME)
                    entry.create_system = 3  # the same on every system
                    entry.external_attr = 0o644 << 16
                    archive.writestr(entry, content)
            digest = hashlib.sha256(unfinished.read_bytes()).hexdigest()
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
    return digest


def read_bundle(path: Path) -> Bundle:
    """Read and verify a bundle; `BundleError` if it is damaged, incomplete, has extra files or is too new."""
    if not path.is_file():
        raise UsageError(f"there is no bundle at '{path}'", "`mayavi artifact RUN_ID` writes one")
    again = "get it again from where it came from"
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            files = {name: archive.read(name) for name in names}
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, EOFError) as error:
        raise BundleError(f"'{path}' is not a bundle, or is damaged: {error}", again) from error
    try:
        manifest = json.loads(files.pop(MANIFEST))
        listed = manifest["files"]
        if manifest["format"] != FORMAT:
            raise ValueError
    except (KeyError, ValueError, TypeError):
        raise BundleError(f"'{path}' has no manifest of a bundle", "`mayavi artifact RUN_ID` writes bundles") from None
    if manifest.get("version") != VERSION:
        raise BundleError(
            f"'{path}' has version {manifest.get('version')}, this mayavi knows {VERSION}", "use a newer mayavi"
        )
    if len(names) != len(set(names)) or set(files) != set(listed):
        odd = sorted(set(files) ^ set(listed)) or ["a name that is there twice"]
        raise BundleError(f"'{path}' does not hold what its manifest lists: {', '.join(odd)}", again)
    for name, content in files.items():
        if hashlib.sha256(content).hexdigest() != listed[name].get("sha256"):
            raise BundleError(f"'{name}' in '{path}' was changed: its hash is not the manifest's", again)
    facts = {key: value for key, value in manifest.items() if key not in {"format", "version", "kind", "files"}}
    return Bundle(path, str(manifest.get("kind")), facts, files)

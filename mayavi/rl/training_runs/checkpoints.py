"""Checkpoints: folders that are written atomically and verified by hash.

`checkpoint.json` names the environment, its spaces, the package versions, and every file with its SHA-256. A checkpoint
that was truncated in transit, or that belongs to another environment, is rejected before its policy plays.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mayavi.errors import CheckpointError
from mayavi.rl.training_runs.atomic_files import PARTIAL, write_json

FORMAT = 1
MANIFEST = "checkpoint.json"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Checkpoint on disk, and the contents of its `checkpoint.json`."""

    path: Path
    facts: Mapping[str, Any]

    @property
    def steps(self) -> int:
        """Environment steps trained so far."""
        return int(self.facts["steps"])

    @property
    def resumable(self) -> bool:
        """Whether a training can continue from here; older checkpoints keep only the policy."""
        return bool(self.facts["only_to_resume"])

    @property
    def name(self) -> str:
        """Folder name: the number of steps, `final` or `best`."""
        return self.path.name


def write_checkpoint(path: Path, facts: Mapping[str, Any], save: Callable[[Path], None]) -> Checkpoint:
    """Fill a temporary folder with `save` and move it to `path` when complete, replacing an older checkpoint."""
    partial = path.with_name(f"{path.name}{PARTIAL}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    save(partial)
    files = {each: _digest(partial / each) for each in _files(partial)}
    written = {"format": FORMAT, **facts, "files": files}
    write_json(partial / MANIFEST, written)
    return move_checkpoint(Checkpoint(partial, written), path)


def move_checkpoint(checkpoint: Checkpoint, path: Path) -> Checkpoint:
    """Move a complete checkpoint to `path`, replacing an older one."""
    if path.exists():
        old = path.with_name(f"{path.name}.old{PARTIAL}")
        shutil.rmtree(old, ignore_errors=True)
        os.replace(path, old)
        os.replace(checkpoint.path, path)
        shutil.rmtree(old)
    else:
        os.replace(checkpoint.path, path)
    return Checkpoint(path, checkpoint.facts)


def read_checkpoint(path: Path, *, whole: bool = True) -> Checkpoint:
    """Read the checkpoint at `path`; `whole` also verifies the hash of every file.

    Raises `CheckpointError` for a missing, incomplete or damaged checkpoint, and for one of a newer version.
    """
    manifest = path / MANIFEST
    if not manifest.is_file():
        raise CheckpointError(f"there is no checkpoint at '{path}'", f"a checkpoint is a folder with a {MANIFEST}")
    try:
        facts = json.loads(manifest.read_text(encoding="utf-8"))
        version, files = int(facts["format"]), dict(facts["files"])
    except (ValueError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise CheckpointError(f"'{manifest}' cannot be read: {error}", "take another checkpoint of the run") from None
    if version > FORMAT:
        raise CheckpointError(
            f"'{path}' has format {version}, and this mayavi reads formats up to {FORMAT}", "install a newer mayavi"
        )
    for name, digest in files.items() if whole else ():
        file = path / name
        if not file.is_file():
            raise CheckpointError(f"'{path}' lacks {name}", "the copy is incomplete; copy it again")
        if _digest(file) != digest:
            raise CheckpointError(f"{name} of '{path}' is not what was written", "it is damaged; copy it again")
    return Checkpoint(path, facts)


def drop_resume_files(checkpoint: Checkpoint) -> Checkpoint:
    """Delete the files that are needed only to resume, and keep the policy."""
    spare = set(checkpoint.facts.get("only_to_resume", ()))
    if not spare:
        return checkpoint
    kept = {name: digest for name, digest in checkpoint.facts["files"].items() if name not in spare}
    written = {**checkpoint.facts, "files": kept, "only_to_resume": []}
    write_json(checkpoint.path / MANIFEST, written)
    for name in spare:
        (checkpoint.path / name).unlink(missing_ok=True)
    return Checkpoint(checkpoint.path, written)


def list_checkpoints(folder: Path) -> list[Checkpoint]:
    """Complete checkpoints in `folder`, sorted by steps."""
    if not folder.is_dir():
        return []
    found = [each for each in folder.iterdir() if each.name.isdigit() and (each / MANIFEST).is_file()]
    return [read_checkpoint(each, whole=False) for each in sorted(found, key=lambda each: int(each.name))]


def _files(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())


def _digest(file: Path) -> str:
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()

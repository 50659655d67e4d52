"""Checkpoints: a folder that is there whole or not at all, and says what it belongs to.

`checkpoint.json` names the environment, the spaces and the versions it was made with, and every file with its hash: one
that was cut off on its way, or is of another environment, is refused before it plays.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mayavi.errors import CheckpointError

if TYPE_CHECKING:
    from gymnasium import spaces

FORMAT = 1
MANIFEST = "checkpoint.json"
PARTIAL = ".partial"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint as it lies on disk."""

    path: Path
    facts: Mapping[str, Any]

    @property
    def steps(self) -> int:
        """Steps of the environment that were trained."""
        return int(self.facts["steps"])

    @property
    def resumable(self) -> bool:
        """Whether a training can go on from here; older ones hold the policy alone."""
        return bool(self.facts["only_to_resume"])

    @property
    def name(self) -> str:
        """What it is called: its steps, `final` or `best`."""
        return self.path.name


def write_checkpoint(path: Path, facts: Mapping[str, Any], save: Callable[[Path], None]) -> Checkpoint:
    """Let `save` fill a folder, and put it at `path` when it is complete; what stood there is replaced."""
    partial = path.with_name(f"{path.name}{PARTIAL}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    save(partial)
    files = {each: _digest(partial / each) for each in _files(partial)}
    written = {"format": FORMAT, **facts, "files": files}
    write_json(partial / MANIFEST, written)
    return move_checkpoint(Checkpoint(partial, written), path)


def move_checkpoint(checkpoint: Checkpoint, path: Path) -> Checkpoint:
    """Put a complete checkpoint at `path`; what stood there is replaced."""
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
    """The checkpoint at `path`; `CheckpointError` where it is none, is not whole, or of a newer Mayavi."""
    manifest = path / MANIFEST
    if not manifest.is_file():
        raise CheckpointError(
            f"there is no checkpoint at '{path}'", f"a checkpoint is a folder with a {MANIFEST}, whole or not at all"
        )
    try:
        facts = json.loads(manifest.read_text(encoding="utf-8"))
        version, files = int(facts["format"]), dict(facts["files"])
    except (ValueError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise CheckpointError(f"'{manifest}' cannot be read: {error}", "take another checkpoint of the run") from None
    if version > FORMAT:
        raise CheckpointError(
            f"'{path}' has the format {version}, and this mayavi knows up to {FORMAT}", "install a newer mayavi"
        )
    for name, digest in files.items() if whole else ():
        file = path / name
        if not file.is_file():
            raise CheckpointError(f"'{path}' lacks {name}", "it did not arrive whole; copy it again")
        if _digest(file) != digest:
            raise CheckpointError(f"{name} of '{path}' is not what was written", "it is damaged; copy it again")
    return Checkpoint(path, facts)


def lighten(checkpoint: Checkpoint) -> Checkpoint:
    """Take out what is needed only to go on from a checkpoint: a newer one has it."""
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
    """The checkpoints in `folder`, by their steps. What was being written when a training died is none."""
    if not folder.is_dir():
        return []
    found = [each for each in folder.iterdir() if each.name.isdigit() and (each / MANIFEST).is_file()]
    return [read_checkpoint(each, whole=False) for each in sorted(found, key=lambda each: int(each.name))]


def described(space: spaces.Space[Any]) -> dict[str, Any]:
    """A space as plain data, to be compared with another's."""
    from gymnasium import spaces

    if isinstance(space, spaces.Box):
        return {
            "kind": "Box",
            "shape": list(space.shape),
            "low": space.low.reshape(-1).tolist(),
            "high": space.high.reshape(-1).tolist(),
        }
    if isinstance(space, spaces.Discrete):
        return {"kind": "Discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.Dict):
        return {"kind": "Dict", "spaces": {name: described(each) for name, each in space.spaces.items()}}
    return {"kind": type(space).__name__}


def told(space: Mapping[str, Any]) -> str:
    """A described space in a few words: `7 numbers`, `one of 3`."""
    if space["kind"] == "Box":
        count = 1
        for each in space["shape"]:
            count *= each
        return f"{count} number{'s' if count != 1 else ''}"
    if space["kind"] == "Discrete":
        return f"one of {space['n']}"
    if space["kind"] == "Dict":
        return ", ".join(f"{told(each)} as {name}" for name, each in space["spaces"].items())
    return str(space["kind"])


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write `document` so that a reader sees the old file or the new one, never half of it."""
    partial = path.with_name(f"{path.name}{PARTIAL}")
    with open(partial, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=2, ensure_ascii=False, allow_nan=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def _files(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())


def _digest(file: Path) -> str:
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()

"""A replay that differs from the interpreter: the error, and the file that reproduces it.

A file is a zip archive with `difference.json` (what was replayed, by which paths), `state` (what it was replayed on)
and `about.json` (message and build of the kernel). `mayavi specialise reproduce FILE` repeats it.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

from mayavi import _kernel
from mayavi.cache_directory import default_cache_dir, write_cache_file
from mayavi.errors import MayaviError, ReplayDiffers, UsageError
from mayavi.evm.path_cache import kernel_build

_EVIDENCE, _STATE, _ABOUT = "difference.json", "state", "about.json"


def differences_folder() -> Path:
    """Folder of the files that reproduce differences."""
    return default_cache_dir() / "differences"


def replay_differs(message: str, state: bytes, evidence: bytes) -> ReplayDiffers:
    """Write the file that reproduces a difference, and return its error. The kernel calls this."""
    go_on = "go on with `--specialise off`, or MAYAVI_SPECIALISE=off"
    try:
        path = write_difference(message, state, evidence)
    except OSError as error:
        reason = error.strerror or str(error)
        text = f"{message}; no file reproduces it: '{differences_folder()}' cannot be written: {reason}"
        return ReplayDiffers(text, f"MAYAVI_CACHE_DIR names another folder; {go_on}")
    hint = f"please report it with this file, which `mayavi specialise reproduce FILE` repeats; {go_on}"
    return ReplayDiffers(f"{message}; '{path}' reproduces it", hint)


def write_difference(message: str, state: bytes, evidence: bytes) -> Path:
    """Write a difference to the folder; return the file, named by its content."""
    named = hashlib.sha256(evidence + state).hexdigest()[:16]
    about = json.dumps({"message": message, "kernel": kernel_build()})
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in ((_ABOUT, about.encode()), (_EVIDENCE, evidence), (_STATE, state)):
            archive.writestr(name, content)
    path = differences_folder() / f"{named}.zip"
    write_cache_file(path, packed.getvalue())
    return path


@dataclass(frozen=True)
class Reproduction:
    """What a recorded difference gives with the present kernel."""

    message: str
    """The error it was found by."""
    by_paths: str
    """What the recorded paths give, followed step by step."""
    by_code: str
    """What machine code of the recorded path gives."""
    same_kernel: bool
    """Whether this build of the kernel found it."""

    @property
    def differs(self) -> bool:
        """Whether a replay still differs from the interpreter."""
        return any(text.startswith("differs") for text in (self.by_paths, self.by_code))


def reproduce(path: Path) -> Reproduction:
    """Repeat a difference: replay the recorded paths on their state, and compare with the interpreter."""
    try:
        with zipfile.ZipFile(path) as archive:
            about, evidence, state = (archive.read(name) for name in (_ABOUT, _EVIDENCE, _STATE))
        told = json.loads(about)
        message, kernel = str(told["message"]), str(told["kernel"])
    except FileNotFoundError:
        raise UsageError(f"there is no file '{path}'", f"differences are kept in {differences_folder()}") from None
    except OSError as error:
        raise MayaviError(f"'{path}' cannot be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError) as error:
        raise UsageError(f"'{path}' is not a file of a difference: {error}", "an error of a run names one") from None
    try:
        _, by_paths, by_code = _kernel.reproduce_difference(state, evidence)
    except ValueError as error:
        raise UsageError(f"'{path}' cannot be used: {error}", "it may be of another version of Mayavi") from None
    return Reproduction(message, by_paths, by_code, kernel == kernel_build())

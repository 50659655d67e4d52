"""Bare revm in a Rust loop, compiled with the product's flags.

It is the kernel built with the cargo feature `bench`, which adds two functions (`kernel/src/bare.rs`). The library is
put into `.cache/bench` and loaded as a separate module, so that both run in one process. Their objects are not
interchangeable: the yardstick reads blocks with its own `Block`.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, Protocol, cast

from benchmarks.measuring.report import Unavailable
from benchmarks.subjects.position import BENCH_CACHE, REPOSITORY

BUILD = ["build", "--release", "--locked", "--features", "extension-module,bench", "--compatibility", "off"]


class BlockReader(Protocol):
    """Block class of the yardstick."""

    def from_json(self, json: bytes) -> Any:
        """Read a block."""

    def from_parts(self, header: bytes, transactions: list[bytes], withdrawals: bytes | None) -> Any:
        """Read a block from its parts."""


class Yardstick(Protocol):
    """Functions the module adds to the product's."""

    Block: BlockReader

    def bare_calls(self, dump: bytes, to: bytes, data: bytes, sender: bytes, calls: int, rounds: int) -> list[float]:
        """Return the seconds of each round of identical calls."""

    def bare_replay(self, dump: bytes, block: Any, blob_fee_fraction: int, rounds: int) -> list[float]:
        """Return the seconds of executing a block's transactions, per round."""


@functools.cache
def load_yardstick() -> Yardstick:
    """Build the yardstick if it is out of date and load it; raise `Unavailable` if it cannot be built."""
    spec = importlib.util.spec_from_file_location("_kernel", build())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast(Yardstick, module)


def build() -> Path:
    """Build the library as `make` builds the product's, so that cargo recompiles only the difference."""
    if shutil.which("cargo") is None:
        raise Unavailable("bare revm is not built: cargo is not on the PATH; install Rust from https://rustup.rs")
    sys.stderr.write("building the yardstick, bare revm (the first build takes a minute or more)\n")
    wheels = BENCH_CACHE / "yardstick"
    shutil.rmtree(wheels, ignore_errors=True)
    command = [sys.executable, "-m", "maturin", *BUILD, "--out", str(wheels)]
    environment = {"PYO3_PYTHON": sys.executable, **os.environ}
    if subprocess.run(command, cwd=REPOSITORY, env=environment, check=False, stdout=subprocess.DEVNULL).returncode:
        raise Unavailable(f"bare revm is not built: `maturin {' '.join(BUILD)}` failed, its messages stand above")
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (library,) = [
            name for name in archive.namelist() if name.startswith("mayavi/_kernel.") and not name.endswith(".pyi")
        ]
        return Path(archive.extract(library, wheels))

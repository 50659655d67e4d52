"""The yardstick: revm in a loop in Rust with nothing around it, compiled with the flags of the product.

It is the kernel itself built with the cargo feature `bench`, which adds two functions (`kernel/src/bare.rs`). The
library is put into `.cache/bench` and is loaded as a module of its own, so that it and the product run in one process.
Objects of one are strangers to the other: the yardstick reads blocks with its own `Block`.
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

from benchmarks.position import BENCH_CACHE, REPOSITORY
from benchmarks.report import Unavailable

BUILD = ["build", "--release", "--locked", "--features", "extension-module,bench", "--compatibility", "off"]


class BlockReader(Protocol):
    """The yardstick's own class of blocks."""

    def from_json(self, json: bytes) -> Any:
        """A block of the yardstick."""


class Yardstick(Protocol):
    """What the module offers beyond the product's."""

    Block: BlockReader

    def bare_calls(self, dump: bytes, to: bytes, data: bytes, sender: bytes, calls: int, rounds: int) -> list[float]:
        """Seconds for each round of so many identical calls."""

    def bare_replay(self, dump: bytes, block: Any, blob_fee_fraction: int, rounds: int) -> list[float]:
        """Seconds of executing a block's transactions, for each round."""


@functools.cache
def load_yardstick() -> Yardstick:
    """Build the yardstick where it is out of date, and load it; `Unavailable` where it cannot be built."""
    spec = importlib.util.spec_from_file_location("_kernel", build())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast(Yardstick, module)


def build() -> Path:
    """The yardstick's library, made as `make` makes the product's, so that cargo compiles again only what differs."""
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

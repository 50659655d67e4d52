"""Install the contract packages, compile our Vyper contracts and build replicas.

`mayavi setup` and `make setup` do it up front. What is still missing when a contract is first read is installed then,
with a line on the logger `mayavi.worlds`; `MAYAVI_OFFLINE=1` forbids that. Only the packages need the network.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mayavi.errors import SetupError
from mayavi.worlds.contract_folder import ContractFolder, Say, announce, unwritable
from mayavi.worlds.npm import npm_ci
from mayavi.worlds.vyper import compile_contracts, vyper_contracts

OFFLINE_VARIABLE = "MAYAVI_OFFLINE"
Progress = Callable[[str, int, int], None]
_TEMPORARY = ".install-"


@dataclass(frozen=True, slots=True)
class Step:
    """A finished step of the setup. `changed` is False if everything was there already."""

    name: str
    changed: bool
    detail: str
    seconds: float


def set_up(
    chains: Sequence[str] = (), *, node: bool = False, say: Say = announce, progress: Progress | None = None
) -> Iterator[Step]:
    """Install packages, compile contracts and build the replicas of `chains`; yield each step when it is done.

    `node` also installs the development packages, which hold the node that tests fork from.
    """
    from mayavi.worlds.cache import cached_replica, open_replica

    folder = ContractFolder.default()
    began = time.perf_counter()
    installed = ensure_packages(folder, node=node, say=say)
    detail = f"{len(folder.locked_packages())} npm packages in {folder.packages}"
    yield Step("contract packages", installed, detail, time.perf_counter() - began)

    began = time.perf_counter()
    names = vyper_contracts(folder.sources)
    compiled = compile_contracts(folder, say=say)
    yield Step("Vyper contracts", bool(compiled), f"{len(names)} compiled", time.perf_counter() - began)

    for chain in chains:
        began = time.perf_counter()
        there = cached_replica(chain) is not None
        if not there:
            say(f"building the replica of {chain}")
        open_replica(chain, progress=progress)
        kept = cached_replica(chain)
        yield Step(
            f"replica {chain}",
            not there,
            str(kept) if kept else "not kept: the cache directory cannot be written",
            time.perf_counter() - began,
        )


def ensure_packages(
    folder: ContractFolder, *, needed: Path | None = None, node: bool = False, say: Say = announce
) -> bool:
    """Install the contract packages unless they are there; return whether anything was installed.

    They are there if every pinned version is, and if `needed`, a JSON file of one of them, can be read. Processes that
    come at the same time wait for the first. Raises `SetupError` where that fails, and leaves everything as it was.
    """

    def complete() -> bool:
        return (
            not folder.missing_packages()
            and (needed is None or read_json(needed) is not None)
            and (not node or _has_node(folder))
        )

    if complete():
        return False
    if is_offline():
        missing = ", ".join(folder.missing_packages()) or "damaged"
        raise SetupError(
            f"the contract packages are not installed ({missing}), and {OFFLINE_VARIABLE} forbids to download them",
            f"unset {OFFLINE_VARIABLE} and run `mayavi setup` once; it needs the network",
        )
    with folder.lock(say):
        if complete():
            return False
        count = len(folder.locked_packages())
        say(f"installing {count} contract packages into {folder.root} (once, from the network)")
        _install(folder, dev=node or _has_node(folder))
    return True


def is_offline() -> bool:
    """Whether `MAYAVI_OFFLINE` forbids downloads."""
    return os.environ.get(OFFLINE_VARIABLE, "").strip().lower() not in {"", "0", "false", "no", "off"}


def read_json(path: Path) -> dict[str, Any] | None:
    """The JSON object in `path`, or None where there is none or it is damaged."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _has_node(folder: ContractFolder) -> bool:
    return (folder.packages / ".bin" / "hardhat").exists()


def _install(folder: ContractFolder, *, dev: bool) -> None:
    """Install beside the old packages, then swap; the caller holds the lock."""
    try:
        for left in folder.root.glob(f"{_TEMPORARY}*"):  # of a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=folder.root, ignore_cleanup_errors=True) as place:
            temporary = Path(place)
            for name in ("package.json", "package-lock.json"):
                shutil.copy(folder.sources / name, temporary)
            npm_ci(temporary, dev=dev)
            if os.path.lexists(folder.packages):
                folder.packages.rename(temporary / "replaced")
            (temporary / "node_modules").rename(folder.packages)
    except OSError as error:
        raise unwritable(folder.root, error) from None

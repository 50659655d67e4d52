"""Install the contract packages, compile our Vyper contracts and build replicas.

`mayavi setup` and `make setup` call `set_up`. Only the installation of packages needs the network.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mayavi.compilers.package_folder import Say, announce
from mayavi.compilers.packages import ensure_packages
from mayavi.worlds.cache import cached_replica, open_replica
from mayavi.worlds.contract_folder import ContractFolder
from mayavi.worlds.later_packages import later_packages
from mayavi.worlds.morpho_contracts import morpho_packages
from mayavi.worlds.vyper import compile_contracts, vyper_contracts

Progress = Callable[[str, int, int], None]
"""Function `progress(chain, done, total)` that is called while a replica is built."""


@dataclass(frozen=True, slots=True)
class Step:
    """A finished step of the setup. `changed` is False if there was nothing to do."""

    name: str
    changed: bool
    detail: str
    seconds: float


def set_up(
    chains: Sequence[str] = (),
    *,
    node: bool = False,
    everything: bool = False,
    say: Say = announce,
    progress: Progress | None = None,
) -> Iterator[Step]:
    """Install packages, compile contracts and build the replicas of `chains`; yield each finished step.

    `node` also installs the development packages, which contain the node that tests fork. `everything` adds what is
    otherwise installed when a run first needs it, so that later runs need no network.
    """
    folder = ContractFolder.default()
    began = time.perf_counter()
    installed = ensure_packages(folder, node=node, say=say)
    detail = f"{len(folder.locked_packages())} npm packages in {folder.packages}"
    yield Step("contract packages", installed, detail, time.perf_counter() - began)

    began = time.perf_counter()
    morpho = morpho_packages()
    installed = ensure_packages(morpho, say=say)
    detail = f"{len(morpho.locked_packages())} npm packages in {morpho.packages}"
    yield Step("Morpho packages", installed, detail, time.perf_counter() - began)

    began = time.perf_counter()
    names = vyper_contracts(folder.sources)
    compiled = compile_contracts(folder, say=say)
    yield Step("Vyper contracts", bool(compiled), f"{len(names)} compiled", time.perf_counter() - began)

    for each in later_packages() if everything else ():
        began, there = time.perf_counter(), each.is_there()
        if not there:
            each.install(say)
        yield Step(each.name, not there, each.where(), time.perf_counter() - began)

    for chain in chains:
        began = time.perf_counter()
        cached = cached_replica(chain) is not None
        if not cached:
            say(f"building the replica of {chain}")
        open_replica(chain, progress=progress)
        path = cached_replica(chain)
        yield Step(
            f"replica {chain}",
            not cached,
            str(path) if path else "not cached: the cache directory cannot be written",
            time.perf_counter() - began,
        )

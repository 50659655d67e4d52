"""Replicas of any chain, each built once per session, and their markets of Aave's code."""

from __future__ import annotations

from functools import cache

import pytest

from mayavi.evm.abi.interface import Interface
from mayavi.evm.fork import Fork
from mayavi.worlds.artifacts import ArtifactStore
from mayavi.worlds.builder import build_replica
from mayavi.worlds.tables.chain import Aave, chain_names, load_table

MARKETS = [
    pytest.param(chain, prefix, id=f"{chain}-{prefix}")
    for chain in chain_names()
    for prefix in load_table(chain).lending_markets
]
"""Parameters `chain` and `prefix` of every market."""


@cache
def artifact_store() -> ArtifactStore:
    return ArtifactStore()


@cache
def interface_of(artifact: str) -> Interface:
    """ABI of a compiled contract, parsed once for the thousands of contracts that are read."""
    return Interface.of(artifact_store().get(artifact).abi)


@cache
def built_replica(chain: str) -> Fork:
    """Return the replica as built; copy it before changing anything."""
    return build_replica(load_table(chain), artifact_store())


def market(chain: str, prefix: str) -> Aave:
    return load_table(chain).lending_markets[prefix]

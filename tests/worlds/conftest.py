"""The Ethereum replica, built once a session; every test gets a copy of its own."""

from __future__ import annotations

import pytest

from mayavi.evm.fork import Fork
from mayavi.worlds.artifacts import ArtifactStore
from mayavi.worlds.builder import build_replica
from mayavi.worlds.table import ChainTable, load_table
from tests.worlds.contract_of import ContractOf


@pytest.fixture(scope="session")
def table() -> ChainTable:
    return load_table("ethereum")


@pytest.fixture(scope="session")
def artifacts() -> ArtifactStore:
    return ArtifactStore()


@pytest.fixture(scope="session")
def built(table: ChainTable, artifacts: ArtifactStore) -> Fork:
    return build_replica(table, artifacts)


@pytest.fixture
def fork(built: Fork) -> Fork:
    return built.copy()


@pytest.fixture
def contract(fork: Fork, artifacts: ArtifactStore) -> ContractOf:
    """`contract(label, artifact)`: what stands at a label, with the interface of a compiled contract."""
    return lambda label, artifact: fork.contract(label, artifacts.get(artifact).abi)

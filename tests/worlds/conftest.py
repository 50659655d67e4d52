"""The Ethereum replica, built once a session; every test gets a copy of its own."""

from __future__ import annotations

import pytest

from mayavi.evm.fork import Fork
from mayavi.worlds.artifacts import ArtifactStore
from mayavi.worlds.tables.chain import ChainTable, load_table
from tests.worlds.contract_of import ContractOf
from tests.worlds.replicas import artifact_store, built_replica


@pytest.fixture(scope="session")
def table() -> ChainTable:
    return load_table("ethereum")


@pytest.fixture(scope="session")
def artifacts() -> ArtifactStore:
    return artifact_store()


@pytest.fixture(scope="session")
def built() -> Fork:
    return built_replica("ethereum")


@pytest.fixture
def fork(built: Fork) -> Fork:
    return built.copy()


@pytest.fixture
def contract(fork: Fork, artifacts: ArtifactStore) -> ContractOf:
    """`contract(label, artifact)`: what stands at a label, with the interface of a compiled contract."""
    return lambda label, artifact: fork.contract(label, artifacts.get(artifact).abi)

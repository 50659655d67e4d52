"""Ethereum replica, built once per session; every test gets its own copy."""

from __future__ import annotations

import pytest

from mayavi.evm.fork import Fork
from mayavi.worlds.artifacts import ArtifactStore
from mayavi.worlds.tables.chain import ChainTable, load_table
from tests.worlds.contract_of import ContractOf
from tests.worlds.replicas import artifact_store, built_replica, interface_of


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
def contract(fork: Fork) -> ContractOf:
    """`contract(label, artifact)`: the contract at a label, with a compiled contract's interface."""
    return lambda label, artifact: fork.contract(label, interface_of(artifact))

"""One real node per test session, Aave on it, and a proxy in front of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mayavi import Fork
from tests.node.aave_market import AaveMarket, deploy_market
from tests.node.chain_history import ChainHistory, start_history
from tests.node.editing_proxy import EditingProxy, editing_proxy
from tests.node.faulty_proxy import FaultyProxy, faulty_proxy
from tests.node.hardhat import Hardhat
from tests.node.replica_on_node import node_with


@pytest.fixture(scope="session")
def hardhat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hardhat]:
    """A node of chain 31337 under Shanghai's rules, ended with the session."""
    node = Hardhat.start(tmp_path_factory.mktemp("hardhat"))
    try:
        yield node
    finally:
        node.stop()


@pytest.fixture(scope="session")
def deployed_market(hardhat: Hardhat) -> AaveMarket:
    """Aave V3 on the node, deployed once; tests take `market`."""
    return deploy_market(hardhat)


@pytest.fixture
def market(deployed_market: AaveMarket) -> Iterator[AaveMarket]:
    """The market as deployed: changes of a test to the node are undone."""
    moment = deployed_market.node.rpc("evm_snapshot")
    yield deployed_market
    assert deployed_market.node.rpc("evm_revert", moment) is True


@pytest.fixture(scope="session", params=["london", "cancun", "prague"])
def other_rules(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hardhat]:
    """A node of chain 1337 under the rules of another hard fork; tests leave their blocks on it."""
    node = Hardhat.start(tmp_path_factory.mktemp(request.param), chain_id=1337, hardfork=request.param)
    yield node
    node.stop()


@pytest.fixture(scope="session")
def ethereum_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hardhat]:
    """A node with the replica of Ethereum, at its block and time. Tests only read it."""
    node = node_with(tmp_path_factory.mktemp("ethereum"), Fork.replica("ethereum"))
    yield node
    node.stop()


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChainHistory]:
    """A node with the history that replays are compared with. Tests only read it."""
    made = start_history(tmp_path_factory.mktemp("history"))
    yield made
    made.node.stop()


@pytest.fixture
def proxy(hardhat: Hardhat) -> Iterator[FaultyProxy]:
    """A proxy in front of the node that counts and misbehaves."""
    with faulty_proxy(hardhat) as running:
        yield running


@pytest.fixture
def editing(history: ChainHistory) -> Iterator[EditingProxy]:
    """A proxy in front of the node of `history` that changes what a test says."""
    with editing_proxy(history.node, history.answers) as running:
        yield running

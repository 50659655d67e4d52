"""One service for all tests of the client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mayavi.client import Client
from tests.api.queue.service_process import ServiceProcess
from tests.command_server import fork_server


@pytest.fixture(scope="session")
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """The real service in a process of its own."""
    with fork_server(request.config) as commands:
        started = ServiceProcess(tmp_path_factory.mktemp("service"), commands=commands)
        yield started
        started.stop()


@pytest.fixture
def client(service: ServiceProcess) -> Iterator[Client]:
    """A client of the service, with a key that may do everything."""
    with service.client() as found:
        yield found

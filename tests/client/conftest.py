"""One service for all tests of the client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mayavi.client import Client
from tests.api.queue.service_process import ServiceProcess


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """The real service in a process of its own."""
    started = ServiceProcess(tmp_path_factory.mktemp("service"))
    yield started
    started.stop()


@pytest.fixture
def client(service: ServiceProcess) -> Iterator[Client]:
    """A client of the service, with a key that may do everything."""
    with service.client() as found:
        yield found

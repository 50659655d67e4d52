"""Services in processes of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.api.queue.service_process import ServiceProcess
from tests.command_server import fork_server

StartService = Callable[..., ServiceProcess]


@pytest.fixture(scope="module")
def start_service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartService]:
    """Start a service with options of `mayavi serve`; all are stopped at the end."""
    started: list[ServiceProcess] = []
    with fork_server(request.config) as commands:

        def start(*options: str, folder: Path | None = None) -> ServiceProcess:
            place = folder or tmp_path_factory.mktemp("service")
            started.append(ServiceProcess(place, *options, commands=commands))
            return started[-1]

        yield start
        for service in started:
            service.stop()

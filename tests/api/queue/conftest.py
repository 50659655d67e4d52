"""Services in processes of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.api.queue.service_process import ServiceProcess

StartService = Callable[..., ServiceProcess]


@pytest.fixture(scope="module")
def start_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartService]:
    """Start a service with options of `mayavi serve`; all are stopped at the end."""
    started: list[ServiceProcess] = []

    def start(*options: str, folder: Path | None = None) -> ServiceProcess:
        started.append(ServiceProcess(folder or tmp_path_factory.mktemp("service"), *options))
        return started[-1]

    yield start
    for service in started:
        service.stop()

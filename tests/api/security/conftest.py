"""One live server for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.live_server import LiveServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with LiveServer(tmp_path_factory.mktemp("service")) as server:
        yield server

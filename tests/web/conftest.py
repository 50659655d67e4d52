"""What tests of the dashboard share: a browser, a service with the built dashboard, and visitors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.subjects.service import ServiceProcess
from tests.chromium import launched_chromium, skip_or_fail
from tests.command_server import fork_server
from tests.forked_service import ForkedService
from tests.web.visitor import WIDE, Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Visit = Callable[..., Visitor]


@pytest.fixture(scope="module")
def browser(repository: Path) -> Iterator[Browser]:
    """One Chromium per module: while it is there, no other test can run an event loop.

    Skipped without one or without the dashboard, failed where both are required.
    """
    if not (repository / "mayavi/api/dashboard/index.html").is_file():
        skip_or_fail("the dashboard is not built: `make setup` builds it")
    with launched_chromium() as launched:
        yield launched


@pytest.fixture(scope="module")
def service(
    browser: Browser, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServiceProcess]:
    """A service of this module; the browser comes first, since tests without one need no service."""
    folder = tmp_path_factory.mktemp("web") / "service"
    with fork_server(request.config) as commands, ForkedService(folder, commands) as started:
        yield started


@pytest.fixture
def visit(browser: Browser, service: ServiceProcess) -> Iterator[Visit]:
    """Make visitors, each with cookies of its own; whatever they open may log no error and ask nobody else."""
    visitors: list[Visitor] = []

    def visit(*, width: int = WIDE) -> Visitor:
        visitors.append(Visitor(browser, service.url, service.key, width=width))
        return visitors[-1]

    yield visit
    for each in visitors:
        each.close()
    for each in visitors:
        each.check()


@pytest.fixture(scope="module")
def tab(browser: Browser, service: ServiceProcess) -> Iterator[Visitor]:
    """One tab for the tests of a module, which compiles the dashboard's scripts once."""
    made = Visitor(browser, service.url, service.key)
    yield made
    made.close()


@pytest.fixture
def stranger(tab: Visitor) -> Iterator[Visitor]:
    """A visitor who is not logged in, with nothing kept from the test before."""
    tab.forget()
    yield tab
    tab.check()


@pytest.fixture
def visitor(stranger: Visitor) -> Visitor:
    """A visitor who is logged in and sees the list of runs."""
    stranger.log_in()
    stranger.settle()
    return stranger

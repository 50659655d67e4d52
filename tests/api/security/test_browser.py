"""What a real browser makes of our headers and cookies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from fastapi import Response

from mayavi.api.security.headers import report_headers
from mayavi.api.security.sessions import COOKIE
from tests.api.live_server import LiveServer
from tests.chromium import launched_chromium

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

pytestmark = pytest.mark.slow(4)
REPORT = """<!doctype html><meta charset="utf-8"><title>report</title><p id="ran">no</p><script>
const found = [];
try { found.push("cookie " + document.cookie); } catch (error) { found.push("no cookie"); }
try { found.push("parent " + parent.document.title); } catch (error) { found.push("no parent"); }
try { localStorage.setItem("a", "b"); found.push("storage"); } catch (error) { found.push("no storage"); }
fetch("/session").then((answer) => found.push("fetch " + answer.status), () => found.push("no fetch"))
  .then(() => { document.getElementById("ran").textContent = found.join(", "); document.body.dataset.done = ""; });
</script>"""
PAGE = """<!doctype html><meta charset="utf-8"><title>ours</title><p id="inline">no</p>
<script>document.getElementById("inline").textContent = "ran"</script><iframe src="/test/report"></iframe>"""
CONFINED = "no cookie, no parent, no storage, no fetch"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    server = LiveServer(tmp_path_factory.mktemp("service"))

    @server.app.get("/test/report", include_in_schema=False)
    async def report() -> Response:
        return Response(REPORT, media_type="text/html", headers=report_headers())

    @server.app.get("/test/page", include_in_schema=False)
    async def page() -> Response:
        return Response(PAGE, media_type="text/html")

    with server:
        yield server


@pytest.fixture(scope="module")
def context(server: LiveServer) -> Iterator[BrowserContext]:
    """A browser that is logged in."""
    with launched_chromium() as browser:
        context = browser.new_context(base_url=server.url)
        context.set_default_timeout(300_000)
        page = context.new_page()
        page.goto("/healthz")
        status = page.evaluate(
            """async (key) => (await fetch("/session", {method: "POST", body: JSON.stringify({key}),
               headers: {"Content-Type": "application/json"}})).status""",
            server.full,
        )
        assert status == 201
        page.close()
        yield context
        context.close()


def test_scripts_of_a_report_run_without_access_to_the_service(context: BrowserContext) -> None:
    page = context.new_page()
    page.goto("/test/report")
    page.wait_for_selector("body[data-done]")
    assert page.text_content("#ran") == CONFINED.replace("no parent", "parent report")  # its own
    page.goto("/test/page")
    framed = page.frame_locator("iframe")
    framed.locator("body[data-done]").wait_for()
    assert framed.locator("#ran").text_content() == CONFINED
    assert page.text_content("#inline") == "no"  # a page of ours runs no inline script
    page.close()


def test_a_session_in_a_browser(server: LiveServer, context: BrowserContext) -> None:
    (cookie,) = context.cookies()
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == (COOKIE, True, "Strict")
    page = context.new_page()
    page.goto("/healthz")
    assert page.evaluate("document.cookie") == ""
    token = page.evaluate("async () => (await (await fetch('/session')).json()).csrf_token")
    create = """async ([url, token]) => { try { return (await fetch(url + "/keys", {method: "POST",
        credentials: "include", body: JSON.stringify({name: "made"}),
        headers: {"Content-Type": "application/json", ...(token ? {"X-CSRF-Token": token} : {})}})).status }
        catch (error) { return "refused" } }"""
    assert page.evaluate(create, ["", token]) == 201
    assert page.evaluate(create, ["", ""]) == 403
    before = len(server.service.keys.all())
    other = context.new_page()
    other.route("https://evil.example/", lambda route: route.fulfill(body="<!doctype html>", content_type="text/html"))
    other.goto("https://evil.example/")
    assert other.evaluate(create, [server.url, token]) == "refused"
    assert len(server.service.keys.all()) == before
    page.close()
    other.close()

"""Log in and out, with keys that are right, wrong, read-only or revoked."""

from __future__ import annotations

import pytest

from benchmarks.service import ServiceProcess
from tests.web.conftest import Visit
from tests.web.visitor import Visitor

pytestmark = pytest.mark.slow(2)


def new_key(service: ServiceProcess, name: str, scope: str = "full") -> dict:
    with service.client() as client:
        return client.post("/keys", json={"name": name, "scope": scope}).raise_for_status().json()


def test_a_wrong_key_is_refused_and_stays_in_the_field(visit: Visit) -> None:
    visitor = visit()
    visitor.open("runs")
    page = visitor.page
    page.get_by_label("API key").fill("mvk_00000000_wrong")
    page.get_by_role("button", name="Log in", exact=True).click()
    page.get_by_text("This key is not valid").wait_for()
    assert page.get_by_label("API key").input_value() == "mvk_00000000_wrong"


def test_the_key_is_not_kept_in_the_browser(visit: Visit, service: ServiceProcess) -> None:
    visitor = visit()
    visitor.log_in("worlds")
    visitor.page.wait_for_url("**/app/worlds")  # the address that was asked for
    (cookie,) = visitor.context.cookies()
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == ("mayavi_session", True, "Strict")
    assert service.key not in str(visitor.context.storage_state())
    assert visitor.page.evaluate("document.cookie") == ""
    assert service.key not in visitor.page.content()


def test_a_link_fills_in_its_key_and_leaves_the_address(visit: Visit, service: ServiceProcess) -> None:
    visitor = visit()
    visitor.open(f"runs#key={service.key}")
    field = visitor.page.get_by_label("API key")
    field.wait_for()
    assert field.input_value() == service.key
    assert visitor.page.url == f"{service.url}/app/runs"
    visitor.page.get_by_role("button", name="Log in", exact=True).click()
    visitor.page.get_by_role("heading", name="Runs").wait_for()


def test_who_logs_out_is_out(visitor: Visitor) -> None:
    visitor.page.get_by_role("button", name="Log out").click()
    visitor.page.get_by_test_id("login").wait_for()
    visitor.open("keys")
    visitor.page.get_by_test_id("login").wait_for()


def test_a_revoked_key_is_out_at_once_and_another_goes_on_in_place(visit: Visit, service: ServiceProcess) -> None:
    visitor = visit()
    key = new_key(service, "to be revoked")
    visitor.log_in("new?scenario=aave_borrower", key["key"])
    visitor.settle()
    with service.client() as client:
        client.delete(f"/keys/{key['key_id']}").raise_for_status()
    visitor.page.get_by_role("link", name="Worlds").click()
    dialog = visitor.page.get_by_test_id("expired")
    dialog.get_by_role("heading", name="Your session has ended").wait_for()
    dialog.get_by_label("API key").fill(service.key)
    dialog.get_by_role("button", name="Log in and go on").click()
    dialog.wait_for(state="hidden")
    visitor.page.get_by_role("heading", name="Worlds").wait_for()


def test_a_read_only_key_is_offered_nothing_that_it_may_not_do(visit: Visit, service: ServiceProcess) -> None:
    visitor = visit()
    visitor.log_in("runs", new_key(service, "reader", "read")["key"])
    visitor.settle()
    assert visitor.page.get_by_role("link", name="New run").count() == 0
    assert visitor.page.get_by_role("link", name="Keys").count() == 0


def test_a_page_whose_code_is_gone_after_an_update_says_so(visit: Visit) -> None:
    visitor = visit()
    visitor.log_in("runs")
    visitor.settle()
    visitor.expect_failures("404")
    visitor.page.route("**/assets/*.js", lambda route: route.fulfill(status=404))
    visitor.page.get_by_role("link", name="Worlds").click()
    visitor.page.get_by_role("alert").get_by_text("The service was updated while this page was open").wait_for()
    visitor.page.unroute("**/assets/*.js")
    visitor.page.get_by_role("button", name="Try again").click()
    visitor.page.get_by_role("heading", name="Worlds", level=1).wait_for()
    visitor.console.clear()  # the browser names the code that it did not find

"""Log in and out, with keys that are right, wrong, read-only or revoked."""

from __future__ import annotations

import pytest

from benchmarks.subjects.service import ServiceProcess
from tests.web.visitor import Visitor

pytestmark = pytest.mark.slow(2)


def new_key(service: ServiceProcess, name: str, scope: str = "full") -> dict:
    with service.client() as client:
        return client.post("/keys", json={"name": name, "scope": scope}).raise_for_status().json()


def test_a_wrong_key_is_refused_and_stays_in_the_field(stranger: Visitor) -> None:
    stranger.open("runs")
    page = stranger.page
    page.get_by_label("API key").fill("mvk_00000000_wrong")
    page.get_by_role("button", name="Log in", exact=True).click()
    page.get_by_text("This key is not valid").wait_for()
    assert page.get_by_label("API key").input_value() == "mvk_00000000_wrong"


def test_the_key_is_not_kept_in_the_browser(stranger: Visitor, service: ServiceProcess) -> None:
    stranger.log_in("worlds")
    stranger.page.wait_for_url("**/app/worlds")  # the address that was asked for
    (cookie,) = stranger.context.cookies()
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == ("mayavi_session", True, "Strict")
    assert service.key not in str(stranger.context.storage_state())
    assert stranger.page.evaluate("document.cookie") == ""
    assert service.key not in stranger.page.content()


def test_a_link_fills_in_its_key_and_leaves_the_address(stranger: Visitor, service: ServiceProcess) -> None:
    stranger.open(f"runs#key={service.key}")
    field = stranger.page.get_by_label("API key")
    field.wait_for()
    assert field.input_value() == service.key
    assert stranger.page.url == f"{service.url}/app/runs"
    stranger.page.get_by_role("button", name="Log in", exact=True).click()
    stranger.page.get_by_role("heading", name="Runs").wait_for()


def test_who_logs_out_is_out(visitor: Visitor) -> None:
    visitor.page.get_by_role("button", name="Log out").click()
    visitor.page.get_by_test_id("login").wait_for()
    visitor.open("keys")
    visitor.page.get_by_test_id("login").wait_for()


def test_a_revoked_key_is_out_at_once_and_another_goes_on_in_place(stranger: Visitor, service: ServiceProcess) -> None:
    key = new_key(service, "to be revoked")
    stranger.log_in("new?scenario=aave_borrower", key["key"])
    stranger.settle()
    with service.client() as client:
        client.delete(f"/keys/{key['key_id']}").raise_for_status()
    stranger.page.get_by_role("link", name="Worlds").click()
    dialog = stranger.page.get_by_test_id("expired")
    dialog.get_by_role("heading", name="Your session has ended").wait_for()
    dialog.get_by_label("API key").fill(service.key)
    dialog.get_by_role("button", name="Log in and go on").click()
    dialog.wait_for(state="hidden")
    stranger.page.get_by_role("heading", name="Worlds").wait_for()


def test_a_read_only_key_is_offered_nothing_that_it_may_not_do(stranger: Visitor, service: ServiceProcess) -> None:
    stranger.log_in("runs", new_key(service, "reader", "read")["key"])
    stranger.settle()
    assert stranger.page.get_by_role("link", name="New run").count() == 0
    assert stranger.page.get_by_role("link", name="Keys").count() == 0


def test_a_page_whose_code_is_gone_after_an_update_says_so(stranger: Visitor) -> None:
    stranger.log_in("runs")
    stranger.settle()
    stranger.expect_failures("404")
    stranger.page.route("**/assets/*.js", lambda route: route.fulfill(status=404))
    stranger.page.get_by_role("link", name="Worlds").click()
    stranger.page.get_by_role("alert").get_by_text("The service was updated while this page was open").wait_for()
    stranger.page.unroute("**/assets/*.js")
    stranger.page.get_by_role("button", name="Try again").click()
    stranger.page.get_by_role("heading", name="Worlds", level=1).wait_for()
    stranger.console.clear()  # the browser names the code that it did not find

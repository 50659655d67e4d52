"""A working day in the dashboard: start, watch, read, sweep, cancel, compare, revoke."""

from __future__ import annotations

import json
import re

import pytest

from benchmarks.subjects.service import ServiceProcess
from tests.web.conftest import Visit
from tests.web.visitor import HEIGHT, Visitor

pytestmark = pytest.mark.slow(4)

LONG = 3000
"""Steps of a run that does not end before a test has cancelled it."""


def run_id_of(visitor: Visitor) -> str:
    found = re.search(r"/app/runs/([^/?#]+)", visitor.page.url)
    assert found is not None, visitor.page.url
    return found[1]


def start_from_form(visitor: Visitor, scenario: str, **fields: str) -> str:
    """Fill in the form of a scenario, start the run, and return its id."""
    visitor.open(f"new?scenario={scenario}")
    page = visitor.page
    for path, text in fields.items():
        page.get_by_test_id(f"field-{path}").fill(text)
    page.get_by_test_id("submit-state").get_by_text("No problems found.").wait_for()
    page.get_by_test_id("submit").click()
    page.wait_for_url(re.compile(r"/app/runs/[^/]+$"))
    return run_id_of(visitor)


def test_a_run_from_the_form_is_watched_and_its_report_opened(visitor: Visitor, service: ServiceProcess) -> None:
    page = visitor.page
    page.get_by_role("link", name="New run").first.click()
    page.get_by_role("link", name=re.compile("^aave_borrower")).click()
    seed = page.get_by_test_id("field-seed")
    seed.fill("11")
    page.get_by_test_id("yaml-text").get_by_text("seed").first.wait_for()  # one document, two views
    page.get_by_test_id("field-steps").fill("300")
    page.get_by_test_id("command").get_by_text("--seed 11").first.wait_for()
    page.get_by_test_id("submit").click()
    page.get_by_test_id("run-title").wait_for()
    run_id = run_id_of(visitor)
    page.get_by_test_id("verdict").wait_for()  # without a reload
    with service.client() as client:
        stored = client.get(f"/runs/{run_id}").raise_for_status().json()
    assert (stored["seed"], stored["steps"], stored["status"]) == ("11", 300, "finished")
    page.get_by_role("link", name="Report", exact=True).click()
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Open the report").click()
    report = opened.value
    report.wait_for_selector("html[data-drawn]", state="attached")
    assert "aave_borrower" in report.content()
    report.close()


def test_progress_moves_and_a_cancelled_run_says_so(visitor: Visitor, service: ServiceProcess) -> None:
    start_from_form(visitor, "aave_borrower", steps=str(LONG), seed="1")
    page = visitor.page
    bar = page.get_by_role("progressbar", name="Progress of the run")
    bar.wait_for()
    visitor.wait_until("Number(document.querySelector('[role=progressbar]')?.ariaValueNow ?? 0) > 0")
    page.get_by_role("button", name="Cancel the run").click()
    page.get_by_role("button", name="Really cancel this run?").click()
    page.get_by_role("heading", name="The run was cancelled").wait_for()
    with service.client() as client:
        assert client.get(f"/runs/{run_id_of(visitor)}").json()["status"] == "cancelled"


def test_a_sweep_from_the_form_ends_with_its_report(visitor: Visitor) -> None:
    page = visitor.page
    visitor.open("sweeps/new?scenario=aave_borrower")
    page.get_by_test_id("seeds").fill("0:3")
    page.get_by_test_id("field-steps").fill("3")
    page.get_by_test_id("submit-state").get_by_text("No problems found.").wait_for()
    page.get_by_role("button", name="Start sweep of 3 runs").click()
    page.wait_for_url(re.compile(r"/app/sweeps/sweep-"))
    page.get_by_test_id("verdict").wait_for()
    page.get_by_role("link", name=re.compile("aave_borrower")).first.wait_for()


def test_a_sweep_is_cancelled(visitor: Visitor, service: ServiceProcess) -> None:
    body = {"scenario": "aave_borrower", "seeds": "0:200", "steps": 500}
    with service.client() as client:
        sweep = client.post("/sweeps", json=body).raise_for_status().json()["sweep_id"]
    visitor.open(f"sweeps/{sweep}")
    page = visitor.page
    page.get_by_role("button", name="Cancel sweep").click()
    page.get_by_role("button", name="Really cancel the sweep?").click()
    page.get_by_text("cancelled").first.wait_for()
    with service.client() as client:
        assert service.wait_for_sweep(client, sweep) == "cancelled"


def test_two_runs_are_chosen_and_compared(visitor: Visitor, service: ServiceProcess) -> None:
    with service.client() as client:
        runs = [service.submit(client, seed=seed, steps=4) for seed in (21, 22)]
        service.wait_for_runs(client, runs)
    visitor.open("runs")
    page = visitor.page
    for run_id in runs:
        page.get_by_role("checkbox", name=re.compile(run_id[-8:])).check()
    page.get_by_test_id("selection").get_by_role("button", name="Compare").click()
    page.wait_for_url("**/app/compare?*")
    page.get_by_test_id("verdict").wait_for()
    text = page.locator("main").inner_text()
    assert "seed" in text
    assert "21" in text
    assert "22" in text


def test_a_revoked_key_is_out(stranger: Visitor, visit: Visit) -> None:
    stranger.log_in("keys")
    page = stranger.page
    form = page.get_by_test_id("create-key")
    form.get_by_label("Name").fill("a colleague")
    form.get_by_label("Scope").select_option("full")
    form.get_by_role("button", name="Create key").click()
    key = page.get_by_test_id("secret").inner_text().strip()
    assert key.startswith("mvk_")
    colleague = visit()
    colleague.log_in("keys", key)
    row = colleague.page.get_by_test_id(f"key-{key.split('_')[1]}")
    row.get_by_role("button", name="Revoke").click()
    row.get_by_role("button", name="Revoke it and log out?").click()
    colleague.page.get_by_test_id("login-message").get_by_text("You revoked the key").wait_for()
    colleague.page.get_by_label("API key").fill(key)
    colleague.page.get_by_role("button", name="Log in", exact=True).click()
    colleague.page.get_by_text("This key is not valid").wait_for()


def test_malformed_yaml_is_located_and_nothing_typed_is_lost(visitor: Visitor) -> None:
    visitor.expect_failures("422")
    visitor.open("new?scenario=aave_borrower")
    page = visitor.page
    text = page.get_by_test_id("yaml-text")
    text.click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("steps: [1, 2\n")
    page.get_by_role("alert").get_by_text("The YAML cannot be read").wait_for()
    assert page.get_by_test_id("submit").is_disabled()
    page.reload()
    page.get_by_test_id("restored").wait_for()
    assert "steps: [1, 2" in page.get_by_test_id("yaml-text").inner_text()
    page.get_by_test_id("start-over").click()
    page.get_by_test_id("submit-state").get_by_text("No problems found.").wait_for()


def test_a_wrong_value_is_named_with_its_line(visitor: Visitor) -> None:
    visitor.open("new?scenario=aave_borrower")
    page = visitor.page
    page.get_by_test_id("field-steps").fill("many")
    page.get_by_test_id("problems").get_by_text("line").wait_for()
    assert page.get_by_test_id("field-steps").get_attribute("aria-invalid") == "true"
    assert page.get_by_test_id("submit").is_disabled()
    page.get_by_test_id("field-steps").fill("5")
    page.get_by_test_id("submit-state").get_by_text("No problems found.").wait_for()


def test_an_expired_session_goes_on_where_it_was(stranger: Visitor, service: ServiceProcess) -> None:
    stranger.log_in("new?scenario=aave_borrower")
    page = stranger.page
    page.get_by_test_id("field-seed").fill("77")
    page.get_by_test_id("submit-state").get_by_text("No problems found.").wait_for()
    stranger.context.clear_cookies()  # what an expired session looks like
    page.get_by_test_id("submit").click()
    dialog = page.get_by_test_id("expired")
    dialog.get_by_label("API key").fill(service.key)
    dialog.get_by_role("button", name="Log in and go on").click()
    page.wait_for_url(re.compile(r"/app/runs/[^/]+$"))
    with service.client() as client:
        assert client.get(f"/runs/{run_id_of(stranger)}").json()["seed"] == "77"


def test_a_service_that_is_gone_and_back_loses_nothing(visitor: Visitor, service: ServiceProcess) -> None:
    visitor.expect_failures("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "ERR_INCOMPLETE")
    page = visitor.page
    visitor.open("new?scenario=aave_borrower")
    page.get_by_test_id("field-seed").fill("123")
    page.get_by_test_id("submit-state").get_by_text("No problems found.").wait_for()
    page.get_by_test_id("field-seed").evaluate("(field) => { field.dataset.mark = 'typed into'; }")
    service.stop()
    page.get_by_test_id("submit").click()
    page.get_by_test_id("offline").get_by_text("The service does not answer.").wait_for()
    said = page.get_by_role("heading", name="The run was not started").bounding_box()
    assert said is not None
    assert 0 < said["y"] < HEIGHT - said["height"]  # in sight, whatever the form is scrolled to
    page.get_by_test_id("field-seed").fill("124")
    page.get_by_test_id("command").get_by_text("Of the last check").wait_for()
    page.get_by_test_id("field-seed").fill("123")
    service.start()
    page.get_by_test_id("offline").wait_for(state="hidden")
    page.get_by_test_id("submit-state").get_by_text("No problems found.").wait_for()
    visitor.settle()
    assert page.get_by_test_id("field-seed").input_value() == "123"
    assert page.get_by_test_id("field-seed").get_attribute("data-mark") == "typed into"  # the form was not built anew
    page.get_by_test_id("submit").click()
    page.wait_for_url(re.compile(r"/app/runs/[^/]+$"))
    with service.client() as client:
        found = client.get("/runs", params={"search": run_id_of(visitor)}).raise_for_status().json()
    assert [each["seed"] for each in found["items"]] == ["123"], json.dumps(found)

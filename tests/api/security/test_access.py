"""Who may call which route. A route without a line in `ACCESS` fails the test: decide, then add it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import httpx
import pytest

from mayavi.api.openapi import operations
from tests.api.live_server import LiveServer

ACCESS = {
    "GET /": "open",
    "HEAD /": "open",
    "GET /app": "open",
    "HEAD /app": "open",
    "GET /app/{path:path}": "open",
    "HEAD /app/{path:path}": "open",
    "GET /openapi.json": "open",
    "GET /healthz": "open",
    "GET /readyz": "open",
    "GET /metrics": "read",
    "POST /session": "open",  # its key is in the body
    "GET /session": "read",
    "DELETE /session": "read",
    "GET /keys": "full",
    "POST /keys": "full",
    "DELETE /keys/{key_id}": "full",
    "POST /runs": "full",
    "GET /runs": "read",
    "GET /runs/{run_id}": "read",
    "DELETE /runs/{run_id}": "full",
    "GET /runs/{run_id}/events": "read",
    "GET /runs/{run_id}/page": "read",
    "GET /runs/{run_id}/report": "read",
    "GET /runs/{run_id}/report.pdf": "read",
    "GET /runs/{run_id}/artifact": "read",
    "GET /runs/{run_id}/rows/{table}": "read",
    "GET /runs/{run_id}/actions": "read",
    "GET /runs/{run_id}/agents": "read",
    "GET /runs/{run_id}/explain": "read",
    "GET /runs/{run_id}/steps/{step}": "read",
    "GET /compare": "read",
    "GET /compare/report": "read",
    "POST /sweeps": "full",
    "GET /sweeps": "read",
    "GET /sweeps/{sweep_id}": "read",
    "DELETE /sweeps/{sweep_id}": "full",
    "GET /sweeps/{sweep_id}/events": "read",
    "GET /sweeps/{sweep_id}/page": "read",
    "GET /sweeps/{sweep_id}/report": "read",
    "GET /sweeps/{sweep_id}/report.pdf": "read",
    "GET /trainings": "read",
    "GET /trainings/{training_id}": "read",
    "GET /trainings/{training_id}/page": "read",
    "GET /trainings/{training_id}/report": "read",
    "GET /evaluations": "read",
    "GET /evaluations/{evaluation_id}/page": "read",
    "GET /evaluations/{evaluation_id}/report": "read",
    "GET /scenarios": "read",
    "GET /scenarios/{name}": "read",
    "GET /scenarios/{name}/schema": "read",
    "POST /scenarios/validate": "read",
    "GET /worlds": "read",
}
PROTECTED = [route for route, access in ACCESS.items() if access != "open"]
HIDDEN = {"GET /", "GET /app", "GET /app/{path:path}", "GET /openapi.json"}
"""Pages of the dashboard and the document itself: they are no part of the OpenAPI document."""
DOCUMENTED = [route for route in ACCESS if route not in HIDDEN and not route.startswith("HEAD")]
UNSAFE = [route for route in PROTECTED if not route.startswith(("GET", "HEAD"))]


@dataclass
class Callers:
    """Everybody who may try."""

    nobody: httpx.Client
    malformed: httpx.Client
    basic: httpx.Client
    wrong: httpx.Client
    revoked: httpx.Client
    read: httpx.Client
    full: httpx.Client
    expired: httpx.Client
    revoked_session: httpx.Client
    made_up_session: httpx.Client
    browser: httpx.Client
    browser_without_token: httpx.Client
    browser_with_wrong_token: httpx.Client
    browser_of_another_site: httpx.Client
    browser_without_origin: httpx.Client
    reading_browser: httpx.Client


@pytest.fixture(scope="module")
def callers(server: LiveServer) -> Callers:
    service = server.service
    revoked_key, revoked = service.keys.create("revoked", "full")
    revoked_session = server.browser(str(revoked))
    service.keys.revoke(revoked_key.key_id)

    expired = server.browser()
    with service.database.writing() as connection:
        connection.execute("UPDATE sessions SET expires_at = 1")

    without_token, wrong_token, foreign, unknown = (server.browser() for _ in range(4))
    del without_token.headers["X-CSRF-Token"]
    wrong_token.headers["X-CSRF-Token"] = foreign.headers["X-CSRF-Token"]  # that of another session
    foreign.headers["Origin"] = "https://evil.example"
    del unknown.headers["Origin"]
    return Callers(
        nobody=server.client(),
        malformed=server.client("not a key"),
        basic=server.client(Authorization="Basic dXNlcjpwYXNz"),
        wrong=server.client(server.full[:-1] + ("A" if server.full[-1] != "A" else "B")),
        revoked=server.client(str(revoked)),
        read=server.client(server.read),
        full=server.client(server.full),
        expired=expired,
        revoked_session=revoked_session,
        made_up_session=server.client(Cookie="mayavi_session=made-up", Origin=server.url),
        browser=server.browser(),
        browser_without_token=without_token,
        browser_with_wrong_token=wrong_token,
        browser_of_another_site=foreign,
        browser_without_origin=unknown,
        reading_browser=server.browser(server.read),
    )


def call(client: httpx.Client, route: str) -> httpx.Response:
    """Call a route with ids that nothing has and no body."""
    method, path = route.split()
    path = re.sub(r"\{step\}", "0", path)
    path = re.sub(r"\{table\}", "actions", path)
    path = re.sub(r"\{[^}]*\}", "nowhere", path)
    answer = client.request(method, path)
    if method != "HEAD" and answer.status_code >= 400 and path not in {"/readyz", "/app/nowhere"}:
        assert set(answer.json()) == {"code", "message", "hint", "request_id", "problems"}
        assert answer.json()["request_id"] == answer.headers["x-request-id"]
    return answer


@pytest.mark.slow(0.3)
def test_every_route_has_a_decision_and_the_code_follows_it(server: LiveServer) -> None:
    found = {f"{each.method} {each.path}": each.access for each in operations(server.app) if each.path}
    assert found == ACCESS
    paths = server.app.openapi()["paths"]
    assert {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods} == set(DOCUMENTED)


@pytest.mark.parametrize("route", PROTECTED)
def test_only_a_valid_key_or_session_gets_in(callers: Callers, route: str) -> None:
    for name in ("nobody", "malformed", "basic", "wrong", "revoked", "expired", "revoked_session", "made_up_session"):
        answer = call(getattr(callers, name), route)
        assert answer.status_code == 401, name
        assert answer.headers["www-authenticate"].startswith("Bearer"), name
        assert answer.json()["code"] == "unauthorized", name


@pytest.mark.parametrize("route", [route for route in PROTECTED if route != "DELETE /session"])
def test_a_read_only_key_reads_and_a_full_one_does_all(callers: Callers, route: str) -> None:
    for name in ("read", "reading_browser"):
        answer = call(getattr(callers, name), route)
        assert (answer.status_code == 403) == (ACCESS[route] == "full"), name
        assert answer.status_code not in (401, 429), name
    for name in ("full", "browser"):
        assert call(getattr(callers, name), route).status_code not in (401, 403, 429), name


@pytest.mark.parametrize("route", UNSAFE)
def test_a_cookie_alone_changes_nothing(callers: Callers, route: str) -> None:
    for name in (
        "browser_without_token",
        "browser_with_wrong_token",
        "browser_of_another_site",
        "browser_without_origin",
    ):
        assert call(getattr(callers, name), route).status_code == 403, name
        assert getattr(callers, name).get("/session").status_code == 200, name  # reading needs no token


@pytest.mark.parametrize("route", [route for route, access in ACCESS.items() if access == "open"])
def test_open_routes_need_no_key(callers: Callers, route: str) -> None:
    assert call(callers.nobody, route).status_code in {200, 307, 422, 503}


def test_a_key_counts_before_a_cookie_and_needs_no_token(server: LiveServer, callers: Callers) -> None:
    with server.browser(server.read) as client:
        del client.headers["X-CSRF-Token"]
        client.headers["Authorization"] = f"Bearer {server.full}"
        assert client.post("/keys", json={"name": "both"}).status_code == 201
        client.headers["Authorization"] = "Bearer wrong"
        assert client.get("/session").status_code == 401


@pytest.mark.slow(0.3)
def test_an_answer_in_memory_is_not_for_everybody(server: LiveServer, callers: Callers) -> None:
    for path in ("/runs", "/runs?limit=5", "/scenarios", "/worlds"):
        assert callers.full.get(path).content == callers.full.get(path).content
        for name in ("nobody", "wrong", "revoked", "expired"):
            assert getattr(callers, name).get(path).status_code == 401, (path, name)


def test_a_key_in_the_query_is_not_accepted(server: LiveServer, callers: Callers) -> None:
    for name in ("key", "token", "api_key", "access_token", "authorization"):
        assert callers.nobody.get("/session", params={name: server.full}).status_code == 401

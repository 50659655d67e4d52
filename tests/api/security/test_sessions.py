"""Logging in with a key: the cookie, its life, and who cannot make one."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from fastapi import Request

from mayavi.api.security.authenticator import client_bucket
from mayavi.api.security.sessions import COOKIE
from tests.api.live_server import LiveServer


def test_a_login_sets_a_cookie_that_scripts_and_other_sites_cannot_use(server: LiveServer) -> None:
    with server.client() as client:
        answer = client.post("/session", json={"key": server.full})
    attributes = answer.headers["set-cookie"].lower().split("; ")
    assert answer.status_code == 201
    assert {"httponly", "samesite=strict", "path=/", "max-age=43200"} <= set(attributes)
    assert "secure" not in attributes
    assert server.full not in answer.text
    assert answer.json()["key"]["name"] == "full"


def test_secure_cookies_travel_over_https_only(tmp_path: Path) -> None:
    with LiveServer(tmp_path, secure_cookies=True) as server, server.client() as client:
        answer = client.post(
            "/session", json={"key": server.full}, headers={"Origin": f"https://127.0.0.1:{server.port}"}
        )
        assert answer.status_code == 201
        assert "; secure" in answer.headers["set-cookie"].lower()
        over_http = client.post("/session", json={"key": server.full}, headers={"Origin": server.url})
        assert over_http.status_code == 403
        assert "https://" in over_http.json()["hint"]


def test_each_login_gives_a_new_session_and_ends_the_former(server: LiveServer) -> None:
    """Session fixation: a cookie planted before the login is worth nothing after it."""
    with server.client() as client:
        client.cookies.set(COOKIE, "planted-by-somebody-else")
        first = client.post("/session", json={"key": server.full}).cookies[COOKIE]
    with server.client() as client:
        second = client.post("/session", json={"key": server.full}, headers={"Cookie": f"{COOKIE}={first}"})
    assert len({"planted-by-somebody-else", first, second.cookies[COOKIE]}) == 3
    for cookie, status in ((first, 401), ("planted-by-somebody-else", 401), (second.cookies[COOKIE], 200)):
        answer = httpx.get(f"{server.url}/session", headers={"Cookie": f"{COOKIE}={cookie}"}, timeout=300, verify=False)
        assert answer.status_code == status


def test_a_browser_learns_its_token_again_and_a_program_has_none(server: LiveServer) -> None:
    with server.browser() as browser, server.client(server.read) as program:
        assert browser.get("/session").json()["csrf_token"] == browser.headers["X-CSRF-Token"]
        assert program.get("/session").json() | {"key": None} == {"key": None, "csrf_token": None, "expires_at": None}


def test_a_logout_ends_the_session_and_deletes_the_cookie(server: LiveServer) -> None:
    with server.browser() as browser:
        cookie = browser.cookies[COOKIE]
        answer = browser.delete("/session")
        assert answer.status_code == 204
        assert "max-age=0" in answer.headers["set-cookie"].lower()
    again = httpx.get(f"{server.url}/session", headers={"Cookie": f"{COOKIE}={cookie}"}, timeout=300, verify=False)
    assert again.status_code == 401
    assert again.json()["message"] == "the session has ended"


def test_revoking_a_key_ends_its_sessions_at_once(server: LiveServer) -> None:
    key, text = server.service.keys.create("for a while", "full")
    with server.browser(str(text)) as browser, server.client(server.full) as admin:
        assert browser.get("/session").status_code == 200
        assert admin.delete(f"/keys/{key.key_id}").status_code == 200
        assert browser.get("/session").status_code == 401
        assert (
            server.service.database.reading()
            .execute("SELECT count(*) FROM sessions WHERE key_id = ?", (key.key_id,))
            .fetchone()[0]
            == 0
        )


def test_a_stream_says_nothing_more_once_its_key_is_revoked(server: LiveServer) -> None:
    service = server.service
    key, text = service.keys.create("follower", "read")
    with server.client(server.full) as admin, server.client(str(text)) as follower:
        run_id = admin.post("/runs", json={"scenario": "aave_borrower", "steps": 2}).json()["run_id"]
        with follower.stream("GET", f"/runs/{run_id}/events") as stream:
            lines = stream.iter_lines()
            assert any(line == "event: queued" for line in lines)
            service.keys.revoke(key.key_id)
            assert admin.delete(f"/runs/{run_id}").status_code == 202  # an event that everybody else gets
            assert "event: cancelled" not in list(lines)
        answer = admin.get(f"/runs/{run_id}/events")
        assert "event: cancelled" in answer.text


def test_expired_sessions_are_refused_and_deleted_at_the_next_login(tmp_path: Path) -> None:
    with LiveServer(tmp_path, session_hours=1e-9) as server, server.client() as client:
        assert client.post("/session", json={"key": server.full}).status_code == 201
        assert client.get("/session").status_code == 401
        client.post("/session", json={"key": server.full})
        rows = server.service.database.reading().execute("SELECT count(*) FROM sessions").fetchone()[0]
        assert rows == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_site_cannot_log_a_browser_in(server: LiveServer, headers: dict[str, str]) -> None:
    with server.client(**headers) as client:
        answer = client.post("/session", json={"key": server.full})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_a_form_of_another_site_is_not_a_login(server: LiveServer) -> None:
    """Browsers send forms as text/plain to other sites without asking; JSON they do not."""
    with server.client() as client:
        body = f'{{"key": "{server.full}"}}'
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
            answer = client.post("/session", content=body, headers={"Content-Type": kind})
            assert answer.status_code == 422
            assert server.full not in answer.text


def test_failed_logins_of_an_address_are_limited(tmp_path: Path) -> None:
    with LiveServer(tmp_path, failed_logins_per_minute=3) as server, server.client() as client:
        for _ in range(3):
            assert client.post("/session", json={"key": "wrong"}).status_code == 401
        refused = client.post("/session", json={"key": server.full})
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["retry-after"]) <= 20
        assert client.get("/session", headers={"Authorization": f"Bearer {server.full}"}).status_code == 200


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("203.0.113.1", "203.0.113.2", False),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("testclient", "testclient", True),
    ],
)
def test_addresses_of_one_ipv6_network_share_their_failed_logins(one: str, other: str, same: bool) -> None:
    def bucket(host: str) -> str:
        return client_bucket(Request({"type": "http", "client": (host, 1)}))

    assert (bucket(one) == bucket(other)) is same


def test_nothing_secret_is_in_the_database(server: LiveServer) -> None:
    with server.browser() as browser:
        cookie = browser.cookies[COOKIE]
    server.service.database.reading().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = server.service.database.path.read_bytes()
    assert b"full" in content
    for secret in (cookie, browser.headers["X-CSRF-Token"], server.full, server.full.split("_", 2)[2]):
        assert secret.encode() not in content

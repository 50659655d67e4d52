"""Keys in the database: creation, comparison, revocation, the bootstrap key, limits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from mayavi.api.database import ServiceDatabase
from mayavi.api.security import keys as keys_module
from mayavi.api.security.keys import KeyRing
from mayavi.api.security.tokens import parse_key
from mayavi.errors import UnknownName, UsageError
from tests.api.live_server import LiveServer


@pytest.fixture
def ring(tmp_path: Path) -> Iterator[KeyRing]:
    database = ServiceDatabase(tmp_path)
    yield KeyRing(database)
    database.close()


def test_a_key_is_found_by_its_text_and_stored_as_a_hash(ring: KeyRing) -> None:
    key, text = ring.create("analyst", "full", requests_per_minute=7, concurrent_jobs=2)
    assert parse_key(str(text)) == text
    assert ring.find(str(text)) == key
    assert (key.requests_per_minute, key.concurrent_jobs, key.scope) == (7, 2, "full")
    stored = ring.database.reading().execute("SELECT secret_hash FROM keys").fetchone()[0]
    assert stored == hashlib.sha256(text.secret.encode()).digest()


def test_texts_that_are_no_key_are_not_found(ring: KeyRing) -> None:
    _, text = ring.create("analyst")
    other = ring.create("other")[1]
    wrong = [str(text)[:-1], f"{text}A", str(text).upper(), f" {text}", str(other).replace(other.key_id, text.key_id)]
    for each in ["", "mvk_", text.secret, text.key_id, "' OR 1=1 --", "\ud800", "bootstrap", *wrong]:
        assert ring.find(each) is None, each


def test_hashes_are_compared_in_constant_time(ring: KeyRing, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer comes from `hmac.compare_digest`, also that an unknown key is unknown."""
    import hmac

    compared: list[tuple[bytes, bytes]] = []
    real = hmac.compare_digest

    def noting(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return real(one, other)

    monkeypatch.setattr(hmac, "compare_digest", noting)
    key, text = ring.create("analyst")
    assert ring.find(str(text)) == key
    assert ring.find("mvk_00000000_" + "A" * 43) is None
    assert ring.find("no key at all") is None
    assert len(compared) == 5
    assert all(len(one) == len(other) == 32 for one, other in compared)


def test_a_revoked_key_is_gone_for_good(ring: KeyRing) -> None:
    key, text = ring.create("analyst")
    assert ring.revoke(key.key_id).revoked_at is not None
    assert ring.find(str(text)) is None
    with pytest.raises(UsageError, match="revoked already"):
        ring.revoke(key.key_id)
    with pytest.raises(UnknownName, match="unknown key 'nobody'"):
        ring.revoke("nobody")


def test_the_bootstrap_key_lives_as_long_as_its_variable(ring: KeyRing) -> None:
    ring.set_bootstrap("a long enough bootstrap key")
    found = ring.find("a long enough bootstrap key")
    assert found is not None
    assert (found.scope, found.bootstrap) == ("full", True)
    with pytest.raises(UsageError, match="MAYAVI_API_KEY"):
        ring.revoke(found.key_id)
    ring.set_bootstrap("another bootstrap key, longer")
    assert ring.find("a long enough bootstrap key") is None
    ring.set_bootstrap(None)
    assert ring.find("another bootstrap key, longer") is None
    ring.set_bootstrap("another bootstrap key, longer")
    assert ring.find("another bootstrap key, longer") is not None


def test_a_bootstrap_key_may_look_like_any_other(ring: KeyRing) -> None:
    text = "mvk_01234567_" + "x" * 43
    ring.set_bootstrap(text)
    assert ring.find(text) is not None


@pytest.mark.parametrize("text", ["short", "nineteen characters", "with a line\nbreak in the middle", "ключ" * 10])
def test_a_weak_or_unsendable_bootstrap_key_is_refused(ring: KeyRing, text: str) -> None:
    with pytest.raises(UsageError, match="at least 20 printable ASCII characters"):
        ring.set_bootstrap(text)


def test_the_last_use_is_stored_once_a_minute(ring: KeyRing, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(keys_module.time, "monotonic", lambda: now)
    assert [ring.is_due("a"), ring.is_due("a"), ring.is_due("b")] == [True, False, True]
    now += 59
    assert not ring.is_due("a")
    now += 1
    assert ring.is_due("a")


def test_the_use_of_many_keys_is_stored_together(ring: KeyRing) -> None:
    keys = [ring.create(f"key {number}", "read")[0] for number in range(3)]
    ring.note_use(*(key.key_id for key in keys[:2]))
    assert [ring.key(key.key_id).last_used_at is None for key in keys] == [False, False, True]


def test_keys_over_http(tmp_path: Path) -> None:
    with LiveServer(tmp_path) as server, server.client(server.full) as admin:
        made = admin.post("/keys", json={"name": "robot", "scope": "read", "requests_per_minute": 3}).json()
        assert parse_key(made["key"]) is not None
        listed = admin.get("/keys").json()
        assert {"full", "read", "robot"} <= {each["name"] for each in listed["items"]}
        assert made["key"] not in str(listed)
        assert all("key" not in each and "hash" not in str(each) for each in listed["items"])
        with server.client(made["key"]) as robot:
            answers = [robot.get("/session") for _ in range(4)]
            assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
            assert [answer.headers["x-ratelimit-remaining"] for answer in answers] == ["2", "1", "0", "0"]
            assert answers[-1].headers["x-ratelimit-limit"] == "3"
            assert 1 <= int(answers[-1].headers["retry-after"]) <= 20
            assert admin.get("/session").status_code == 200  # the limit is that of one key
        assert admin.delete(f"/keys/{made['key_id']}").json()["revoked_at"] is not None
        assert admin.delete(f"/keys/{made['key_id']}").status_code == 409
        assert admin.delete("/keys/nobody").status_code == 404
        for wrong in ({"name": ""}, {"name": "a\nb"}, {"name": "a", "scope": "root"}, {"name": "a", "more": 1}):
            assert admin.post("/keys", json=wrong).status_code == 422


def test_a_service_takes_its_bootstrap_key_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAYAVI_API_KEY", "a key of the environment")
    with LiveServer(tmp_path) as server, server.client("a key of the environment") as client:
        assert client.get("/session").json()["key"]["bootstrap"] is True
        assert client.delete("/keys/bootstrap").status_code == 409
    monkeypatch.delenv("MAYAVI_API_KEY")
    with LiveServer(tmp_path) as server, server.client("a key of the environment") as client:
        assert client.get("/session").status_code == 401

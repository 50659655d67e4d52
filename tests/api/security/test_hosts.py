"""Host names that the service answers to."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from mayavi.api.security.hosts import AllowedHosts
from mayavi.api.security.origin import is_cross_origin


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        (b"localhost:8420", True),
        (b"LOCALHOST", True),
        (b"mayavi.localhost", True),
        (b"127.0.0.1:8420", True),
        (b"192.168.1.7", True),
        (b"[::1]:8420", True),
        (b"risk.example.org", True),
        (b"risk.example.org.", True),
        (b"a.lab.example", True),
        (b"lab.example", False),
        (b"evil.example", False),
        (b"localhost.evil.example", False),
        (b"127.0.0.1.evil.example", False),
        (b"risk.example.org@evil.example", False),
        (b"localhost:8420/../", False),
        (b"localhost:port", False),
        (b"local host", False),
        (b"", False),
    ],
)
def test_only_known_names_and_addresses_are_answered(host: bytes, allowed: bool) -> None:
    assert AllowedHosts(("risk.example.org", "*.lab.example")).allows(host) is allowed
    assert AllowedHosts(None).allows(host)


@pytest.mark.parametrize(
    ("origin", "host", "crosses"),
    [
        ("http://127.0.0.1:8420", "127.0.0.1:8420", False),
        ("https://risk.example.org", "risk.example.org", False),
        ("https://risk.example.org", "risk.example.org:443", False),
        ("https://RISK.example.org", "risk.example.org", False),
        ("https://risk.example.org:8443", "risk.example.org", True),
        ("http://risk.example.org.evil.example", "risk.example.org", True),
        ("http://localhost:8420", "127.0.0.1:8420", True),
        ("null", "127.0.0.1", True),
        ("file://127.0.0.1", "127.0.0.1", True),
        ("http://127.0.0.1:x", "127.0.0.1", True),
        ("", "127.0.0.1", True),
    ],
)
def test_an_origin_is_compared_with_the_host(origin: str, host: str, crosses: bool) -> None:
    assert is_cross_origin(Headers({"origin": origin, "host": host})) is crosses

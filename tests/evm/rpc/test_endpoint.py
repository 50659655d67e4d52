"""Addresses of nodes: checked, read from the environment, and never shown beyond scheme and host."""

from __future__ import annotations

import pytest

from mayavi.errors import UsageError
from mayavi.evm.rpc.endpoint import Endpoint, url_from_environment
from tests.evm.rpc.faulty_server import KEY


@pytest.mark.parametrize(
    "url",
    ["", "  ", "ftp://host/x", "file:///etc/passwd", "host.example/v2/x", "http://", "https:///path", "http://h:99999/",
     "http://[::1/", "http://host /x", "http://host/\nx", "ws://host/x", "wss://host/x"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        Endpoint.parse(url)


def test_a_refused_address_is_not_repeated() -> None:
    for url in (f"wss://host/{KEY}", f"{KEY}://host", f"host:{KEY}", f"https://:x/{KEY}"):
        with pytest.raises(UsageError) as caught:
            Endpoint.parse(url)
        assert KEY not in str(caught.value)


def test_an_endpoint_shows_scheme_and_host() -> None:
    endpoint = Endpoint.parse(f"https://Node.Example:8443/v2/{KEY}?a={KEY}")
    assert str(endpoint) == "https://node.example:8443"
    assert (endpoint.host, endpoint.port, endpoint.target) == ("node.example", 8443, f"/v2/{KEY}?a={KEY}")
    assert str(Endpoint.parse("http://[::1]/")) == "http://[::1]"


def test_the_environment_names_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAYAVI_RPC_URL", "MAYAVI_RPC_URL_ETHEREUM", "ALCHEMY_RPC_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="no RPC address is set") as caught:
        url_from_environment("ethereum")
    assert "MAYAVI_RPC_URL_ETHEREUM or MAYAVI_RPC_URL or ALCHEMY_RPC_URL" in str(caught.value.hint)
    monkeypatch.setenv("ALCHEMY_RPC_URL", "https://alchemy.example/k")
    assert url_from_environment("ethereum") == "https://alchemy.example/k"
    monkeypatch.setenv("MAYAVI_RPC_URL", "https://any.example/k")
    assert url_from_environment("ethereum") == url_from_environment(None) == "https://any.example/k"
    monkeypatch.setenv("MAYAVI_RPC_URL_ETHEREUM", "https://ethereum.example/k")
    assert url_from_environment("ethereum") == "https://ethereum.example/k"
    assert url_from_environment("base") == url_from_environment(None) == "https://any.example/k"
    monkeypatch.setenv("MAYAVI_RPC_URL_ETHEREUM", "")
    assert url_from_environment("ethereum") == "https://any.example/k"


def test_an_address_set_for_one_chain_alone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAYAVI_RPC_URL", "ALCHEMY_RPC_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MAYAVI_RPC_URL_ETHEREUM", f"https://node.example/{KEY}")
    for chain, message in (
        (None, "no chain is named, and no RPC address is set for all"),
        ("base", "for chain 'base'"),
    ):
        with pytest.raises(UsageError, match=message) as caught:
            url_from_environment(chain)
        assert 'MAYAVI_RPC_URL_ETHEREUM serves chain="ethereum": name that chain' in str(caught.value.hint)
        assert KEY not in str(caught.value.hint)


def test_an_address_in_the_environment_must_be_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAYAVI_RPC_URL_BASE", f"wss://node.example/{KEY}")
    with pytest.raises(UsageError, match=r"^MAYAVI_RPC_URL_BASE: the RPC address has scheme 'wss'") as caught:
        url_from_environment("base")
    assert KEY not in str(caught.value)

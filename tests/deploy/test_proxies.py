"""The reverse proxies of docs/deployment.md, run as they stand there in front of a real service."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from benchmarks.subjects.service import PATIENCE_S, ServiceProcess, free_port, wait_for
from mayavi.client import Client
from mayavi.errors import ServiceError, ServiceUnreachable
from tests.pages import DOCS, Page

NAME = "mayavi.example.org"
BODY_LIMIT = 1_048_576
LONG = {"scenario": "depeg_cascade", "steps": 10_000, "seed": 1}
"""Minutes of work, which the test cancels."""
pytestmark = pytest.mark.slow(2)


def block(language: str) -> str:
    """Return the configuration of the page in this language."""
    found = re.search(rf"```{language}\n(.*?)```", Page(DOCS / "deployment.md").text, re.DOTALL)
    assert found is not None
    return found.group(1)


class Proxy:
    """A proxy that runs: the address of its TLS port, and of the port that only redirects to it."""

    def __init__(self, folder: Path, service: ServiceProcess) -> None:
        self.folder, self.service = folder, service
        self.port, self.plain_port = free_port(), free_port()
        self.certificate, self.key = folder / "cert.pem", folder / "key.pem"
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}"]
        command += ["-addext", f"subjectAltName=DNS:{NAME},IP:127.0.0.1"]
        command += ["-keyout", str(self.key), "-out", str(self.certificate)]
        subprocess.run(command, check=True, capture_output=True)

    def nginx(self) -> list[str]:
        """Write the page's configuration of nginx with these ports and files, and return the command."""
        text = block("nginx").replace("listen 443 ", f"listen 127.0.0.1:{self.port} ")
        text = text.replace("listen 80;", f"listen 127.0.0.1:{self.plain_port};").replace(
            "8420", str(self.service.port)
        )
        text = re.sub(r"/etc/\S+fullchain.pem", str(self.certificate), text)
        text = re.sub(r"/etc/\S+privkey.pem", str(self.key), text)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        folders = "".join(f"{each}_temp_path {self.folder}/{each};\n" for each in kinds)
        user = "user root;\n" if os.geteuid() == 0 else ""
        file = self.folder / "nginx.conf"
        file.write_text(
            f"{user}daemon off;\npid {self.folder}/pid;\nerror_log stderr;\nevents {{}}\n"
            f"http {{\naccess_log off;\n{folders}{text}}}\n",
            encoding="utf-8",
        )
        return ["nginx", "-c", str(file), "-p", str(self.folder)]

    def caddy(self) -> list[str]:
        """The same for Caddy, which would fetch a certificate by itself."""
        text = block("caddyfile").replace(
            f"{NAME} {{\n", f"{NAME}:{self.port} {{\n\ttls {self.certificate} {self.key}\n"
        )
        file = self.folder / "Caddyfile"
        globals_ = "{\n\tadmin off\n\tauto_https off\n}\n"
        file.write_text(globals_ + text.replace("8420", str(self.service.port)), encoding="utf-8")
        return ["caddy", "run", "--adapter", "caddyfile", "--config", str(file)]

    def browser(self, *, address: str = "127.0.0.1") -> httpx.Client:
        """Return a client that trusts the proxy and asks for its name from a local address, as a browser does."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        context.check_hostname = False
        host = f"{NAME}:{self.port}"
        return httpx.Client(
            base_url=f"https://127.0.0.1:{self.port}",
            headers={"Host": host, "Origin": f"https://{host}"},
            transport=httpx.HTTPTransport(verify=context, local_address=address),
            timeout=PATIENCE_S,
            event_hooks={"request": [lambda request: request.extensions.update(sni_hostname=NAME)]},
        )


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    page = Page(DOCS / "deployment.md").text
    options = re.search(r"^    mayavi serve (--secure-cookies .*)$", page, re.MULTILINE)
    assert options is not None
    with ServiceProcess(tmp_path_factory.mktemp("proxied") / "service", *options.group(1).split()) as started:
        yield started


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def proxy(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, service: ServiceProcess
) -> Iterator[Proxy]:
    for program in (request.param, "openssl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: `apt install {program}`")
    folder = tmp_path_factory.mktemp(request.param)
    made = Proxy(folder, service)
    command = made.nginx() if request.param == "nginx" else made.caddy()
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env=os.environ | {"XDG_DATA_HOME": str(folder), "HOME": str(folder)}
        )
    try:
        wait_for(lambda: answers(made, process), "the proxy to answer")
        yield made
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def answers(proxy: Proxy, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, (proxy.folder / "log").read_text(encoding="utf-8")
    with contextlib.suppress(httpx.TransportError), proxy.browser() as browser:
        return browser.get("/healthz").status_code == 200
    return False


def test_a_browser_logs_in_starts_a_run_and_sees_its_events_as_they_happen(
    proxy: Proxy, service: ServiceProcess
) -> None:
    with proxy.browser(address="127.0.0.2") as browser:
        assert "Mayavi" in browser.get("/app/").text
        session = browser.post("/session", json={"key": service.key})
        assert session.status_code == 201, session.text
        assert "Secure" in session.headers["Set-Cookie"]
        token = {"X-CSRF-Token": session.json()["csrf_token"]}
        run = browser.post("/runs", json=LONG, headers=token)
        assert run.status_code == 202, run.text
        kinds: list[str] = []
        told = None
        with browser.stream("GET", f"/runs/{run.json()['run_id']}/events") as events:
            for line in events.iter_lines():
                if line.startswith("event:"):
                    kinds.append(line.removeprefix("event:").strip())
                if told is None and kinds.count("progress") == 2:
                    place = f"/runs/{run.json()['run_id']}"
                    told = browser.get(place).json()["status"]
                    assert browser.delete(place, headers=token).is_success
    assert (kinds[0], kinds[-1]) == ("queued", "cancelled")
    assert told == "running"  # progress came through while the run went on
    assert '"client": "127.0.0.2"' in service.log.read_text(encoding="utf-8")


def test_another_site_is_refused_and_a_large_body_answered_by_the_service(
    proxy: Proxy, service: ServiceProcess
) -> None:
    key = {"Authorization": f"Bearer {service.key}", "Content-Type": "application/json"}
    with proxy.browser() as browser:
        refused = browser.post("/session", json={"key": service.key}, headers={"Origin": "https://evil.example.org"})
        assert refused.status_code == 403
        fits = browser.post("/scenarios/validate", headers=key, content=b" " * (BODY_LIMIT - 2) + b"{}")
        assert (fits.status_code, fits.json()["valid"]) == (200, False)
        large = browser.post("/scenarios/validate", headers=key, content=b" " * (BODY_LIMIT + 1))
        assert (large.status_code, large.json()["code"]) == (413, "too_large")


def test_the_client_says_what_is_wrong_with_an_address(
    proxy: Proxy, service: ServiceProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        Client(f"https://127.0.0.1:{proxy.port}", service.key, patience_s=600) as client,
        pytest.raises(ServiceUnreachable, match=r"certificate of .* is not trusted") as refused,
    ):
        client.show("a-run")
    assert "SSL_CERT_FILE" in str(refused.value.hint)
    if "nginx" in proxy.folder.name:
        with (
            Client(f"http://127.0.0.1:{proxy.plain_port}", service.key) as client,
            pytest.raises(ServiceError, match="sent on to https://"),
        ):
            client.check()
        monkeypatch.setenv("SSL_CERT_FILE", str(proxy.certificate))
        with Client(f"https://127.0.0.1:{proxy.port}", service.key) as client:
            client.check()

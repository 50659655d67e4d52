"""`/app/…`: files of the dashboard, their caching and compression, and addresses of pages."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from mayavi.api.routes import dashboard
from mayavi.api.static_files import FOREVER, StaticFolder
from tests.api.live_server import LiveServer
from tests.chromium import skip_or_fail

FIRST_LOAD_BYTES = 600_000
SCRIPT = b"console.log('page');"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A built dashboard beside a file that is none of its business."""
    built = tmp_path / "built"
    (built / "assets").mkdir(parents=True)
    (built / "index.html").write_text("<!doctype html>the page")
    (built / "assets" / "index-1a2b.js").write_bytes(SCRIPT)
    (built / "assets" / "index-1a2b.js.gz").write_bytes(gzip.compress(SCRIPT))
    (built / "manifest.json").write_text("{}")
    (tmp_path / "secret.js").write_text("not for you")
    return built


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with LiveServer(tmp_path_factory.mktemp("service")) as server:
        yield server


@pytest.fixture
def client(server: LiveServer, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    files = StaticFolder(folder)
    monkeypatch.setattr(dashboard, "built", lambda: files)
    with server.client() as client:
        yield client


@pytest.mark.parametrize("path", ["/", "/app"])
def test_the_root_leads_to_the_dashboard(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.headers["location"]) == (307, "/app/")


@pytest.mark.parametrize("path", ["/app/", "/app/runs", "/app/runs/20261117-1/actions", "/app/index.html"])
def test_every_address_of_a_page_gives_the_page_which_is_asked_for_each_time(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    assert answer.text == "<!doctype html>the page"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    again = client.get(path, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_files_with_a_hash_in_their_name_are_kept_for_ever_and_sent_compressed(client: httpx.Client) -> None:
    answer = client.get("/app/assets/index-1a2b.js", headers={"Accept-Encoding": "gzip, br"})
    assert answer.content == SCRIPT
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["cache-control"] == FOREVER
    assert answer.headers["vary"] == "Accept-Encoding"
    for refused in ("identity", "gzip;q=0"):
        plain = client.get("/app/assets/index-1a2b.js", headers={"Accept-Encoding": refused})
        assert plain.content == SCRIPT
        assert "content-encoding" not in plain.headers


def test_a_missing_file_is_no_page(client: httpx.Client) -> None:
    answer = client.get("/app/assets/index-of-last-week.js")
    assert answer.status_code == 404
    assert answer.json()["hint"] == "it may have been updated: load the page again"


@pytest.mark.parametrize(
    "path",
    [
        "../secret.js",
        "%2e%2e/secret.js",
        "..%2fsecret.js",
        "assets/..%2f..%2fsecret.js",
        "/etc/passwd",
        "manifest.json",
    ],
)
def test_nothing_outside_of_the_folder_can_be_read(client: httpx.Client, path: str) -> None:
    answer = client.get(f"/app/{path}")
    assert "not for you" not in answer.text
    assert "root:" not in answer.text
    assert answer.text != "{}"


def test_a_new_build_is_served_without_a_restart_and_a_missing_one_says_how_to_build(
    client: httpx.Client, folder: Path
) -> None:
    assert "the page" in client.get("/app/").text
    (folder / "index.html").unlink()
    answer = client.get("/app/")
    assert answer.status_code == 503
    assert "make setup" in answer.text
    (folder / "index.html").write_text("<!doctype html>another page")
    assert "another page" in client.get("/app/runs").text


def test_only_reading_is_allowed(client: httpx.Client) -> None:
    assert client.head("/app/").status_code == 200
    assert client.post("/app/").status_code == 405


@pytest.mark.slow(0.3)
def test_the_openapi_document_that_the_types_of_the_dashboard_are_made_of_is_current(repository: Path) -> None:
    sys.path.insert(0, str(repository / "tools"))
    try:
        from openapi_document import PLACE, document_text
    finally:
        sys.path.pop(0)
    assert PLACE.read_text("utf-8") == document_text(), "run `PYTHONPATH=. .venv/bin/python tools/openapi_document.py`"


def test_the_first_page_loads_within_its_limit_and_without_the_charts(repository: Path) -> None:
    built = repository / "mayavi/api/dashboard"
    if not (built / "manifest.json").is_file():
        skip_or_fail("the dashboard is not built: `make setup` builds it")
    manifest = json.loads((built / "manifest.json").read_text())
    files, waiting = {"index.html", "theme.js"}, ["index.html", "src/pages/runs/index.tsx"]
    while waiting:
        chunk = manifest[waiting.pop()]
        if chunk["file"] not in files:
            files |= {chunk["file"], *chunk.get("css", ())}
            waiting += chunk.get("imports", ())
    sizes = {name: len(gzip.compress((built / name).read_bytes(), 9)) for name in files}
    assert sum(sizes.values()) <= FIRST_LOAD_BYTES, sizes
    assert sum(sizes.values()) > 50_000  # React alone is more: nothing was left out
    assert not [name for name in files if "plotly" in name]

"""Pages, reports and artifacts: every number is the report's, results are built once, elsewhere, and kept."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import math
import os
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest

from mayavi.api.errors import ApiError
from mayavi.api.models.page import PageData
from mayavi.api.reading.results.builders import ResultBuilders
from mayavi.api.reading.results.page_data import page_data
from mayavi.api.reading.results.result_task import ResultTask
from mayavi.errors import UnknownRun, WorkerError
from mayavi.report.builder import run_page
from mayavi.report.output import find_chromium
from mayavi.report.page import ActionLog, Block, Chart, Page, Scrubber, Table
from mayavi.report.render import cell_text, render
from mayavi.report.shapes.compare import compare_page
from mayavi.report.shapes.sweeps.sweep import sweep_page
from mayavi.report.store_commands import name_store
from mayavi.sim.store import SegmentRecorder, Store
from mayavi.sim.store.artifact import read_artifact
from tests.api.live_server import LiveServer
from tests.api.reading.conftest import SMALL, Served
from tests.report.stored_rows import action, figure, stored
from tests.sim.store.sample_runs import actions_of, info_of, snapshots_of


def plain(value: Any) -> Any:
    """A part of a page as JSON would hold it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def expected(page: Page) -> dict[str, Any]:
    """What the data of a page must be, taken from the page itself field by field."""
    whole: dict[str, Any] = plain(page)
    for tile in whole["tiles"]:
        del tile["source"]
    whole["hero"] = None if page.hero is None else expected_block(page.hero)
    for section, own in zip(whole["sections"], page.sections, strict=True):
        section["blocks"] = [expected_block(block) for block in own.blocks]
    return whole


def expected_block(block: Block) -> dict[str, Any]:
    data: dict[str, Any] = plain(block)
    if isinstance(block, Table):
        data["data"] = data["rows"]
        data["rows"] = [
            [cell_text(cell, column) for cell, column in zip(row, block.columns, strict=True)] for row in block.rows
        ]
        data["columns"] = [{**plain(column), "align": column.align} for column in block.columns]
    elif isinstance(block, Chart):
        data["table"] = expected_block(block.table)
    elif isinstance(block, ActionLog):
        del data["rows"]
        data["note"] = ""
    return data


def get(client: httpx.Client, path: str, **more: Any) -> httpx.Response:
    answer = client.get(path, **more)
    assert answer.status_code == 200, answer.text
    return answer


@pytest.mark.slow(1)
@pytest.mark.parametrize("scenario", SMALL)
def test_every_part_of_a_page_is_the_reports(served: Served, scenario: str) -> None:
    run_id = served.runs[scenario]
    found = get(served.client, f"/runs/{run_id}/page").json()
    page = name_store(run_page(served.store, run_id), served.store.path)
    assert found == json.loads(json.dumps(expected(page)))
    assert PageData.model_validate(found).title == page.title
    kinds = {type(block) for section in page.sections for block in section.blocks}
    assert {Table, ActionLog, Scrubber} <= kinds


@pytest.mark.slow(2)
def test_the_report_is_the_file_that_the_command_writes(served: Served) -> None:
    run_id = served.runs["aave_borrower"]
    answer = get(served.client, f"/runs/{run_id}/report")
    assert answer.text == render(name_store(run_page(served.store, run_id), served.store.path))
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-disposition"] == f'inline; filename="aave_borrower-{run_id}.html"'
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox")
    assert "allow-same-origin" not in policy


@pytest.mark.slow(2)
def test_sweeps_and_comparisons_have_the_reports_numbers(served: Served) -> None:
    found = get(served.client, f"/sweeps/{served.sweep_id}/page").json()
    assert found == json.loads(
        json.dumps(expected(name_store(sweep_page(served.store, served.sweep_id), served.store.path)))
    )
    report = get(served.client, f"/sweeps/{served.sweep_id}/report")
    assert report.headers["content-security-policy"].startswith("sandbox")
    named = [served.runs["aave_borrower"], served.runs["compound_v3_borrower"]]
    found = get(served.client, "/compare", params={"run": named}).json()
    assert found == json.loads(json.dumps(expected(name_store(compare_page(served.store, named), served.store.path))))
    assert found["provenance"]["command"] == f"mayavi report compare {' '.join(named)} --store {served.store.path}"
    assert "executes nothing" in found["provenance"]["note"]
    mixed = [served.runs["aave_borrower"], served.sweep_id]
    found = get(served.client, "/compare", params={"run": mixed}).json()
    assert found["title"] == compare_page(served.store, mixed).title
    assert get(served.client, "/compare/report", params={"run": named}).text.startswith("<!DOCTYPE html>")


@pytest.mark.slow(0.6)
def test_what_cannot_be_compared_is_refused(served: Served) -> None:
    one = served.runs["aave_borrower"]
    for named, status in (([one], 422), ([one, one], 422), ([one, one[:-1]], 404), ([one, "sweep-x"], 404)):
        answer = served.client.get("/compare", params={"run": named})
        assert answer.status_code == status, answer.text


@pytest.mark.slow(1)
def test_an_ended_run_is_not_sent_twice(served: Served) -> None:
    path = f"/runs/{served.runs['vesting_cliff']}"
    for rest in ("page", "report"):
        first = get(served.client, f"{path}/{rest}")
        etag = first.headers["etag"]
        assert first.headers["cache-control"] == "private, no-cache"
        again = served.client.get(f"{path}/{rest}", headers={"If-None-Match": f'"other", {etag}'})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
        other = get(served.client, f"{path}/{rest}", headers={"If-None-Match": '"other"'})
        assert other.content == first.content


@pytest.mark.slow(1)
def test_no_chromium_is_said_with_what_to_do(served: Served, tmp_path: Path) -> None:
    """A builder process takes MAYAVI_CHROMIUM from its environment when it starts."""
    before = os.environ.get("MAYAVI_CHROMIUM")
    os.environ["MAYAVI_CHROMIUM"] = str(tmp_path / "none")
    try:
        with LiveServer(tmp_path, data=tmp_path / "service") as server:
            _, run_id = stored(server.service.store.path, [action(0)], [figure(0, "pool", "price", 1.0)])
            answer = server.client(server.read).get(f"/runs/{run_id}/report.pdf")
    finally:
        del os.environ["MAYAVI_CHROMIUM"]
        if before is not None:
            os.environ["MAYAVI_CHROMIUM"] = before
    assert answer.status_code == 503
    assert "MAYAVI_CHROMIUM names" in answer.json()["message"]


@pytest.mark.slow(10)
def test_the_pdf_is_printed_by_chromium(served: Served) -> None:
    if find_chromium() is None:
        pytest.skip("no Chromium is installed")
    answer = get(served.client, f"/runs/{served.runs['aave_borrower']}/report.pdf")
    assert answer.content.startswith(b"%PDF-")
    assert answer.headers["content-type"] == "application/pdf"


@pytest.mark.slow(3)
def test_a_running_run_shows_what_is_stored_so_far(tmp_path: Path) -> None:
    with LiveServer(tmp_path) as server:
        client = server.client(server.read)
        recorder = SegmentRecorder(server.service.store.path, flush_rows=1)
        recorder.begin(info_of("goes-on"))
        found = client.get("/runs/goes-on").json()
        assert (found["status"], found["actions"], found["digest"]) == ("running", None, "")
        assert client.get("/runs/goes-on/page").json()["verdict"]["badge"] == "RUNNING"
        recorder.record(actions_of(0), snapshots_of(0))
        first = client.get("/runs/goes-on/page")
        assert first.status_code == 200, first.text
        assert "etag" not in first.headers
        assert client.get("/runs/goes-on/rows/actions").json()["total"] == 3
        recorder.record(actions_of(1), snapshots_of(1))
        deadline = 600
        while scrubbed(client.get("/runs/goes-on/page").json()) != [0, 1]:
            deadline -= 1
            assert deadline
        answer = client.get("/runs/goes-on/artifact")
        assert answer.status_code == 409
        assert "running" in answer.json()["message"]
        recorder.close()


def scrubbed(page: dict[str, Any]) -> list[int]:
    blocks = [block for section in page["sections"] for block in section["blocks"]]
    return next((list(block["steps"]) for block in blocks if block["kind"] == "scrubber"), [])


def test_a_job_that_waits_has_no_results_yet(tmp_path: Path) -> None:
    from mayavi.api.security.caller import Caller

    with LiveServer(tmp_path) as server:
        client = server.client(server.read)
        for kind, job_id in (("run", "waits"), ("sweep", "sweep-waits")):
            submission = '{"seed": "1", "steps": 2, "text": "name: own", "seeds": "0:2", "grid": {}}'
            caller = Caller("aaaaaaaa", "team", "full")
            server.service.queue.submit(kind, job_id, "own", "ethereum", submission, caller, None, total=2)  # type: ignore[arg-type]
        for path in (
            "/runs/waits/page",
            "/runs/waits/artifact",
            "/sweeps/sweep-waits/page",
            "/sweeps/sweep-waits/report",
        ):
            answer = client.get(path)
            assert answer.status_code == 409, path
            assert "queued" in answer.json()["message"]
        assert client.get("/runs/waits/rows/kpis").json()["rows"] == []
        (sweep,) = client.get("/sweeps").json()["items"]
        assert (sweep["sweep_id"], sweep["status"], sweep["runs"]) == ("sweep-waits", "queued", 2)
        details = client.get("/sweeps/sweep-waits").json()
        assert (details["plan"], details["scenario_text"]) == ({"seeds": "0:2", "grid": {}}, "name: own")


@pytest.mark.slow(1)
def test_the_artifact_is_the_bundle_of_the_run(served: Served, tmp_path: Path) -> None:
    run_id = served.runs["aave_borrower"]
    answer = get(served.client, f"/runs/{run_id}/artifact")
    assert answer.headers["content-disposition"] == f'attachment; filename="aave_borrower-{run_id}.zip"'
    assert answer.headers["content-length"] == str(len(answer.content))
    (tmp_path / "run.zip").write_bytes(answer.content)
    bundle, run = read_artifact(tmp_path / "run.zip")
    assert run.digest == served.store.run(run_id).digest
    assert "report.html" in bundle.files
    assert get(served.client, f"/runs/{run_id}/artifact").content == answer.content
    assert all(not name.startswith(("/", "..")) for name in zipfile.ZipFile(BytesIO(answer.content)).namelist())


@pytest.mark.slow
def test_names_from_runs_never_reach_a_header_as_they_are(tmp_path: Path) -> None:
    with LiveServer(tmp_path) as server:
        name = 'x"\r\nSet-Cookie: a=b; <script>/../'
        _, run_id = stored(
            server.service.store.path, [action(0)], [figure(0, "pool", "price", 1.0)], scenario=name, text=""
        )
        client = server.client(server.read)
        answer = get(client, f"/runs/{run_id}/report")
        assert answer.headers["content-disposition"] == f'inline; filename="x-Set-Cookie-a-b-script-..--{run_id}.html"'
        assert "set-cookie" not in answer.headers
        assert "<script>/../" not in answer.text
        refused = client.get(f"/runs/{run_id}/artifact")
        assert refused.status_code == 409
        assert "built in Python" in refused.json()["message"]
        assert client.get(f"/runs/{run_id}").json()["command"] == ""


@pytest.mark.slow(0.3)
def test_what_json_lacks_is_null(tmp_path: Path) -> None:
    figures = [figure(step, "pool", "price", [1.0, math.nan, math.inf][step]) for step in range(3)]
    store, run_id = stored(tmp_path / "runs.duckdb", [action(step) for step in range(3)], figures)
    text = page_data(run_page(store, run_id)).model_dump_json()
    assert "NaN" not in text
    assert "Infinity" not in text
    assert json.loads(text) == json.loads(json.dumps(expected(run_page(store, run_id))))


class TestBuilders:
    def task(self, store: Store, run_id: str, format: Any = "page") -> ResultTask:
        return ResultTask("run", (run_id,), format, store.path, store.path.parent)

    @pytest.mark.slow(1)
    def test_the_same_result_is_built_once_even_if_many_ask(self, served: Served) -> None:
        builders = ResultBuilders(processes=1)
        task = self.task(served.store, served.runs["aave_borrower"])

        async def ask() -> list[bytes]:
            return await asyncio.gather(*(builders.build(task, 1) for _ in range(5)), builders.build(task, 1))

        try:
            found = asyncio.run(ask())
            assert all(each is found[0] for each in found)
            assert asyncio.run(builders.build(task, 1)) is found[0]
            assert asyncio.run(builders.build(task, 2)) is not found[0]
        finally:
            builders.close()

    @pytest.mark.slow(1)
    def test_errors_of_the_report_come_back_and_the_process_goes_on(self, served: Served) -> None:
        builders = ResultBuilders(processes=1)
        try:
            with pytest.raises(UnknownRun):
                asyncio.run(builders.build(self.task(served.store, "nobody"), 1))
            assert asyncio.run(builders.build(self.task(served.store, served.runs["aave_borrower"]), 1))
        finally:
            builders.close()

    def test_a_process_that_takes_too_long_is_ended(self, served: Served) -> None:
        builders = ResultBuilders(processes=1, patience_s=0.0)
        try:
            with pytest.raises(ApiError) as raised:
                asyncio.run(builders.build(self.task(served.store, served.runs["aave_borrower"]), 1))
            assert raised.value.status == 503
        finally:
            builders.close()

    def test_a_process_that_dies_is_replaced_once(self, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("mayavi.api.reading.results.builders.prepare", os.abort)
        builders = ResultBuilders(processes=1)
        try:
            with pytest.raises(WorkerError, match="died twice"):
                asyncio.run(builders.build(self.task(served.store, "any"), 1))
        finally:
            builders.close()

    def test_nothing_is_built_after_the_end(self, served: Served) -> None:
        builders = ResultBuilders(processes=1)
        builders.close()
        with pytest.raises((ApiError, RuntimeError)):
            asyncio.run(builders.build(self.task(served.store, "any"), 1))

"""`GET /runs` and `GET /runs/{id}`: every run once, filtered, sorted and paged; details as the store has them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.api.reading.conftest import SMALL, Served

HOSTILE = [
    "'; DROP TABLE runs; --",
    "x' OR '1'='1",
    "<script>alert(1)</script>",
    "%",
    "..%2f..%2fetc%2fpasswd",
    "a" * 200,
    "\u202e\u0000é",
]


def listed(client: httpx.Client, **wanted: Any) -> dict[str, Any]:
    answer = client.get("/runs", params=wanted)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def all_ids(client: httpx.Client, limit: int, **wanted: Any) -> list[str]:
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = listed(client, limit=limit, **wanted, **cursor)
        found += [run["run_id"] for run in page["items"]]
        if page["next"] is None:
            return found
        cursor = {"cursor": page["next"]}


def test_every_run_of_the_store_is_listed_newest_first(served: Served) -> None:
    page = listed(served.client)
    stored = served.store.sql("SELECT run_id FROM runs ORDER BY started_at DESC").fetchall()
    assert [run["run_id"] for run in page["items"]] == [run_id for (run_id,) in stored]
    assert (page["total"], page["next"]) == (len(SMALL) + 3, None)


def test_a_listed_run_says_what_the_store_says(served: Served) -> None:
    found = {run["run_id"]: run for run in listed(served.client)["items"]}
    for record in served.store.runs():
        run = found[record.run_id]
        assert (run["scenario"], run["chain"], run["status"]) == (record.scenario, record.chain, record.status)
        assert (run["seed"], run["steps"], run["digest"]) == (str(record.seed), record.steps, record.digest)
        assert (run["sweep_id"], run["actions"]) == (record.sweep_id, record.action_count)
        assert run["failed_actions"] == (record.failed_count or 0) + (record.raised_count or 0)
        assert run["seconds"] == record.seconds
        assert (run["owner"], run["progress"], run["submitted_at"]) == (None, None, None)


def complete_list(served: Served) -> dict[str, dict[str, Any]]:
    """The runs by id, once their scenarios have been read: a list does not wait for that."""
    deadline = time.monotonic() + 600
    while True:
        found = {run["run_id"]: run for run in listed(served.client)["items"]}
        if all(found[served.runs[name]]["parameters"] for name in ("depeg_cascade", "curve_depeg")):
            return found
        if time.monotonic() > deadline:
            return found
        time.sleep(0.05)


@pytest.mark.slow(0.3)
def test_a_listed_run_has_its_bad_debt_and_the_parameters_that_were_changed(served: Served) -> None:
    found = complete_list(served)
    for record in served.store.runs():
        stored = [(kpi.number, kpi.unit) for kpi in served.store.kpis(record.run_id) if kpi.name == "bad_debt"]
        run = found[record.run_id]
        assert (run["bad_debt"], run["bad_debt_unit"]) == (stored[0] if stored else (None, ""))
    assert found[served.runs["vesting_cliff"]]["bad_debt"] is None
    assert any(run["bad_debt"] for run in found.values())
    assert found[served.runs["aave_borrower"]]["parameters"] == {}
    assert found[served.runs["depeg_cascade"]]["parameters"] == {"agents.borrowers.count": "30"}
    changed = found[served.runs["curve_depeg"]]["parameters"]
    assert (changed["agents.holders.count"], changed["prices.USDC.size"]) == ("12", "-12%")
    details = served.client.get(f"/runs/{served.runs['curve_depeg']}").json()
    assert (details["parameters"], details["bad_debt"]) == (changed, found[served.runs["curve_depeg"]]["bad_debt"])


def test_runs_without_bad_debt_come_last(served: Served) -> None:
    worst = [run["bad_debt"] for run in listed(served.client, sort="bad_debt")["items"]]
    known = [each for each in worst if each is not None]
    assert worst == [*sorted(known, reverse=True), *[None] * (len(worst) - len(known))]
    assert None in worst


@pytest.mark.parametrize("sort", ["submitted_at", "scenario", "chain", "seed", "status", "seconds", "actions"])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_pages_cover_every_run_once_in_every_order(served: Served, sort: str, order: str) -> None:
    whole = listed(served.client, sort=sort, order=order)["items"]
    paged = all_ids(served.client, 2, sort=sort, order=order)
    assert paged == [run["run_id"] for run in whole]
    assert len(set(paged)) == len(paged) == len(SMALL) + 3
    if sort not in {"submitted_at", "seed"}:
        values = [run[sort] for run in whole]
        assert values == sorted(values, reverse=order == "desc")


def test_seeds_are_sorted_as_numbers(served: Served) -> None:
    seeds = [int(run["seed"]) for run in listed(served.client, sort="seed", order="asc")["items"]]
    assert seeds == sorted(seeds)


def test_filters_combine(served: Served) -> None:
    client = served.client
    assert listed(client, scenario="depeg_cascade")["total"] == 1
    assert listed(client, scenario="aave_borrower", single=True)["total"] == 1
    assert listed(client, sweep_id=served.sweep_id)["total"] == 3
    assert listed(client, sweep_id=served.sweep_id, scenario="depeg_cascade")["total"] == 0
    assert listed(client, chain="base")["total"] == 0
    assert listed(client, status=["finished", "queued"])["total"] == len(SMALL) + 3
    assert listed(client, status="failed")["items"] == []
    assert listed(client, search="CASCADE")["total"] == 1
    assert listed(client, search=served.runs["vesting_cliff"][-8:])["total"] == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_find_nothing_and_break_nothing(served: Served, text: str) -> None:
    for name in ("scenario", "search"):
        assert listed(served.client, **{name: text})["total"] == 0
    for path in ("/runs", "/sweeps", "/trainings", "/scenarios"):
        answer = served.client.get(f"{path}/{quote(text, safe='')}")
        assert answer.status_code == 404, (path, answer.text)
    assert listed(served.client)["total"] == len(SMALL) + 3


@pytest.mark.parametrize("cursor", ["x", "!!!", "W10", "WzFd", "bm90IGpzb24", "é"])
def test_a_cursor_that_no_answer_gave_is_refused(client: httpx.Client, cursor: str) -> None:
    for path in ("/runs", "/sweeps"):
        answer = client.get(path, params={"cursor": cursor})
        assert answer.status_code == 422
        assert answer.json()["problems"][0]["field"] == "cursor"


def test_a_cursor_of_another_order_is_refused(client: httpx.Client) -> None:
    cursor = listed(client, limit=1, sort="seed", order="asc")["next"]
    answer = client.get("/runs", params={"cursor": cursor, "sort": "seconds"})
    assert answer.status_code == 422
    assert "another order" in answer.json()["message"]


@pytest.mark.slow(0.3)
def test_details_are_those_of_the_store(served: Served) -> None:
    for run_id in served.runs.values():
        found = served.client.get(f"/runs/{run_id}").json()
        record = served.store.run(run_id)
        kpis = [(row.name, row.value, row.number, row.unit) for row in served.store.kpis(run_id)]
        assert [(kpi["name"], kpi["value"], kpi["number"], kpi["unit"]) for kpi in found["kpis"]] == kpis
        assert found["scenario_text"] == record.scenario_text
        assert (found["world_digest"], found["versions"]) == (record.world_digest, record.versions)


@pytest.mark.slow(1)
def test_the_command_of_a_run_repeats_it(served: Served, tmp_path: Any) -> None:
    found = served.client.get(f"/runs/{served.runs['aave_borrower']}").json()
    program, *arguments = found["command"].split()
    assert program == "mayavi"
    command = [sys.executable, "-m", "mayavi", *arguments, "--store", str(tmp_path / "runs.duckdb"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    assert json.loads(done.stdout.splitlines()[-1])["digest"] == found["digest"]


def test_notes_are_those_of_the_run(served: Served) -> None:
    from mayavi.scenarios.figures.notes import notes

    run_id = served.runs["depeg_cascade"]
    wanted = list(notes({row.name: row.number for row in served.store.kpis(run_id)}))
    assert wanted
    assert served.client.get(f"/runs/{run_id}").json()["notes"] == wanted


def test_only_full_ids_name_a_run_and_the_nearest_is_the_hint(served: Served) -> None:
    run_id = served.runs["depeg_cascade"]
    for part in (run_id[:-1], run_id[-8:], "latest"):
        answer = served.client.get(f"/runs/{part}")
        assert answer.status_code == 404
    assert run_id in served.client.get(f"/runs/{run_id[:-1]}").json()["hint"]
    other = "1" if run_id.endswith("0") else "0"
    assert run_id in served.client.get(f"/runs/{run_id[:-1]}{other}").json()["hint"]


@pytest.mark.parametrize(
    "rest", ["page", "report", "report.pdf", "artifact", "rows/kpis", "actions", "agents", "steps/0"]
)
def test_an_unknown_run_has_nothing(client: httpx.Client, rest: str) -> None:
    assert client.get(f"/runs/20200101-000000000-00000000/{rest}").status_code == 404
    assert client.get("/runs/20200101-000000000-00000000/explain", params={"agent": "x"}).status_code == 404


@pytest.mark.parametrize("path", ["/runs", "/sweeps", "/runs/{run_id}/actions"])
def test_a_mistyped_filter_is_refused_instead_of_listing_everything(served: Served, path: str) -> None:
    run_id = listed(served.client)["items"][0]["run_id"]
    answer = served.client.get(path.format(run_id=run_id), params={"limti": 5})
    assert answer.status_code == 422
    body = answer.json()
    assert (body["message"], body["hint"]) == ("'limti': unknown query parameter", "did you mean 'limit'?")
    assert body["problems"][0]["field"] == "limti"
    without_key = httpx.get(served.server.url + path.format(run_id=run_id), params={"limti": 5})
    assert without_key.status_code == 401

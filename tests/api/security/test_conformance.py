"""Schemathesis asks the live service everything its OpenAPI document allows, and things it forbids."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.api.live_server import LiveServer
from tests.api.security.test_access import DOCUMENTED

MAY_BE_503 = {"GET /readyz", "GET /runs/{run_id}/report.pdf", "GET /sweeps/{sweep_id}/report.pdf"}
"""No Chromium prints no PDF, and a service may be unready; both are documented."""
FEW = {"GET /runs/{run_id}/report.pdf", "GET /sweeps/{sweep_id}/report.pdf"}
"""Answers that take seconds."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, run_mayavi) -> Iterator[LiveServer]:  # type: ignore[no-untyped-def]
    """A service with a sweep of two runs in its store."""
    folder = tmp_path_factory.mktemp("service")
    sweep = ["sweep", "aave_borrower", "--seeds", "0:2", "--steps", "2", "--jobs", "1"]
    finished = run_mayavi(*sweep, "--store", str(folder / "runs.duckdb"), "--json")
    assert finished.returncode == 0, finished.stderr
    with LiveServer(folder, requests_per_minute=1_000_000, failed_logins_per_minute=1_000_000) as server:
        yield server


@pytest.fixture(scope="module")
def known(server: LiveServer) -> dict[str, list[str]]:
    """Values of path parameters that exist."""
    store = server.service.store
    return {
        "run_id": [run.run_id for run in store.runs()],
        "sweep_id": [str(row["sweep_id"]) for row in store.sql("SELECT sweep_id FROM sweeps").records()],
        "name": ["aave_borrower"],
        "step": ["0"],
    }


@pytest.fixture(scope="module")
def document(server: LiveServer) -> dict[str, Any]:
    with server.client() as client:
        found: dict[str, Any] = client.get("/openapi.json").json()
    return found


@pytest.mark.slow(1)
@pytest.mark.parametrize("route", DOCUMENTED)
def test_answers_are_documented(
    server: LiveServer, document: dict[str, Any], known: dict[str, list[str]], route: str
) -> None:
    import schemathesis  # half a second of every worker, if all of them did
    from schemathesis import GenerationMode, checks

    method, path = route.split()
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=server.url)
    operation = schema[path][method]
    cases = st.one_of(
        operation.as_strategy(generation_mode=GenerationMode.POSITIVE),
        operation.as_strategy(generation_mode=GenerationMode.NEGATIVE),
    )
    asked = [checks.status_code_conformance, checks.content_type_conformance, checks.response_schema_conformance]
    asked += [] if route in MAY_BE_503 else [checks.not_a_server_error]

    @settings(
        max_examples=3 if route in FEW else 12,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases, real=st.booleans())
    def ask(case: Any, real: bool) -> None:
        if real:
            names = set(case.path_parameters or {}) & set(known)
            case.path_parameters = {**(case.path_parameters or {}), **{name: known[name][0] for name in names}}
            if method == "POST" and isinstance(case.body, dict) and "yaml" in case.body:
                case.body = {"scenario": "aave_borrower", "steps": 2}
            if path.startswith("/compare"):
                case.query = {**(case.query or {}), "run": known["run_id"]}
        answer = case.call(headers={"Authorization": f"Bearer {server.full}"}, timeout=300)
        case.validate_response(answer, checks=asked)
        if answer.status_code >= 400 and route != "GET /readyz":
            body = json.loads(answer.content)
            assert set(body) == {"code", "message", "hint", "request_id", "problems"}

    ask()

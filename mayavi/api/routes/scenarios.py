"""`/scenarios` and `/worlds`: what can be run, and on what."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request, Response

from mayavi.api.errors import documented
from mayavi.api.models.base import Listing
from mayavi.api.models.scenarios import ScenarioDetails, ScenarioSummary, Validated, Validation, WorldSummary
from mayavi.api.reading import scenarios
from mayavi.api.reading.kept_route import KeptRoute, keep
from mayavi.api.reading.validation import validated
from mayavi.api.reading.worlds import world_list
from mayavi.api.security.caller import Reader
from mayavi.api.service import Parts

router = APIRouter(tags=["scenarios"], route_class=KeptRoute)


@router.get("/scenarios", responses=documented(401), response_model=Listing[ScenarioSummary])
def list_scenarios(request: Request, caller: Reader, parts: Parts) -> Response:
    """List the scenarios of the library."""
    return keep(request, parts.reading.lasting, scenarios.scenario_list().model_dump_json().encode())


@router.get("/scenarios/{name}", responses=documented(401, 404), response_model=ScenarioDetails)
def show_scenario(name: str, request: Request, caller: Reader, parts: Parts) -> Response:
    """Show a scenario with its YAML text."""
    return keep(request, parts.reading.lasting, scenarios.details(name).model_dump_json().encode())


@router.get("/scenarios/{name}/schema", responses=documented(401, 404), response_model=dict[str, Any])
def scenario_schema(name: str, request: Request, caller: Reader, parts: Parts) -> Response:
    """Return the JSON Schema of scenarios, with the values of this one as defaults."""
    return keep(request, parts.reading.lasting, json.dumps(scenarios.schema(name)).encode())


@router.post("/scenarios/validate", responses=documented(401, 422))
def validate_scenario(submission: Validation, caller: Reader) -> Validated:
    """Check a submission without running it: problems with their lines, the resolved YAML, the command line."""
    return validated(submission)


@router.get("/worlds", responses=documented(401))
def list_worlds(caller: Reader) -> Listing[WorldSummary]:
    """List the replicas of the chains by block, and whether they are built."""
    return world_list()

"""`/scenarios` and `/worlds`: what can be run, and on what."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from mayavi.api.errors import documented
from mayavi.api.models.base import Listing
from mayavi.api.models.scenarios import ScenarioDetails, ScenarioSummary, Validated, Validation, WorldSummary
from mayavi.api.reading import scenarios
from mayavi.api.reading.validation import validated
from mayavi.api.reading.worlds import world_list
from mayavi.api.security.caller import Reader

router = APIRouter(tags=["scenarios"])


@router.get("/scenarios", responses=documented(401))
def list_scenarios(caller: Reader) -> Listing[ScenarioSummary]:
    """List the scenarios of the library."""
    return scenarios.scenario_list()


@router.get("/scenarios/{name}", responses=documented(401, 404))
def show_scenario(name: str, caller: Reader) -> ScenarioDetails:
    """Show a scenario with its YAML text."""
    return scenarios.details(name)


@router.get("/scenarios/{name}/schema", responses=documented(401, 404))
def scenario_schema(name: str, caller: Reader) -> dict[str, Any]:
    """Return the JSON Schema of scenarios, with the values of this one as defaults."""
    return scenarios.schema(name)


@router.post("/scenarios/validate", responses=documented(401, 422))
def validate_scenario(submission: Validation, caller: Reader) -> Validated:
    """Check a submission without running it: problems with their lines, the resolved YAML, the command line."""
    return validated(submission)


@router.get("/worlds", responses=documented(401))
def list_worlds(caller: Reader) -> Listing[WorldSummary]:
    """List the replicas of the chains by block, and whether they are built."""
    return world_list()

"""`/trainings` and `/evaluations`: list them and read their reports."""

from __future__ import annotations

from fastapi import APIRouter, Response

from mayavi.api.errors import documented
from mayavi.api.models.base import Listing
from mayavi.api.models.page import PageData
from mayavi.api.models.trainings import EvaluationSummary, TrainingSummary
from mayavi.api.reading.results.results import evaluation_result, training_result
from mayavi.api.reading.trainings import evaluation_summary, evaluations, training, training_summary, trainings
from mayavi.api.routes.run_details import HTML
from mayavi.api.security.caller import Reader
from mayavi.api.service import Parts

router = APIRouter(tags=["trainings"])


@router.get("/trainings", responses=documented(401))
def list_trainings(caller: Reader, parts: Parts) -> Listing[TrainingSummary]:
    """List trainings, newest first."""
    items = [training_summary(each) for each in trainings(parts.reading.models).values()]
    return Listing[TrainingSummary](items=items, total=len(items))


@router.get("/trainings/{training_id}", responses=documented(401, 404))
def show_training(training_id: str, caller: Reader, parts: Parts) -> TrainingSummary:
    """Show a training."""
    return training_summary(training(parts.reading.models, training_id))


@router.get("/trainings/{training_id}/page", responses=documented(401, 404, 409, 503), response_model=PageData)
async def training_page(training_id: str, caller: Reader, parts: Parts) -> Response:
    """Return the report of a training as data."""
    return await training_result(parts.reading, training_id, "page")


@router.get(
    "/trainings/{training_id}/report", response_class=Response, responses={**HTML, **documented(401, 404, 409, 503)}
)
async def training_report(training_id: str, caller: Reader, parts: Parts) -> Response:
    """Return the report of a training as one HTML file."""
    return await training_result(parts.reading, training_id, "html")


@router.get("/evaluations", responses=documented(401))
def list_evaluations(caller: Reader, parts: Parts) -> Listing[EvaluationSummary]:
    """List evaluations, newest first."""
    items = [evaluation_summary(each) for each in evaluations(parts.reading.models).values()]
    return Listing[EvaluationSummary](items=items, total=len(items))


@router.get("/evaluations/{evaluation_id}/page", responses=documented(401, 404, 409, 503), response_model=PageData)
async def evaluation_page(evaluation_id: str, caller: Reader, parts: Parts) -> Response:
    """Return the report of an evaluation as data."""
    return await evaluation_result(parts.reading, evaluation_id, "page")


@router.get(
    "/evaluations/{evaluation_id}/report", response_class=Response, responses={**HTML, **documented(401, 404, 409, 503)}
)
async def evaluation_report(evaluation_id: str, caller: Reader, parts: Parts) -> Response:
    """Return the report of an evaluation as one HTML file."""
    return await evaluation_result(parts.reading, evaluation_id, "html")

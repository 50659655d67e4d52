"""`/healthz`, `/readyz` and `/metrics`."""

from __future__ import annotations

import json

from fastapi import APIRouter, Request, Response

from mayavi import __version__
from mayavi.api.metrics import CONTENT_TYPE
from mayavi.api.models.health import Health, Readiness
from mayavi.api.security.caller import Reader
from mayavi.api.service import Parts

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> Health:
    """Say that the process answers."""
    return Health(version=__version__)


@router.get("/readyz", responses={503: {"model": Readiness, "description": "not ready"}})
def readyz(parts: Parts, response: Response) -> Readiness:
    """Check database, store, workers and disk space."""
    readiness = parts.readiness.run()
    response.status_code = 200 if readiness.ready else 503
    return readiness


@router.get("/openapi.json", include_in_schema=False)
async def openapi(parts: Parts, request: Request) -> Response:
    """Return the OpenAPI document."""
    if parts.openapi is None:
        parts.openapi = json.dumps(request.app.openapi()).encode()
    return Response(parts.openapi, media_type="application/json")


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
def metrics(caller: Reader, parts: Parts) -> Response:
    """Return the metrics in Prometheus' text format."""
    return Response(parts.metrics.text(), headers={"Content-Type": CONTENT_TYPE})

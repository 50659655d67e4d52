"""The application: routes, error answers, and the service behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from mayavi import __version__
from mayavi.api import log
from mayavi.api.errors import ApiError, of_http_exception, of_mayavi_error, of_validation_error
from mayavi.api.openapi import document
from mayavi.api.route_index import RouteIndex
from mayavi.api.routes import (
    dashboard,
    events,
    health,
    keys,
    run_details,
    runs,
    scenarios,
    session,
    submissions,
    sweeps,
    trainings,
)
from mayavi.api.security.frame import Frame
from mayavi.api.service import Service
from mayavi.api.settings import ServiceSettings
from mayavi.errors import MayaviError

ROUTERS = (
    health.router,
    session.router,
    keys.router,
    submissions.router,
    events.router,
    runs.router,
    run_details.router,
    sweeps.router,
    trainings.router,
    scenarios.router,
    dashboard.router,
)


def create_app(settings: ServiceSettings) -> FastAPI:
    """Build the application; its workers run while it is served."""
    service = Service.open(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.start()
        try:
            yield
        finally:
            service.stop()

    app = FastAPI(
        title="Mayavi",
        description="Runs, sweeps and their results.",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    for route in routes:
        route.operation_id = route.name
    app.router.routes += [RouteIndex(routes), *routes]  # `include_router` takes several times the time for each request
    app.state.service = service
    app.openapi = partial(document, app)  # type: ignore[method-assign]
    app.add_middleware(Frame, service=service)
    for kind in (ApiError, MayaviError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, refuse)
    return app


async def refuse(request: Request, error: Exception) -> JSONResponse:
    """Answer an error with the body `Error`; one that is no fault of the request is also logged."""
    cause = error
    if isinstance(error, MayaviError):
        error = of_mayavi_error(error)
    elif isinstance(error, RequestValidationError):
        error = of_validation_error(error)
    elif isinstance(error, HTTPException):
        error = of_http_exception(error)
    if not isinstance(error, ApiError):
        raise error
    request_id: str = request.scope["state"]["request_id"]
    if error.status >= 500 and cause is not error:
        log.write_exception(cause, request_id=request_id)
    body = error.body(request_id)
    return JSONResponse(body.model_dump(mode="json"), error.status, headers=error.headers)

"""Refuse query parameters that a route does not have: a mistyped filter would list everything."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant

from mayavi.api.errors import ApiError
from mayavi.api.log import redact
from mayavi.api.models.base import Problem
from mayavi.errors import did_you_mean

_LONGEST = 80


async def only_known_parameters(request: Request) -> None:
    """Raise 422 with the nearest name for a query parameter that the route does not have."""
    if not request.query_params:
        return
    known = sorted(_names(request.scope["route"].dependant))
    for name in request.query_params:
        if name not in known:
            hint = did_you_mean(name, known) or f"known here: {', '.join(known)}"
            field = redact(name)[:_LONGEST]
            problem = Problem(message="unknown query parameter", hint=hint, field=field)
            raise ApiError(422, f"'{field}': unknown query parameter", hint, problems=(problem,))


def _names(dependant: Dependant) -> set[str]:
    own = {each.alias for each in dependant.query_params}
    return own.union(*(_names(each) for each in dependant.dependencies))


KnownQuery = Annotated[None, Depends(only_known_parameters)]
"""Parameter of a route that takes no other query parameters than those it names."""

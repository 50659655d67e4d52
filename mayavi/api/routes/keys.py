"""`/keys`: list, create and revoke keys."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter, Request

from mayavi.api import log
from mayavi.api.errors import ApiError, documented
from mayavi.api.models.base import Listing
from mayavi.api.models.keys import CreatedKey, KeyCreation, KeySummary
from mayavi.api.security.caller import Writer
from mayavi.api.security.keys import Key
from mayavi.api.service import Parts
from mayavi.errors import UnknownName, UsageError

router = APIRouter(tags=["keys"])


@router.get("/keys", responses=documented(401, 403))
def list_keys(caller: Writer, parts: Parts) -> Listing[KeySummary]:
    """List all keys, revoked ones included."""
    found = [summary(key) for key in parts.keys.all()]
    return Listing(items=found, total=len(found))


@router.post("/keys", status_code=201, responses=documented(401, 403))
def create_key(wanted: KeyCreation, request: Request, caller: Writer, parts: Parts) -> CreatedKey:
    """Create a key. Its secret is in this answer only."""
    key, text = parts.keys.create(
        wanted.name,
        wanted.scope,
        requests_per_minute=wanted.requests_per_minute,
        concurrent_jobs=wanted.concurrent_jobs,
    )
    log.audit(request, "key created", key_id=key.key_id, scope=key.scope)
    return CreatedKey(**summary(key).model_dump(), key=str(text))


@router.delete("/keys/{key_id}", responses=documented(401, 403, 404, 409))
def revoke_key(key_id: str, request: Request, caller: Writer, parts: Parts) -> KeySummary:
    """Revoke a key; its sessions end at once."""
    try:
        revoked = parts.keys.revoke(key_id)
    except UnknownName as error:
        raise ApiError(404, str(error), "`GET /keys` lists them") from error
    except UsageError as error:
        raise ApiError(409, str(error), error.hint) from error
    log.audit(request, "key revoked", key_id=key_id)
    return summary(revoked)


def summary(key: Key) -> KeySummary:
    """Return a key as answers show it."""

    def moment(seconds: float | None) -> datetime | None:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)

    return KeySummary(
        key_id=key.key_id,
        name=key.name,
        scope=key.scope,
        created_at=datetime.fromtimestamp(key.created_at, UTC),
        last_used_at=moment(key.last_used_at),
        revoked_at=moment(key.revoked_at),
        requests_per_minute=key.requests_per_minute,
        concurrent_jobs=key.concurrent_jobs,
        bootstrap=key.bootstrap,
    )

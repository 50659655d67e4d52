"""State of the service."""

from __future__ import annotations

from typing import Literal

from mayavi.api.models.base import Answer


class Health(Answer):
    """The process answers."""

    status: Literal["ok"] = "ok"
    version: str


class Readiness(Answer):
    """Whether the service can take work: each check by name, `ok` or what is wrong."""

    ready: bool
    checks: dict[str, str]

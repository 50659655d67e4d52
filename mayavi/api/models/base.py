"""Base classes of bodies: closed requests, and one form of errors and of pages of a list."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from mayavi.settings.model import ClosedModel

T = TypeVar("T")


class Request(ClosedModel):
    """A request body. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", str_max_length=1_000_000)


class Answer(BaseModel):
    """A response body."""

    model_config = ConfigDict(extra="forbid")


class Problem(Answer):
    """One thing that is wrong with a request, and where."""

    message: str
    hint: str | None = None
    field: str | None = Field(default=None, description="Dotted path of the value in the request or the scenario.")
    line: int | None = Field(default=None, description="Line in the YAML text, from 1.")
    column: int | None = Field(default=None, description="Column in the YAML text, from 1.")


class Error(Answer):
    """Body of every error."""

    code: str = Field(description="`unauthorized`, `forbidden`, `not_found`, `invalid`, `conflict`, `too_large` …")
    message: str
    hint: str | None = None
    request_id: str
    problems: list[Problem] = Field(default_factory=list)


class Listing(Answer, Generic[T]):
    """One page of a list. `next` is the cursor of the page after it, None at the end."""

    items: list[T]
    total: int
    next: str | None = None


Order = Literal["asc", "desc"]

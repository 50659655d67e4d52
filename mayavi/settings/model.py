"""Bases of settings models: unknown keys, implicit conversions and later changes are errors."""

from __future__ import annotations

from typing import Any, Self, get_args

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError
from pydantic_core.core_schema import ErrorType


class ClosedModel(BaseModel):
    """Pydantic model whose error for an unknown key lists the known ones, for suggestions."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(data, dict):
            return handler(data)
        known = {field.alias or name for name, field in cls.model_fields.items()}
        unknown = [key for key in data if key not in known]
        if not unknown:
            return handler(data)
        found = [_unknown_key(key, sorted(known), data) for key in unknown]
        try:
            handler({key: value for key, value in data.items() if key in known})
        except ValidationError as error:  # report all problems at once, but not as missing what may be misspelt
            others = error.errors(include_url=False)
            found += [_again(each) for each in others if each["type"] != "missing" or len(each["loc"]) > 1]
        raise ValidationError.from_exception_data(cls.__name__, found)


class Model(ClosedModel):
    """Strict, frozen, closed model of settings."""

    # Validators are built on first use: a model nested in another never needs its own.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


def _unknown_key(key: Any, known: list[str], data: Any) -> InitErrorDetails:
    error = PydanticCustomError("unknown_keys", "unknown keys", {"keys": [key], "known": known})
    return InitErrorDetails(type=error, loc=(), input=data)


def _again(error: ErrorDetails) -> InitErrorDetails:
    """Return an error that was reported in the form in which it is raised."""
    kind: str | PydanticCustomError = error["type"]
    if error["type"] not in get_args(ErrorType):
        kind = PydanticCustomError(error["type"], error["msg"], error.get("ctx"))
    return InitErrorDetails(type=kind, loc=error["loc"], input=error["input"], ctx=error.get("ctx", {}))

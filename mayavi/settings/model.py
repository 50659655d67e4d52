"""Base of all settings models: unknown keys, implicit conversions and later changes are errors."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError


class Model(BaseModel):
    """Strict, frozen pydantic model. The error for an unknown key lists the known ones, for suggestions."""

    # Validators are built on first use: a model nested in another never needs its own.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            known = {field.alias or name for name, field in cls.model_fields.items()}
            unknown = [key for key in data if key not in known]
            if unknown:
                facts = {"keys": unknown, "known": sorted(known)}
                raise PydanticCustomError("unknown_keys", "unknown keys", facts)
        return data

"""What every model of a scenario shares: no unknown key, nothing converted behind one's back, nothing changed later."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError


class Model(BaseModel):
    """A part of a scenario. A key it does not know is an error that knows the nearest one."""

    # Built when first used: the whole scenario once, and not every part of it by itself too.
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

"""Fields that are built on use behave like fields that are built with their model."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field, ValidationError

from mayavi.settings.model import Model
from mayavi.settings.on_use import OnUse


class Pool(Model):
    """A pool."""

    depth: Annotated[int, Field(ge=1)]
    fee: float = 0.0


class AtOnce(Model):
    """Built with the model."""

    pools: dict[str, Pool] = Field(default_factory=dict)
    """Pools by name."""


class Later(Model):
    """Built on use."""

    pools: Annotated[dict[str, Pool], OnUse()] = Field(default_factory=dict)
    """Pools by name."""


VALUES: list[Any] = [
    {},
    {"pools": {"a": {"depth": 3}}},
    {"pools": {"a": Pool(depth=3), "b": {"depth": 1, "fee": 0.5}}},
]
FAULTS: list[Any] = [
    {"pools": 7},
    {"pools": {"a": {"depth": 0}, "b": {"depth": 1}}},
    {"pools": {"a": {"depth": "3"}}},
    {"pools": {"a": {"depth": 3, "width": 4}}},
    {"pools": {"a": {}, 7: {"depth": 3}}},
    {"pools": {"a": {"depth": 3, "fee": float("nan")}}},
]


@pytest.mark.parametrize("data", VALUES)
def test_values_are_the_same(data: Any) -> None:
    now, later = AtOnce.model_validate(data), Later.model_validate(data)
    assert later.pools == now.pools
    assert later.model_dump() == now.model_dump()
    assert later.model_dump_json(exclude_unset=True) == now.model_dump_json(exclude_unset=True)


@pytest.mark.parametrize("data", FAULTS)
def test_errors_are_the_same(data: Any) -> None:
    with pytest.raises(ValidationError) as now:
        AtOnce.model_validate(data)
    with pytest.raises(ValidationError) as later:
        Later.model_validate(data)
    assert later.value.errors() == now.value.errors()


def test_the_schema_is_the_same() -> None:
    now, later = AtOnce.model_json_schema(), Later.model_json_schema()
    assert later["$defs"] == now["$defs"]
    assert later["properties"] == now["properties"]


def test_the_validator_is_built_for_the_first_value() -> None:
    for model in (Later, AtOnce):
        model.model_rebuild(force=True)
        model.model_validate({})
    assert "Pool" not in repr(Later.__pydantic_core_schema__)
    assert "Pool" in repr(AtOnce.__pydantic_core_schema__)

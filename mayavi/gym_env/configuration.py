"""What an environment can be told: one strict model each, and the named configurations it ships with.

A configuration is a plain mapping on its way in, whether from `gymnasium.make`, a training's file or the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError

from mayavi.errors import UsageError, did_you_mean
from mayavi.settings.model import Model

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")

C = TypeVar("C", bound="EnvConfig")


class EnvConfig(Model):
    """What all environments have in common. A subclass adds its own fields, each with a default and a description."""

    split: Split = Field("train", description="which episodes: no episode of one split is in another")
    start: Literal["drawn", "fixed"] = Field(
        "drawn", description="`drawn`: every episode starts elsewhere; `fixed`: all start at one and the same state"
    )
    actions: Literal["discrete", "continuous"] = Field("discrete", description="the kind of action space")
    horizon: int = Field(12, ge=1, le=100_000, description="steps until an episode is cut off")

    def data_files(self) -> list[str]:
        """Paths of the files these settings read, each once. A training takes them along to another machine."""
        return []

    def with_data_files(self, places: Mapping[str, str]) -> dict[str, object]:
        """Settings to change where each file of `data_files` lies at `places[file]`."""
        return {}


class ChainConfig(EnvConfig):
    """What environments on a chain have in common."""

    chain: str = Field("ethereum", description="the chain whose contracts are used")
    step_blocks: int = Field(18_000, ge=1, le=10_000_000, description="blocks that pass in a step")


def configured(model: type[C], *layers: Mapping[str, object] | C | None) -> C:
    """`model` with the values of `layers`, the later ones winning; `UsageError` for what does not fit."""
    values: dict[str, object] = {}
    for layer in layers:
        values |= layer.model_dump() if isinstance(layer, EnvConfig) else dict(layer or {})
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "unknown_keys":
        raise unknown_setting(first["ctx"], "this environment") from None
    told = first["msg"].lower()
    if first["type"] == "missing" and isinstance(first["loc"][-1], int):  # a row of numbers that is too short
        where, told = ".".join(map(str, first["loc"][:-1])), f"number {first['loc'][-1] + 1} of it is missing"
    if not where:  # what two settings say of each other
        raise UsageError(told) from None
    raise UsageError(f"setting '{where}' is {first['input']!r}: {told}") from None


def unknown_setting(facts: Mapping[str, Any], who: str, listed: str | None = None) -> UsageError:
    """The error for a key that a model does not know, with the nearest one, else where all of them stand."""
    name, known = str(facts["keys"][0]), [str(each) for each in facts["known"]]
    return UsageError(
        f"{who} has no setting '{name}'", did_you_mean(name, known) or listed or f"it has {', '.join(known)}"
    )

"""Settings of environments: one strict model for each environment, built from layers of plain mappings.

The mappings come from `gymnasium.make`, a training configuration or the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeVar

from pydantic import Field

from mayavi.settings.document_kind import DocumentKind
from mayavi.settings.model import Model
from mayavi.settings.validation import checked_values

ENVIRONMENT = DocumentKind("environment", owner="this environment", other_keys=("world", "source", "threads"))

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")

C = TypeVar("C", bound="EnvConfig")


class EnvConfig(Model):
    """Settings common to all environments. A subclass adds fields, each with a default and a description."""

    split: Split = Field("train", description="split of the episodes; splits share no episode")
    start: Literal["drawn", "fixed"] = Field(
        "drawn", description="`drawn`: random initial states; `fixed`: one initial state for all episodes"
    )
    actions: Literal["discrete", "continuous"] = Field("discrete", description="kind of action space")
    horizon: int = Field(12, ge=1, le=100_000, description="steps until an episode is truncated")

    def data_files(self) -> list[str]:
        """Paths of the files that these settings read, each once. Remote trainings copy them to the other machine."""
        return []

    def with_data_files(self, places: Mapping[str, str]) -> dict[str, object]:
        """Settings that read each file of `data_files` from `places[file]` instead."""
        return {}

    def pinned(self) -> dict[str, object]:
        """Settings to store with a training in place of these: the contents of files, which may change later."""
        return {}


class ChainConfig(EnvConfig):
    """Settings common to environments on a chain."""

    chain: str = Field("ethereum", description="chain whose contracts are used")
    step_blocks: int = Field(18_000, ge=1, le=10_000_000, description="blocks per step")


def configured(model: type[C], *layers: Mapping[str, object] | C | None) -> C:
    """Merge `layers` into one configuration, later layers winning; `UsageError` for a value that does not fit."""
    values: dict[str, object] = {}
    for layer in layers:
        values |= layer.model_dump() if isinstance(layer, EnvConfig) else dict(layer or {})
    return checked_values(model, values, ENVIRONMENT)

"""Trainings and evaluations, which the service lists and shows."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from mayavi.api.models.base import Answer


class TrainingSummary(Answer):
    """A training on disk."""

    training_id: str
    env: str | None
    framework: str | None
    algorithm: str | None
    seed: int | None
    status: str
    problem: str | None = None
    steps: int | None = None
    timesteps: int | None = None
    mean_reward: float | None = None
    reward_of: str | None = Field(default=None, description="`test`, `validation` or `training`.")
    started_at: datetime | None = None
    seconds: float | None = None


class EvaluationSummary(Answer):
    """An evaluation of trained policies against baselines."""

    evaluation_id: str
    env: str | None
    models: list[str]
    against: list[str]
    verdict: str | None
    episodes: int | None
    training_id: str | None = None
    written_at: datetime | None = None

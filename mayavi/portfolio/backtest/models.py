"""Backtest training runs, or the baselines alone, into a JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mayavi.errors import ModelMismatch
from mayavi.gym_env.configuration import configured
from mayavi.portfolio.backtest.backtest import BacktestSettings, backtest
from mayavi.portfolio.backtest.document import document_of
from mayavi.portfolio.backtest.policies import grouped, subjects_of
from mayavi.portfolio.env.config import RWAConfig
from mayavi.portfolio.env.env import RWAYieldRows
from mayavi.rl.evaluation.models import check_different, model_facts
from mayavi.rl.evaluation.play import Progress
from mayavi.rl.models import Model
from mayavi.runs.versions import own_versions

MARKET_SETTINGS = ("data", "begin", "end", "split")
"""Settings that a backtest does not take from the training."""


def backtest_models(
    models: Sequence[Model],
    against: Sequence[str] | None = None,
    settings: BacktestSettings | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    in_sample: bool = False,
    command: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Backtest the policies of `models`, or the baselines alone if there are none.

    The environment has the settings that the first model was trained with, except for the market. `config` overrides
    any setting and names the market: `data`, `begin` and `end`, else simulated markets; `split` is `test` by default.
    """
    settings = settings or BacktestSettings()
    for model in models:
        if model.env_name != RWAYieldRows.name:
            raise ModelMismatch(
                f"run {model.run_id} was trained on '{model.env_name}', not on '{RWAYieldRows.name}'",
                f"`mayavi eval {model.run_id}` evaluates it there",
            )
    check_different(models)
    trained = dict(models[0].config.env_config) if models else {}
    kept = {key: value for key, value in trained.items() if key not in MARKET_SETTINGS}
    asked = configured(RWAConfig, {**kept, "split": "test", **(config or {})})
    env = RWAYieldRows(asked, 1)
    groups = grouped(models, historical=asked.data is not None)
    subjects = subjects_of(groups, env, seed=settings.seed, in_sample=in_sample)

    def make(rows: int) -> RWAYieldRows:
        return RWAYieldRows(asked, rows, threads=threads)

    done = backtest(make, subjects, against, settings, threads=threads, progress=progress)
    facts = [model_facts(name, model) for name, group in groups.items() for model in group]
    return document_of(done, command=command, models=facts, versions=_versions(models), in_sample=in_sample)


def _versions(models: Sequence[Model]) -> dict[str, str]:
    from mayavi.rl.training.frameworks import versions

    used = own_versions()
    for model in models:
        used |= versions(model.config.framework)
    return used

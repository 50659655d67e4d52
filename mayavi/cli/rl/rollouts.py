"""`mayavi rollouts`: record episodes of a policy or a baseline to a Parquet file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayavi.cli.console.output import print_json, print_note
from mayavi.cli.console.progress import counted
from mayavi.cli.rl.eval import played_settings
from mayavi.cli.rl.options import (
    ActionNoiseOption,
    ModelsOption,
    ObservationNoiseOption,
    PlaySourceOption,
    SettingsOption,
    SplitOption,
    StochasticOption,
)
from mayavi.errors import UnknownName, UnknownRun, UsageError

if TYPE_CHECKING:
    from mayavi.rl.rollouts.recording import Recorded


def rollouts(
    named: Annotated[
        str,
        typer.Argument(
            metavar="RUN|CHECKPOINT|BASELINE",
            help="A training run, a checkpoint, or with --env a baseline.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Parquet file to write.")],
    env: Annotated[str | None, typer.Option("--env", help="Environment of a baseline.")] = None,
    episodes: Annotated[int, typer.Option("--episodes", help="Number of episodes to record.")] = 200,
    split: SplitOption = "train",
    stochastic: StochasticOption = False,
    noise_actions: ActionNoiseOption = 0.0,
    noise_observations: ObservationNoiseOption = 0.0,
    overrides: SettingsOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of random actions and noise.")] = 0,
    source: PlaySourceOption = None,
    models: ModelsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Record every step of episodes to a Parquet file, for offline training (`mayavi train --algorithm cql`).

    Episodes are those of the train split unless --split names another. --noise-actions widens what the file shows.
    """
    from mayavi.rl.evaluation.noise import Noise
    from mayavi.rl.rollouts.recording import RolloutSettings

    settings = RolloutSettings(episodes, not stochastic, seed, Noise(noise_actions, noise_observations))
    config = played_settings(overrides or [], split)
    with counted("recording", "episodes") as advance:
        asked: dict[str, Any] = {"config": config, "world": _world(source), "progress": advance}
        found = _record(named, env, models, out, settings, asked)
    facts = found.facts
    if as_json:
        size = found.path.stat().st_size
        print_json({"file": str(found.path), "bytes": size, "episodes": found.episodes, "steps": found.steps, **facts})
        return
    print(
        f"{found.path}: {found.episodes:,} episodes, {found.steps:,} steps of {facts['strategy']['name']} on "
        f"{facts['env']}, {facts['env_config']['split']} split"
    )
    if facts["action_space"]["kind"] == "Discrete":
        print_note("CQL needs continuous actions: record with `--set actions=continuous` to train on them")
    else:
        print_note(f"`mayavi train --algorithm cql --rollouts {found.path}` trains on it")


def _record(
    named: str, env: str | None, models: Path | None, out: Path, settings: Any, asked: dict[str, Any]
) -> Recorded:
    from mayavi.gym_env.registry import entry
    from mayavi.rl.evaluation.strategies import check_strategies, known_strategies
    from mayavi.rl.models import open_model
    from mayavi.rl.rollouts.recording import record_baseline, record_model

    if env is not None and (len(entry(env).load().role_names) > 1 or named in known_strategies(entry(env).load())):
        return record_baseline(env, named, out, settings, **asked)
    try:
        model = open_model(named, models)
    except UnknownRun as unknown:
        if env is None:
            raise UnknownRun(unknown.message, f"{unknown.hint or ''}  a baseline needs --env ENV".strip()) from None
        try:
            check_strategies(entry(env).load(), [named])
        except UnknownName as error:
            raise UnknownName(f"{error.message}, and no training run has that name", error.hint) from None
        raise
    if env is not None and entry(env).name != model.env_name:
        raise UsageError(
            f"run {model.run_id} was trained on '{model.env_name}', not on '{entry(env).name}'", "leave --env out"
        )
    return record_model(model, out, settings, **asked)


def _world(source: str | None) -> Any:
    if source is None:
        return None
    from mayavi.worlds.source import WorldSource

    return WorldSource.named(source)

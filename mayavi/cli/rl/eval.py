"""`mayavi eval`: compare a trained policy with baselines on the same episodes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayavi.cli.console.output import print_json, print_note
from mayavi.cli.console.progress import in_parts
from mayavi.cli.printing.specialise import SpecialiseOption, StatsOption, print_statistics
from mayavi.cli.rl.options import (
    ActionNoiseOption,
    CheckpointsOption,
    EvaluatedModels,
    MinimumOption,
    ModelsOption,
    ObservationNoiseOption,
    PlaySeedOption,
    PlaySourceOption,
    RivalsOption,
    SearchOption,
    SettingsOption,
    SplitOption,
    StochasticOption,
)
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.rl.models import Model

BASELINES = "-"


def evaluate(
    named: EvaluatedModels,
    env: Annotated[
        str | None, typer.Option("--env", help="Environment; required with -, otherwise that of the run.")
    ] = None,
    against: RivalsOption = None,
    episodes: Annotated[int, typer.Option("--episodes", help="Number of episodes that every strategy plays.")] = 200,
    split: SplitOption = "test",
    stochastic: StochasticOption = False,
    noise_actions: ActionNoiseOption = 0.0,
    noise_observations: ObservationNoiseOption = 0.0,
    checkpoints: CheckpointsOption = None,
    overrides: SettingsOption = None,
    seed: PlaySeedOption = 0,
    minimum: MinimumOption = 20,
    search: SearchOption = "auto",
    width: Annotated[int, typer.Option("--beam-width", help="States that a beam search keeps per step.")] = 4,
    points: Annotated[int, typer.Option("--grid", help="Grid points per continuous action in a search.")] = 5,
    source: PlaySourceOption = None,
    models: ModelsOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Also write the result to this file."),
    ] = None,
    threads: Annotated[int | None, typer.Option("--threads", help="Kernel threads; no result depends on it.")] = None,
    specialise: SpecialiseOption = None,
    stats: StatsOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare a trained policy with baselines, or with another trained policy, on the same episodes.

    The verdict is `better`, `worse`, `indistinguishable`, or `saturated`: too few distinct trajectories for any claim.
    """
    from mayavi.evm.specialise import specialised
    from mayavi.rl.evaluation.evaluate import EvaluationSettings
    from mayavi.rl.evaluation.noise import Noise
    from mayavi.rl.search.optimum import SearchSettings
    from mayavi.statistics.bootstrap import Bootstrap

    settings = EvaluationSettings(
        episodes,
        not stochastic,
        seed,
        Bootstrap(seed),
        minimum,
        SearchSettings(search, width, points),
        Noise(noise_actions, noise_observations),
    )
    config = played_settings(overrides or [], split)
    names = _names(against)
    if output is not None and not output.absolute().parent.is_dir():
        raise UsageError(f"there is no folder '{output.absolute().parent}'", "create it, or name another place")
    with specialised(specialise) as replayed, in_parts() as say:
        asked: dict[str, Any] = {
            "against": names,
            "settings": settings,
            "config": config,
            "world": _world(source),
            "threads": threads,
            "say": say,
        }
        if named == [BASELINES]:
            document, place = _baselines(env, checkpoints, asked), None
        else:
            document, place = _models(named, models, env, checkpoints, asked)
        statistics = replayed.statistics()
    if output is not None and place is not None and not os.access(place.parents[1], os.W_OK):
        place = None  # a run that others own: its evaluation is only where `--output` says
    places = [each for each in dict.fromkeys((place, output)) if each is not None]
    for each in places:
        from mayavi.rl.evaluation.document import write_eval

        write_eval(document, each)
    if as_json:
        print_json(document | ({"specialise": statistics} if stats else {}))
        return
    from mayavi.cli.printing.evaluation import print_evaluation

    print_evaluation(document)
    if places:
        print_note(f"written to {' and '.join(map(str, places))}")
    if stats:
        print_statistics(statistics)


def _names(against: str | None) -> list[str] | None:
    """Names in `--against`; None if it is not given."""
    names = None if against is None else [each.strip() for each in against.split(",") if each.strip()]
    if names == []:
        raise UsageError(f"--against '{against}' names nothing", "name baselines or runs, or leave the option out")
    return names


def _baselines(env: str | None, checkpoints: str | None, asked: dict[str, Any]) -> dict[str, Any]:
    from mayavi.rl.evaluation.models import evaluate_baselines

    if env is None:
        raise UsageError("comparing baselines needs an environment", "name it: mayavi eval - --env aave")
    if checkpoints is not None:
        raise UsageError("baselines have no checkpoints", "name a training run instead of -")
    return evaluate_baselines(env, **asked)


def _models(
    named: list[str], models: Path | None, env: str | None, checkpoints: str | None, asked: dict[str, Any]
) -> tuple[dict[str, Any], Path | None]:
    """Evaluate the named runs. Returns the document and its path: in the folder of the run, or that of the models."""
    from mayavi.rl.evaluation.document import eval_name
    from mayavi.rl.evaluation.models import chosen_checkpoints, evaluate_models
    from mayavi.rl.evaluation.rivals import find_sides
    from mayavi.rl.training_runs.folder import EVALUATIONS, models_path

    if BASELINES in named:
        raise UsageError("- means baselines only and cannot be combined with runs", "name runs, or - by itself")
    sides = find_sides(named, asked["against"], models)
    found = sides.models
    if env is not None:
        _check_env((*found, *sides.rivals)[0], env)
    if checkpoints is not None and len(found) != 1:
        raise UsageError("--checkpoints needs exactly one run", f"name one of {', '.join(named)}")
    steps = chosen_checkpoints(found[0], checkpoints) if checkpoints is not None else []
    asked["against"] = sides.baselines
    document = evaluate_models(found, checkpoints=steps, rivals=sides.rivals, scripts=sides.scripts, **asked)
    alone = len(found) == 1 and not sides.rivals
    folder = found[0].folder.eval_path if alone else models_path(models) / EVALUATIONS
    return document, folder / eval_name(document)


def _check_env(model: Model, env: str) -> None:
    from mayavi.errors import ModelMismatch
    from mayavi.gym_env.registry import entry

    name = entry(env).name
    if name != model.env_name:
        raise ModelMismatch(
            f"run {model.run_id} was trained on '{model.env_name}', not on '{name}'",
            f"evaluate it there, or train one: mayavi train --env {name}",
        )


def _world(source: str | None) -> Any:
    if source is None:
        return None
    from mayavi.worlds.source import WorldSource

    return WorldSource.named(source)


def settings_of(options: list[str]) -> dict[str, Any]:
    """Parse environment settings from `--set KEY=VALUE` options."""
    from mayavi.rl.config import parse_settings

    values: dict[str, Any] = {}
    for option in options:
        key = option.partition("=")[0].strip().removeprefix("env.")
        if "=" not in option or not key:
            raise UsageError(f"'--set {option}' does not set anything", "write it as `--set KEY=VALUE`")
        parsed = parse_settings([f"env.{option.strip().removeprefix('env.')}"], [key])
        values |= parsed["env_config"]
    return values


def played_settings(options: list[str], split: str) -> dict[str, Any]:
    """Environment settings with the episodes of `split`."""
    from mayavi.rl.evaluation.models import check_split

    values = settings_of(options)
    if "split" in values:
        raise UsageError("`--set split=…` does not choose the split", f"give `--split {values['split']}`")
    return {**values, "split": check_split(split)}

"""`mayavi eval`: what a trained policy is worth, and what that figure proves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayavi.cli.output import print_json, print_note
from mayavi.cli.progress import in_parts
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.rl.models import Model

BASELINES = "-"
SplitOption = Annotated[str, typer.Option("--split", metavar="train|validation|test", help="Which episodes.")]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the environment; may be given again."),
]
PlaySeedOption = Annotated[int, typer.Option("--seed", help="What random play and the bootstrap draw from.")]
ModelsOption = Annotated[
    Path | None, typer.Option("--models", metavar="FOLDER", help="Where training runs are; by default data/models.")
]


def evaluate(
    named: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|CHECKPOINT|-",
            help="A training run, a checkpoint (RUN:STEP, RUN:best or its folder), or - for baselines alone; several"
            " runs are pooled.",
        ),
    ],
    env: Annotated[
        str | None, typer.Option("--env", help="With -: the environment. With a run: it must be its.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="A,B,…", help="Whom to compare with; by default every script of the env."),
    ] = None,
    episodes: Annotated[int, typer.Option("--episodes", help="How many episodes everybody plays.")] = 200,
    split: SplitOption = "test",
    stochastic: Annotated[
        bool, typer.Option("--stochastic/--deterministic", help="Draw the policy's actions, or take its best.")
    ] = False,
    checkpoints: Annotated[
        str | None,
        typer.Option("--checkpoints", metavar="all|STEP,…", help="Find where in training the evaluation stops moving."),
    ] = None,
    overrides: SettingsOption = None,
    seed: PlaySeedOption = 0,
    minimum: Annotated[
        int, typer.Option("--min-distinct", metavar="N", help="Distinct trajectories below which nothing is claimed.")
    ] = 20,
    search: Annotated[
        str,
        typer.Option("--search", metavar="auto|exhaustive|beam", help="With the baseline optimum: how it is found."),
    ] = "auto",
    width: Annotated[int, typer.Option("--beam-width", help="With a beam search: states that go on.")] = 4,
    points: Annotated[int, typer.Option("--grid", help="With continuous actions: points a search tries of each.")] = 5,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="replica|snapshot:PATH|rpc", help="The world; by default that of the run."),
    ] = None,
    models: ModelsOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="Where to; by default eval/ in the run's folder.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Threads of the kernel; changes the time it takes, no result.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Play paired episodes with a policy and with baselines, and say what the outcome proves.

    The verdict is `better`, `worse`, `indistinguishable`, or `saturated`: too few distinct trajectories for any claim.
    """
    from mayavi.rl.evaluation.evaluate import EvaluationSettings
    from mayavi.rl.search.optimum import SearchSettings
    from mayavi.statistics.bootstrap import Bootstrap

    settings = EvaluationSettings(
        episodes, not stochastic, seed, Bootstrap(seed), minimum, SearchSettings(search, width, points)
    )
    config = played_settings(overrides or [], split)
    names = None if against is None else [each.strip() for each in against.split(",") if each.strip()]
    if output is not None and not output.absolute().parent.is_dir():
        raise UsageError(f"there is no folder '{output.absolute().parent}'", "create it, or name another place")
    with in_parts() as say:
        asked: dict[str, Any] = {
            "against": names,
            "settings": settings,
            "config": config,
            "world": _world(source),
            "threads": threads,
            "say": say,
        }
        if named == [BASELINES]:
            document, place = _baselines(env, checkpoints, asked), output
        else:
            document, place = _models(named, models, env, checkpoints, asked)
            place = output or place
    if place is not None:
        from mayavi.rl.evaluation.document import write_eval

        write_eval(document, place)
    if as_json:
        print_json(document)
        return
    from mayavi.cli.eval_words import tell

    tell(document)
    if place is not None:
        print_note(f"written to {place}")


def _baselines(env: str | None, checkpoints: str | None, asked: dict[str, Any]) -> dict[str, Any]:
    from mayavi.rl.evaluation.models import evaluate_baselines

    if env is None:
        raise UsageError("baselines alone need an environment", "name it: mayavi eval - --env aave")
    if checkpoints is not None:
        raise UsageError("baselines have no checkpoints", "name a training run instead of -")
    return evaluate_baselines(env, **asked)


def _models(
    named: list[str], models: Path | None, env: str | None, checkpoints: str | None, asked: dict[str, Any]
) -> tuple[dict[str, Any], Path | None]:
    """The evaluation of the runs that are named, and where it belongs: in the folder of the run, where it is one."""
    from mayavi.rl.evaluation.document import eval_name
    from mayavi.rl.evaluation.models import chosen_checkpoints, evaluate_models
    from mayavi.rl.models import open_model

    if BASELINES in named:
        raise UsageError("- stands for baselines alone", "name runs, or - by itself")
    found = [open_model(each, models) for each in named]
    if env is not None:
        _check_env(found[0], env)
    if checkpoints is not None and len(found) > 1:
        raise UsageError("--checkpoints looks at one run", f"name one of {', '.join(named)}")
    steps = chosen_checkpoints(found[0], checkpoints) if checkpoints is not None else []
    document = evaluate_models(found, checkpoints=steps, **asked)
    return document, found[0].folder.eval_path / eval_name(document) if len(found) == 1 else None


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
    """What each `--set key=value` says."""
    from mayavi.rl.config import parse_settings

    values: dict[str, Any] = {}
    for option in options:
        key = option.partition("=")[0].strip().removeprefix("env.")
        if "=" not in option or not key:
            raise UsageError(f"'--set {option}' does not set anything", "write it as `--set KEY=VALUE`")
        told = parse_settings([f"env.{option.strip().removeprefix('env.')}"], [key])
        values |= told["env_config"]
    return values


def played_settings(options: list[str], split: str) -> dict[str, Any]:
    """The settings of an environment whose episodes are those of `split`."""
    from mayavi.rl.evaluation.models import check_split

    values = settings_of(options)
    if "split" in values:
        raise UsageError("`--set split=…` does not choose the split", f"give `--split {values['split']}`")
    return {**values, "split": check_split(split)}

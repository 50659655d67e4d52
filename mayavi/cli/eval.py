"""`mayavi eval`: what a trained policy is worth, and what that figure proves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayavi.cli.output import Column, print_json, print_note, print_table
from mayavi.cli.progress import in_parts
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.rl.models import Model

BASELINES = "-"
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
    split: Annotated[str, typer.Option("--split", metavar="train|validation|test", help="Which episodes.")] = "test",
    stochastic: Annotated[
        bool, typer.Option("--stochastic/--deterministic", help="Draw the policy's actions, or take its best.")
    ] = False,
    checkpoints: Annotated[
        str | None,
        typer.Option("--checkpoints", metavar="all|STEP,…", help="Find where in training the evaluation stops moving."),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the environment; may be given again."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="What random play and the bootstrap draw from.")] = 0,
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
    from mayavi.rl.evaluation import EvaluationSettings
    from mayavi.rl.interval_estimates import Bootstrap
    from mayavi.rl.model_evaluation import check_split
    from mayavi.rl.optimum import SearchSettings

    settings = EvaluationSettings(
        episodes, not stochastic, seed, Bootstrap(seed), minimum, SearchSettings(search, width, points)
    )
    config = {**settings_of(overrides or []), "split": check_split(split)}
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
        from mayavi.rl.eval_file import write_eval

        write_eval(document, place)
    if as_json:
        print_json(document)
        return
    tell(document)
    if place is not None:
        print_note(f"written to {place}")


def _baselines(env: str | None, checkpoints: str | None, asked: dict[str, Any]) -> dict[str, Any]:
    from mayavi.rl.model_evaluation import evaluate_baselines

    if env is None:
        raise UsageError("baselines alone need an environment", "name it: mayavi eval - --env aave")
    if checkpoints is not None:
        raise UsageError("baselines have no checkpoints", "name a training run instead of -")
    return evaluate_baselines(env, **asked)


def _models(
    named: list[str], models: Path | None, env: str | None, checkpoints: str | None, asked: dict[str, Any]
) -> tuple[dict[str, Any], Path | None]:
    """The evaluation of the runs that are named, and where it belongs: in the folder of the run, where it is one."""
    from mayavi.rl.eval_file import eval_name
    from mayavi.rl.model_evaluation import chosen_checkpoints, evaluate_models
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
    from mayavi.scenarios.world_source import WorldSource

    return WorldSource.named(source)


def settings_of(options: list[str]) -> dict[str, Any]:
    """What each `--set key=value` says."""
    from mayavi.rl.config import parse_settings

    values: dict[str, Any] = {}
    for option in options:
        key = option.partition("=")[0].strip().removeprefix("env.")
        told = parse_settings([f"env.{option.strip().removeprefix('env.')}"], [key])
        values |= told["env_config"]
    return values


def tell(document: dict[str, Any]) -> None:
    """The evaluation for a person."""
    env, settings = document["env"], document["settings"]
    how = "deterministic" if settings["deterministic"] else "stochastic"
    subject = ", ".join(
        f"{each['name']} ({each['framework']}, seed {each['seed']}, {each['steps']:,} steps)"
        for each in document["models"]
    )
    config = env["config"]
    facts = [env["name"], f"{config['split']} split", f"{config['start']} start"]
    facts += [f"reward {config['reward']}"] if "reward" in config else []
    print(" · ".join([*facts, f"{settings['episodes']:,} episodes", how, *([subject] if subject else [])]))
    share = f"{settings['confidence'] * 100:g} %"
    rows = []
    for name in document["strategies"]:
        one = document[name]
        rows.append(
            (
                name,
                _number(one["mean_reward"]),
                _interval(one["mean"]),
                _number(one["interquartile_mean"]["value"]),
                _interval(one["interquartile_mean"]),
                _number(one["std_reward"]),
                f"{one['effective_sample_size']:,}",
                f"{one['terminated']:,}",
            )
        )
    titles = ("mean", share, "IQM", share, "std", "distinct", "ended early")
    print_table([Column("", right=False), *(Column(title) for title in titles)], rows)
    for each in (*document["comparisons"], *document["pooled"]):
        together = f" (all {each['trainings']} trainings)" if each["trainings"] > 1 else ""
        print(f"{each['strategy']}{together} against {each['against']}: {each['verdict']}")
        wins = f"; it earns more in {_percent(each['probability_of_improvement'], 0)} of them, ties counting half"
        told = each["verdict"] == "saturated" or each["equal_episodes"] == settings["episodes"]
        print_note(f"  {each['reason']}{'' if told else wins}")
    _tell_regret(document["regret"])
    settled = document["checkpoints"]
    if settled is not None:
        shown = [
            (
                f"{each['step']:,}",
                _number(each["mean_reward"]),
                _number(each["difference_to_last"]["value"]),
                "same" if each["same_trajectories_as_last"] else each["verdict_against_last"],
            )
            for each in settled["steps"]
        ]
        print_table([Column("step"), Column("mean"), Column("to the last"), Column("", right=False)], shown)
        print(settled["sentence"])


def _tell_regret(regret: dict[str, Any] | None) -> None:
    if regret is None:
        return
    exact = regret["method"] == "exhaustive"
    grid = "" if regret["grid"]["whole"] else f" on a grid of {len(regret['grid']['actions'])} actions"
    found = (
        f"the optimum in hindsight, exact{grid}: {int(regret['sequences']):,} sequences for each start"
        if exact
        else f"the best found in hindsight by a beam of width {regret['width']}{grid}: the optimum is that or more"
    )
    for name, one in regret["strategies"].items():
        if name == "optimum":
            continue
        share = one["share_of_attainable"]
        told = (
            "nothing is attainable"
            if share is None
            else f"{'' if exact else 'at most '}{_percent(share, 1)} of attainable"
        )
        print(f"{name}: {told}, regret {_number(one['regret']['value'])} {_interval(one['regret'])}")
    reference = f"beyond {regret['reference']}" if regret["reference"] else "beyond zero"
    print_note(f"  {found}; attainable is what can be had {reference}")


def _percent(share: dict[str, float], digits: int) -> str:
    return f"{100 * share['value']:.{digits}f} %"


def _number(value: float) -> str:
    return f"{value:.6g}"


def _interval(estimate: dict[str, float]) -> str:
    return f"[{_number(estimate['low'])}, {_number(estimate['high'])}]"

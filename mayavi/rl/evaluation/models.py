"""Evaluations of training runs and of baselines alone, as the documents that are written and verified."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import mayavi
from mayavi.errors import UnknownName, UsageError
from mayavi.gym_env.configuration import SPLITS, configured
from mayavi.gym_env.market.config import ROLES, MarketConfig
from mayavi.gym_env.market.rows import AaveMarketRows
from mayavi.gym_env.registry import MULTI_AGENT, entry, make_rows
from mayavi.gym_env.rows import RowsEnv
from mayavi.rl.evaluation.contamination import seen
from mayavi.rl.evaluation.convergence import Settling, settle
from mayavi.rl.evaluation.differences import differing_settings
from mayavi.rl.evaluation.document import checkpoint_steps, document_of, market_document_of, settings_from
from mayavi.rl.evaluation.evaluate import ROWS, EvaluationSettings, Make, Say, are_pooled, evaluate, pooled_name
from mayavi.rl.evaluation.market_evaluation import (
    REFERENCES,
    MakeMarket,
    TrainedMarket,
    evaluate_market,
    names_by_role,
    settle_market,
)
from mayavi.rl.evaluation.play import play
from mayavi.rl.evaluation.strategies import Trained, check_strategies
from mayavi.worlds.source import WorldSource

if TYPE_CHECKING:
    from mayavi.rl.models import Model
    from mayavi.rl.training.checkpoints import Checkpoint


def evaluate_models(
    models: Sequence[Model],
    against: Sequence[str] | None = None,
    settings: EvaluationSettings | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    checkpoints: Sequence[Checkpoint] = (),
    world: WorldSource | None = None,
    threads: int | None = None,
    say: Say | None = None,
) -> dict[str, Any]:
    """The evaluation of the policies of `models`, all of one environment; several of one algorithm are pooled too.

    `config` changes settings of the environment the first was trained on, such as `split`. With `checkpoints` those
    of the one model are compared as well. `against` is by default every script of the environment.
    """
    from mayavi.rl.environments import world_of
    from mayavi.rl.training.frameworks import versions

    settings = settings or EvaluationSettings()
    first = models[0]
    check_different(models)
    told_env, world = {**first.config.env_config, **(config or {})}, world or world_of(first.config)
    make = _maker(first.env_name, told_env, world, threads)
    env = make(1)
    names = _known_names(env, against)
    for model in models:
        model.check_fits(env)
    known = dict(zip(_names(models), models, strict=True))
    used: dict[str, str] = {}
    for model in models:
        used |= versions(model.config.framework)

    def of_split(split: str) -> RowsEnv[Any]:
        return _maker(first.env_name, {**told_env, "split": split}, world, threads)(1)

    told: dict[str, Any] = {
        "against": names,
        "models": [model_facts(name, model) | seen(model, env, of_split) for name, model in known.items()],
        "versions": used,
        "differing": differing_settings(known) if are_pooled(list(known)) else None,
    }
    if isinstance(env, AaveMarketRows):
        of_market = cast("MakeMarket", make)
        trained = [_trained_market(name, model) for name, model in known.items()]
        steps = {each.steps: _trained_market(f"step {each.steps}", first, each) for each in checkpoints}
        return market_document_of(
            evaluate_market(of_market, trained, names, settings, say=say),
            others=dict.fromkeys(ROLES, pooled_name(trained[0].name)),
            settlings=settle_market(of_market, steps, settings, say=say) if steps else None,
            **told,
        )
    subjects = [Trained(name, model.policy(), settings.deterministic, settings.seed) for name, model in known.items()]
    evaluation = evaluate(make, subjects, names, settings, say=say)
    settling = _settled(first, checkpoints, make, settings, say) if checkpoints else None
    return document_of(evaluation, settling=settling, **told)


def evaluate_baselines(
    env_name: str,
    against: Sequence[str] | None = None,
    settings: EvaluationSettings | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    world: WorldSource | None = None,
    threads: int | None = None,
    say: Say | None = None,
) -> dict[str, Any]:
    """The evaluation of strategies that need no training, compared with each other."""
    import numpy as np

    settings = settings or EvaluationSettings()
    make = _maker(entry(env_name).name, config or {}, world, threads)
    env = make(1)
    names = _known_names(env, against)
    used = {"mayavi": mayavi.__version__, "numpy": np.__version__, "python": platform.python_version()}
    if isinstance(env, AaveMarketRows):
        found = evaluate_market(cast("MakeMarket", make), [], names, settings, say=say)
        others = dict(zip(ROLES, (REFERENCES[role] for role in reversed(ROLES)), strict=True))
        return market_document_of(found, against=names, others=others, models=[], versions=used)
    return document_of(evaluate(make, [], names, settings, say=say), against=names, models=[], versions=used)


def evaluate_again(
    document: Mapping[str, Any],
    model: Model,
    *,
    world: WorldSource | None = None,
    threads: int | None = None,
    say: Say | None = None,
) -> dict[str, Any]:
    """The evaluation of `document` once more, with the policies of `model`."""
    from mayavi.rl.models import Model

    (facts,) = document["models"]
    chosen = Model(model.folder, model.checkpoint(facts["steps"]))
    return evaluate_models(
        [chosen],
        document["settings"]["against"],
        settings_from(document),
        config=document["env"]["config"],
        checkpoints=[model.checkpoint(step) for step in checkpoint_steps(document)],
        world=world,
        threads=threads,
        say=say,
    )


def check_split(split: str) -> str:
    """`split`, or `UnknownName` with the nearest."""
    if split not in SPLITS:
        raise UnknownName.of("split", split, SPLITS, f"there are {', '.join(SPLITS)}")
    return split


def chosen_checkpoints(model: Model, named: str) -> list[Checkpoint]:
    """What `--checkpoints` means: `all`, or steps with commas between them."""
    if named.strip() == "all":
        return model.checkpoints() or [model.checkpoint()]
    return [model.checkpoint(each.strip()) for each in named.split(",") if each.strip()] or [model.checkpoint()]


def check_different(models: Sequence[Model]) -> None:
    """`UsageError` where one checkpoint is named twice: pooled with itself it would pass for another training."""
    met = set()
    for model in models:
        if (place := model.checkpoint().path.resolve()) in met:
            raise UsageError(
                f"checkpoint {place.name} of run {model.run_id} is named twice",
                "a training is evidence once; name each run once",
            )
        met.add(place)


def _maker(name: str, config: Mapping[str, Any], world: WorldSource | None, threads: int | None) -> Make:
    if name in MULTI_AGENT:
        return lambda rows: AaveMarketRows(configured(MarketConfig, config), rows, world=world, threads=threads)
    return lambda rows: make_rows(name, rows, config=config, world=world, threads=threads)


def _known_names(env: RowsEnv[Any], against: Sequence[str] | None) -> list[str]:
    """Whom to compare with, all of whom `env` knows; by default every script it has."""
    if isinstance(env, AaveMarketRows):
        by_role = names_by_role(type(env), against)
        return (
            list(against) if against is not None else list(dict.fromkeys(n for each in by_role.values() for n in each))
        )
    names = list(against) if against is not None else list(env.strategies)
    check_strategies(env, names)
    return names


def _trained_market(name: str, model: Model, checkpoint: Checkpoint | None = None) -> TrainedMarket:
    return TrainedMarket(name, {role: model.policy(checkpoint, role=role) for role in ROLES})


def _names(models: Sequence[Model]) -> list[str]:
    """`ppo` for one model; `ppo@3`, by the seed of its training, for each of several."""
    if len(models) == 1:
        return [models[0].config.algorithm]
    names: list[str] = []
    for model in models:
        wanted = f"{model.config.algorithm}@{model.config.seed}"
        taken = sum(1 for each in names if each.partition("#")[0] == wanted)
        names.append(f"{wanted}#{taken + 1}" if taken else wanted)
    return names


def model_facts(name: str, model: Model) -> dict[str, Any]:
    """What a policy came of; nothing of when or where, so that the same training gives the same."""
    config, checkpoint = model.config, model.checkpoint()
    return {
        "name": name,
        "framework": config.framework,
        "algorithm": config.algorithm,
        "recurrent": config.recurrent,
        "seed": config.seed,
        "timesteps": checkpoint.facts.get("timesteps", config.timesteps),
        "steps": checkpoint.steps,
    }


def _settled(
    model: Model, checkpoints: Sequence[Checkpoint], make: Make, settings: EvaluationSettings, say: Say | None
) -> Settling:
    ordered = sorted(checkpoints, key=lambda each: each.steps)
    env = make(min(settings.episodes, ROWS))
    played = []
    for each in ordered:
        player = Trained(f"step {each.steps}", model.policy(each), settings.deterministic, settings.seed)
        progress = say(f"playing the checkpoint of step {each.steps:,}") if say is not None else None
        played.append(play(env, player, range(settings.episodes), progress=progress))
    return settle([each.steps for each in ordered], played, settings)

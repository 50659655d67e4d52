"""Evaluate training runs or baselines; the results are the documents that are written and verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mayavi.errors import UnknownName, UsageError
from mayavi.gym_env.configuration import SPLITS
from mayavi.gym_env.registry import entry, env_versions, make_rows, split_name
from mayavi.gym_env.rows import RowsEnv
from mayavi.rl.evaluation.comparison import are_pooled
from mayavi.rl.evaluation.contamination import seen
from mayavi.rl.evaluation.convergence import Convergence, find_convergence
from mayavi.rl.evaluation.differences import differing_settings
from mayavi.rl.evaluation.document import checkpoint_steps, document_of, settings_from
from mayavi.rl.evaluation.evaluate import (
    Make,
    Say,
    Subject,
    evaluate_roles,
    evaluation_env,
)
from mayavi.rl.evaluation.noise import disturbed
from mayavi.rl.evaluation.play import play_roles
from mayavi.rl.evaluation.rivals import add_rivals, rival_names
from mayavi.rl.evaluation.settings import EvaluationSettings
from mayavi.rl.evaluation.strategies import Trained, baseline, strategies_by_role
from mayavi.runs.versions import own_versions
from mayavi.worlds.source import WorldSource

if TYPE_CHECKING:
    from mayavi.rl.models import Model
    from mayavi.rl.training_runs.checkpoints import Checkpoint


def evaluate_models(
    models: Sequence[Model],
    against: Sequence[str] | None = None,
    settings: EvaluationSettings | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    checkpoints: Sequence[Checkpoint] = (),
    rivals: Sequence[Model] = (),
    scripts: Sequence[str] = (),
    world: WorldSource | None = None,
    threads: int | None = None,
    say: Say | None = None,
) -> dict[str, Any]:
    """Evaluate the policies of `models`, all of one environment; trainings of one algorithm are pooled as well.

    `config` changes settings of the first model's environment, such as `split`; `world` takes the place of the one it
    was trained on. `checkpoints` of a single model are compared with each other. `against` is by default every script
    of the environment. `rivals` are trained policies to compare with; `scripts` name baselines that take the place of
    `models`.
    """
    from mayavi.rl.environments import world_of
    from mayavi.rl.training.frameworks import versions

    settings = settings or EvaluationSettings()
    first = (*models, *rivals)[0]
    check_different((*models, *rivals))
    changed, given, world = {**first.config.env_config, **(config or {})}, world, world or world_of(first.config)
    make = _maker(first.env_name, changed, world, threads)
    env = evaluation_env(make, settings)
    names = _all_names(env, against)
    known = dict(zip(_names(models), models, strict=True))
    others = dict(zip(rival_names(len(rivals)), rivals, strict=True))
    used: dict[str, str] = {}
    for model in (*models, *rivals):
        model.check_fits(env)
        used |= versions(model.config.framework, model.env_name)

    def of_split(split: str) -> RowsEnv[Any]:
        return _maker(first.env_name, {**changed, "split": split}, world, threads)(1)

    def facts(named: Mapping[str, Model]) -> list[dict[str, Any]]:
        return [model_facts(name, model) | seen(model, env, of_split) for name, model in named.items()]

    subjects = [_subject(env, name, model, None, settings) for name, model in known.items()]
    subjects += [_script_subject(env, name, settings) for name in scripts]
    steps = [_subject(env, f"step {each.steps}", first, each, settings) for each in _by_steps(checkpoints)]
    opponents = [_subject(env, name, model, None, settings) for name, model in others.items()]
    document = document_of(
        evaluate_roles(env, make, subjects, names, settings, rivals=opponents, say=say),
        against=[*names, *others],
        models=facts(known),
        versions=used,
        convergence=_converged(env, _by_steps(checkpoints), steps, settings, say) if steps else None,
        differing=differing_settings(known) if are_pooled(list(known)) else None,
    )
    if given is not None and given.kind == "replica" and env.world_digest != first.record["world_digest"]:
        document["env"]["source"] = given.name
    if not rivals:
        return document
    told = facts(others)
    if len(models) == 1:
        for each in told:
            each["differing_settings"] = differing_settings({**known, each["name"]: others[each["name"]]})
    return add_rivals(document, told)


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
    """Evaluate untrained strategies, compared with each other."""
    settings = settings or EvaluationSettings()
    make = _maker(entry(env_name).name, {**split_name(env_name)[1], **(config or {})}, world, threads)
    env = evaluation_env(make, settings)
    names = _all_names(env, against)
    used = own_versions() | env_versions(env_name)
    found = evaluate_roles(env, make, [], names, settings, say=say)
    return document_of(found, against=names, models=[], versions=used)


def evaluate_again(
    document: Mapping[str, Any],
    model: Model,
    *,
    world: WorldSource | None = None,
    threads: int | None = None,
    say: Say | None = None,
) -> dict[str, Any]:
    """Repeat the evaluation of `document` with the policies of `model`: in `world`, or in the one that it names."""
    from mayavi.rl.models import Model

    (facts,) = document["models"]
    chosen, source = Model(model.folder, model.checkpoint(facts["steps"])), document["env"].get("source")
    if world is None and source is not None:
        world = WorldSource.named(source)
    again = evaluate_models(
        [chosen],
        document["settings"]["against"],
        settings_from(document),
        config=document["env"]["config"],
        checkpoints=[model.checkpoint(step) for step in checkpoint_steps(document)],
        world=world,
        threads=threads,
        say=say,
    )
    again["env"].pop("source", None)
    if "world" not in document["env"]:  # one that was written before worlds were named
        again["env"].pop("world", None)
    again["env"] |= {} if source is None else {"source": source}
    return again


def check_split(split: str) -> str:
    """Return `split`; `UnknownName` with the nearest name if there is no such split."""
    if split not in SPLITS:
        raise UnknownName.of("split", split, SPLITS, f"there are {', '.join(SPLITS)}")
    return split


def chosen_checkpoints(model: Model, named: str) -> list[Checkpoint]:
    """The checkpoints that `--checkpoints` names: `all`, or steps separated by commas."""
    if named.strip() == "all":
        return model.checkpoints() or [model.checkpoint()]
    return [model.checkpoint(each.strip()) for each in named.split(",") if each.strip()] or [model.checkpoint()]


def check_different(models: Sequence[Model]) -> None:
    """Raise `UsageError` if a checkpoint is named twice: it would count as two trainings."""
    met = set()
    for model in models:
        if (place := model.checkpoint().path.resolve()) in met:
            raise UsageError(
                f"checkpoint {place.name} of run {model.run_id} is named twice",
                "a training counts once; name each run once",
            )
        met.add(place)


def _maker(name: str, config: Mapping[str, Any], world: WorldSource | None, threads: int | None) -> Make:
    return lambda rows: make_rows(name, rows, config=config, world=world, threads=threads)


def _all_names(env: RowsEnv[Any], against: Sequence[str] | None) -> list[str]:
    """Names of the baselines of all roles; by default every script."""
    by_role = strategies_by_role(env, against)
    return list(against) if against is not None else list(dict.fromkeys(n for each in by_role.values() for n in each))


def _subject(
    env: RowsEnv[Any], name: str, model: Model, checkpoint: Checkpoint | None, settings: EvaluationSettings
) -> Subject:
    """The policies of a checkpoint, one for each role."""

    def player(role: str | None) -> Trained:
        return Trained(name, model.policy(checkpoint, role=role), settings.deterministic, settings.seed, role)

    return Subject(name, {role: player(role if env.multi_agent else None) for role in env.role_names})


def _script_subject(env: RowsEnv[Any], name: str, settings: EvaluationSettings) -> Subject:
    """A baseline in place of a trained policy, for a single agent."""
    return Subject(name, {env.role().name: baseline(env, name, seed=settings.seed)})


def _names(models: Sequence[Model]) -> list[str]:
    """Names of models: the algorithm, such as `ppo`; with several models also the training seed: `ppo@3`."""
    if len(models) == 1:
        return [models[0].config.algorithm]
    names: list[str] = []
    for model in models:
        wanted = f"{model.config.algorithm}@{model.config.seed}"
        taken = sum(1 for each in names if each.partition("#")[0] == wanted)
        names.append(f"{wanted}#{taken + 1}" if taken else wanted)
    return names


def model_facts(name: str, model: Model) -> dict[str, Any]:
    """Facts of a training, without times and paths: equal trainings have equal facts."""
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


def _by_steps(checkpoints: Sequence[Checkpoint]) -> list[Checkpoint]:
    return sorted(checkpoints, key=lambda each: each.steps)


def _converged(
    env: RowsEnv[Any],
    checkpoints: Sequence[Checkpoint],
    subjects: Sequence[Subject],
    settings: EvaluationSettings,
    say: Say | None,
) -> dict[str, Convergence]:
    """Convergence of each role. In each game all policies are of one checkpoint."""
    games = []
    for subject, each in zip(subjects, checkpoints, strict=True):
        progress = say(f"playing the checkpoint of step {each.steps:,}") if say is not None else None
        players = disturbed(subject.players, settings.noise, settings.seed, several_roles=env.multi_agent)
        games.append(play_roles(env, players, range(settings.episodes), name=subject.name, progress=progress))
    steps = [each.steps for each in checkpoints]
    return {role: find_convergence(steps, [game[role] for game in games], settings) for role in env.role_names}

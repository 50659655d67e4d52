"""An evaluation as JSON: schema `mayavi-eval`, described in docs/how-to/evaluate.md.

Version 3 has the strategies of a single agent at the top, version 4 those of each of several roles under the role's
name. They differ from versions 1 and 2 in their intervals: `low` and `high` are null where no interval can be trusted,
and `runs_needed` says how many episodes one would take, if that is known. Each strategy is a key of its own:
`ppo.mean_reward`, and `borrower.ppo.mean_reward` in a market. The bytes depend on the strategies, the episodes and the
versions of the software alone: no time, no path, no run id.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mayavi.errors import EvaluationFileError, UsageError
from mayavi.gym_env.rows import RowsEnv
from mayavi.rl.evaluation.comparison import Comparison, pooled_name
from mayavi.rl.evaluation.convergence import Convergence
from mayavi.rl.evaluation.evaluate import REFERENCE, Evaluation, Summary
from mayavi.rl.evaluation.noise import Noise
from mayavi.rl.evaluation.settings import EvaluationSettings
from mayavi.rl.search.optimum import SearchSettings
from mayavi.statistics.bootstrap import Bootstrap, deviation
from mayavi.statistics.estimate import Estimate
from mayavi.statistics.means import exact_mean

SCHEMA, VERSION, ROLES_VERSION = "mayavi-eval", 3, 4
OLDER = {VERSION: 1, ROLES_VERSION: 2}
"""Versions that are still read."""
RESERVED = (
    "schema", "version", "versions", "env", "models", "settings", "strategies", "starts", "comparisons", "pooled",
    "regret", "checkpoints", "differing_settings", "roles", "agents", "others", "rivals",
)  # fmt: skip
"""Keys that are not valid names of strategies."""


def document_of(
    evaluated: Evaluation | Mapping[str, Evaluation],
    *,
    against: list[str],
    models: Sequence[Mapping[str, Any]],
    versions: Mapping[str, str],
    convergence: Mapping[str, Convergence] | None = None,
    differing: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Build the document of an evaluation, or of the evaluations of several roles.

    `convergence` is by role; `differing` are the settings that differ between pooled trainings.
    """
    roles = {evaluated.role.name: evaluated} if isinstance(evaluated, Evaluation) else evaluated
    parts = {role: _part(each, convergence[role] if convergence else None) for role, each in roles.items()}
    first = next(iter(roles.values()))
    head = _head(first, against, models, versions, differing)
    starts = list(next(iter(first.summaries.values())).played.starts)
    if not first.env.multi_agent:
        (part,) = parts.values()
        return {**head, "strategies": part.pop("strategies"), "starts": starts, **part}
    by_role = {role: {"agents": each.role.agents, "others": each.others, **parts[role]} for role, each in roles.items()}
    return {**head, "roles": list(roles), "starts": starts, **by_role}


def _head(
    evaluation: Evaluation,
    against: list[str],
    models: Sequence[Mapping[str, Any]],
    versions: Mapping[str, str],
    differing: Mapping[str, Any] | None,
) -> dict[str, Any]:
    pooled = {} if differing is None else {"differing_settings": dict(differing)}
    return {
        "schema": SCHEMA,
        "version": ROLES_VERSION if evaluation.env.multi_agent else VERSION,
        "versions": dict(sorted(versions.items())),
        "env": env_facts(evaluation.env),
        "models": [dict(each) for each in models],
        **pooled,
        "settings": settings_document(evaluation.settings, against),
    }


def _part(evaluation: Evaluation, convergence: Convergence | None) -> dict[str, Any]:
    """Part of a role: strategies, outcomes and comparisons."""
    part: dict[str, Any] = {"strategies": list(evaluation.summaries)}
    for name, summary in evaluation.summaries.items():
        if name in RESERVED:
            raise UsageError(f"a strategy cannot be called '{name}'", "evaluation documents reserve that key")
        part[name] = _strategy(summary)
    if evaluation.pooled:
        together: dict[str, list[Summary]] = {}
        for name, summary in evaluation.summaries.items():
            if "@" in name:
                together.setdefault(pooled_name(name), []).append(summary)
        part |= {name: _pooled(each, evaluation.settings.bootstrap) for name, each in together.items()}
    part["comparisons"] = [_comparison(each) for each in evaluation.comparisons]
    part["pooled"] = [_comparison(each) for each in evaluation.pooled]
    part["regret"] = _regret(evaluation)
    part["checkpoints"] = None if convergence is None else _convergence(convergence)
    return part


def parts_of(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Parts of a document by role; with a single agent the whole document under ""."""
    return {role: document[role] for role in document["roles"]} if "roles" in document else {"": document}


def checkpoint_steps(document: Mapping[str, Any]) -> list[int]:
    """Training steps of the checkpoints in an evaluation."""
    compared = next(iter(parts_of(document).values()))["checkpoints"]
    return [each["step"] for each in compared["steps"]] if compared else []


def env_facts(env: RowsEnv[Any]) -> dict[str, Any]:
    """Name, settings and world of an environment."""
    world = {} if env.world_name is None else {"world": env.world_name}
    config = env.config.model_dump(mode="json")
    return {"name": env.name, "config": config, **world, "world_digest": env.world_digest}


def settings_document(settings: EvaluationSettings, against: list[str]) -> dict[str, Any]:
    """Settings as plain data; `settings_from` reads them back."""
    return {
        "against": against,
        "episodes": settings.episodes,
        "deterministic": settings.deterministic,
        "seed": settings.seed,
        "resamples": settings.bootstrap.resamples,
        "confidence": settings.bootstrap.confidence,
        "minimum_distinct": settings.minimum_distinct,
        "search": settings.search.to_json(),
        **({"noise": settings.noise.to_json()} if settings.noise else {}),
    }


def settings_from(document: Mapping[str, Any]) -> EvaluationSettings:
    """Read the settings of an evaluation from its document."""
    given = document["settings"]
    return EvaluationSettings(
        given["episodes"],
        given["deterministic"],
        given["seed"],
        Bootstrap(given["seed"], given["resamples"], given["confidence"]),
        given["minimum_distinct"],
        SearchSettings(**given["search"]),
        Noise(**given.get("noise", {})),
    )


def as_bytes(document: Mapping[str, Any]) -> bytes:
    """Serialise to JSON; equal documents give equal bytes."""
    return (json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def read_eval(content: bytes, name: str | Path) -> dict[str, Any]:
    """Parse the bytes of the file `name`; `EvaluationFileError` if it is not an evaluation."""
    try:
        document: dict[str, Any] = json.loads(content)
        if document["schema"] != SCHEMA:
            raise KeyError("schema")
        version = document["version"]
    except (ValueError, KeyError, TypeError):
        raise EvaluationFileError(f"'{name}' is not an evaluation", "`mayavi eval` writes them") from None
    known = ROLES_VERSION if "roles" in document else VERSION
    if version not in (known, OLDER[known]):
        raise EvaluationFileError(
            f"'{name}' has version {version}, this mayavi knows {VERSION}, and {ROLES_VERSION} for a market",
            "use a newer mayavi",
        )
    return document


def _estimate(estimate: Estimate | None) -> dict[str, float | None] | None:
    return None if estimate is None else estimate.to_json()


def _strategy(summary: Summary) -> dict[str, Any]:
    played = summary.played
    return {
        "mean_reward": summary.mean.value,
        "std_reward": deviation(played.rewards),
        "mean": _estimate(summary.mean),
        "interquartile_mean": _estimate(summary.interquartile_mean),
        "episodes": len(played.rewards),
        "effective_sample_size": played.distinct,
        "distinct_starts": len(set(played.starts)),
        "terminated": int(played.terminated.sum()),
        "mean_length": exact_mean(played.lengths.astype(np.float64)),
        "clipped_actions": int(played.clipped.sum()),
        "rewards": played.rewards.tolist(),
        "fingerprints": list(played.fingerprints),
    }


def _pooled(together: list[Summary], bootstrap: Bootstrap) -> dict[str, Any]:
    rewards = np.stack([each.played.rewards for each in together])
    estimate = bootstrap.estimate_pooled(rewards)
    return {
        "mean_reward": estimate.value,
        "std_reward": deviation(rewards.ravel()),
        "mean": _estimate(estimate),
        "trainings": [each.played.name for each in together],
        "episodes": rewards.shape[1],
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "strategy": comparison.strategy,
        "against": comparison.against,
        "trainings": comparison.trainings,
        "difference": _estimate(comparison.difference),
        "interquartile_mean_difference": _estimate(comparison.interquartile_difference),
        "probability_of_improvement": _estimate(comparison.probability_of_improvement),
        "distinct_pairs": comparison.distinct_pairs,
        "equal_episodes": comparison.equal_episodes,
        "verdict": comparison.verdict.word,
        "reason": comparison.verdict.reason,
    }


def _regret(evaluation: Evaluation) -> dict[str, Any] | None:
    if evaluation.optimum is None:
        return None
    return {
        **evaluation.optimum.facts,
        "reference": REFERENCE if REFERENCE in evaluation.summaries else None,
        "episodes_beyond_the_search": evaluation.beyond_search,
        "strategies": {
            each.strategy: {
                "regret": _estimate(each.regret),
                "share_of_attainable": _estimate(each.share_of_attainable),
            }
            for each in evaluation.regrets
        },
    }


def _convergence(convergence: Convergence) -> dict[str, Any]:
    return {
        "identical_from": convergence.identical_from,
        "indistinguishable_from": convergence.indistinguishable_from,
        "sentence": convergence.sentence,
        "steps": [
            {
                "step": each.step,
                "mean_reward": exact_mean(each.played.rewards),
                "std_reward": deviation(each.played.rewards),
                "effective_sample_size": each.played.distinct,
                "same_trajectories_as_last": each.same_trajectories,
                "difference_to_last": _estimate(each.to_last.difference),
                "verdict_against_last": each.to_last.verdict.word,
                "rewards": each.played.rewards.tolist(),
            }
            for each in convergence.outcomes
        ],
    }


def eval_name(document: Mapping[str, Any]) -> str:
    """File name of an evaluation, derived from its settings, environment, world, models and opponents."""
    settings = document["settings"]
    env = {key: value for key, value in document["env"].items() if key != "world"}  # its digest says as much
    asked = {"settings": settings, "env": env, "models": document["models"]}
    if steps := checkpoint_steps(document):
        asked["checkpoints"] = steps
    if rivals := document.get("rivals"):
        asked["rivals"] = rivals
    key = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:8]
    how = "deterministic" if settings["deterministic"] else "stochastic"
    return f"{env['config']['split']}-{settings['episodes']}-{how}-{key}.json"


def write_eval(document: Mapping[str, Any], path: Path) -> None:
    """Write the evaluation atomically."""
    if path.is_dir():
        raise UsageError(f"'{path}' is a folder", "name a file in it")
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(as_bytes(document))
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)

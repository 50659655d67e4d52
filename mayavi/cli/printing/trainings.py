"""Output of `mayavi trainings`: lists, descriptions and comparisons as text and as JSON data."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mayavi.cli.console.output import Column, print_facts, print_note, print_table
from mayavi.cli.console.progress import duration
from mayavi.cli.printing.specialise import print_statistics
from mayavi.rl.training.cost import describe_cost
from mayavi.rl.training.hardware import describe_hardware
from mayavi.rl.training_runs.catalogue import (
    Score,
    Training,
    continuation,
)
from mayavi.rl.training_runs.comparison import TrainingDiff
from mayavi.rl.training_runs.curves import last_values

SHOWN_CURVES = ("train/", "rollout/", "learners/", "env_runners/episode_return_mean", "validation/")
"""Beginnings of the names of curves that are printed; JSON has all of them."""


def print_trainings(trainings: Sequence[Training]) -> None:
    """Print one line per training."""
    columns = [
        Column("training", right=False),
        Column("env", right=False),
        Column("trained with", right=False),
        Column("seed"),
        Column("steps"),
        Column("status", right=False),
        Column("started, UTC", right=False),
        Column("mean reward"),
        Column("of", right=False),
    ]
    print_table(columns, [_row(each) for each in trainings])
    for each in trainings:
        if each.problem:
            print_note(f"{each.run_id}: {each.problem}")


def _row(training: Training) -> tuple[str, ...]:
    score = training.score()
    return (
        training.run_id,
        str(training.config.get("env", "")),
        _method(training),
        str(training.config.get("seed", "")),
        _steps(training),
        training.status,
        _time(training.record.get("started_at")),
        "" if score is None else _rewards(score),
        "" if score is None else score.of,
    )


def describe_training(training: Training) -> str:
    """One line that identifies a training."""
    what = [training.run_id, str(training.config.get("env", "")), _method(training), training.status]
    return " · ".join(each for each in what if each)


def print_training(training: Training, models: Path | None) -> None:
    """Print all facts of a training."""
    document = training_document(training, models)
    print_facts(_facts(training, document))
    if changed := _changed_settings(document["settings"]):
        print()
        print_table(
            [Column("setting", right=False), Column("value", right=False)],
            [(name, _value(value)) for name, value in changed.items()],
        )
        print_note("the other settings have their defaults; `--json` lists all of them")
    if document["checkpoints"]:
        print()
        print_table(
            [Column("checkpoint", right=False), Column("steps"), Column("mean reward"), Column("", right=False)],
            [
                (
                    each["name"],
                    f"{each['steps']:,}",
                    _number(each["mean_reward"]),
                    "can be resumed" if each["resumable"] else "",
                )
                for each in document["checkpoints"]
            ],
        )
    if document["specialise"]:
        print_statistics(document["specialise"])
    _print_curves(document["curves"])
    if document["evaluations"]:
        print()
        print_table(
            [
                Column("evaluation", right=False),
                Column("split", right=False),
                Column("episodes"),
                Column("mean reward"),
                Column("", right=False),
            ],
            [
                (name, score.of, f"{score.episodes:,}", _rewards(score), score.how)
                for name, score in training.evaluations().items()
            ],
        )


def _print_curves(curves: Mapping[str, Mapping[str, Any]] | None) -> None:
    if curves is None:
        print_note(
            "curves are not shown: `pip install 'mayavi-sim[rl]'` installs tensorboard; in a checkout: `make rl`"
        )
        return
    shown = {name: each for name, each in curves.items() if name.startswith(SHOWN_CURVES)}
    if shown:
        print()
        print_table(
            [Column("curve", right=False), Column("last value"), Column("at step")],
            [(name, _number(each["value"]), f"{each['steps']:,}") for name, each in shown.items()],
        )


def training_document(training: Training, models: Path | None) -> dict[str, Any]:
    """A training as JSON data."""
    record, config = training.record, dict(training.config)
    env_config = config.pop("env_config", {})
    curves = last_values(training.folder.logs_path)
    return {
        **training.summary(),
        "mean_reward": record.get("mean_reward"),
        "episodes": record.get("episodes"),
        "device": record.get("device"),
        **{name: record.get(name) for name in ("hardware", "steps_per_second", "cost", "sessions", "specialise")},
        "error": record.get("error"),
        "settings": config | {f"env.{name}": value for name, value in env_config.items()},
        "versions": record.get("versions", {}),
        **{name: record.get(name) for name in ("world", "world_digest", "observation_space", "action_space")},
        "checkpoints": _checkpoints(training),
        "validations": record.get("validations", []),
        "best": record.get("best"),
        "resumes": record.get("resumes", []),
        "curves": None
        if curves is None
        else {name: {"steps": each.steps, "value": _finite(each.value)} for name, each in curves.items()},
        "evaluations": {name: score.to_json() for name, score in training.evaluations().items()},
        "bytes": sum(each.stat().st_size for each in training.folder.path.rglob("*") if each.is_file()),
        "continues": continuation(training, models),
    }


def print_training_diff(found: TrainingDiff) -> None:
    """Print a comparison."""
    if found.equal:
        print("equal: the same settings, versions and results")
        return
    names = [Column(each.run_id, right=False) for each in (found.before, found.after)]
    parts = (("setting", found.settings), ("version", found.versions), ("result", found.results))
    first = True
    for title, differences in parts:
        if not differences:
            continue
        if not first:
            print()
        first = False
        print_table(
            [Column(title, right=False), *names],
            [(name, _value(one), _value(other)) for name, (one, other) in differences.items()],
        )
    if not found.settings:
        print_note("their settings are equal")
    if not found.results:
        print_note("their results are equal")


def _facts(training: Training, document: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts = [("training", training.run_id), ("status", training.status)]
    if training.problem:
        facts.append(("problem", training.problem))
    if training.config:
        facts += [
            ("environment", _environment(training, document)),
            ("trained with", f"{_method(training)}, seed {training.config.get('seed')}"),
            ("steps", f"{_steps(training)}, {document['episodes'] or 0:,} episodes"),
            ("started", _times(document)),
        ]
    if document["device"]:
        facts.append(("device", str(document["device"])))
    if document["hardware"]:
        facts.append(("hardware", describe_hardware(document["hardware"])))
    if document["steps_per_second"]:
        facts.append(("pace", f"{document['steps_per_second']:,.0f} steps a second"))
    if cost := describe_cost(training.record):
        facts.append(("cost", cost))
    if (score := training.score()) is not None:
        of = "the last training episodes" if score.of == "training" else f"the {score.of} split"
        facts.append(("mean reward", f"{_rewards(score)}, of {of}"))
    if document["best"]:
        reward, steps = (document["best"].get(name) for name in ("mean_reward", "steps"))
        facts.append(("best", f"{_number(reward)} on validation, after {steps:,} steps: {training.run_id}:best"))
    if document["error"]:
        facts.append(("error", str(document["error"])))
    if document["versions"]:
        facts.append(("versions", ", ".join(f"{name} {version}" for name, version in document["versions"].items())))
    for each in document["resumes"]:
        how = "exactly" if each.get("exact") else f"not exactly: {each.get('reason', '')}"
        facts.append(("resumed", f"at step {each.get('steps', 0):,}, {_time(each.get('at'))}, {how}"))
    facts.append(("folder", f"{training.folder.path}, {document['bytes'] / 1e6:,.1f} MB"))
    facts.append(("continues", document["continues"]))
    return facts


def _environment(training: Training, document: Mapping[str, Any]) -> str:
    config, world = training.config, str(document["world_digest"] or "")
    named = f"world {document['world']} {world[:16]}…" if document["world"] else f"world {world[:16]}…"
    source = str(config.get("source", "replica"))
    block = f" at block {config['block']:,}" if config.get("block") is not None else ""
    return f"{config.get('env')}, on {source}{block}{f', {named}' if world else ''}"


def _times(document: Mapping[str, Any]) -> str:
    ended, took = _time(document["finished_at"]), document["seconds"]
    parts = [_time(document["started_at"]), f"finished {ended}" if ended else "", f"trained for {duration(took or 0)}"]
    return ", ".join(each for each in parts if each)


def _changed_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that differ from the defaults of their environment, without those that `_facts` shows."""
    from mayavi.rl.config import TrainConfig
    from mayavi.rl.env_defaults import env_defaults

    shown = {"env", "framework", "algorithm", "recurrent", "seed", "source", "block"}
    defaults = {name: each.get_default() for name, each in TrainConfig.model_fields.items() if not each.is_required()}
    defaults |= env_defaults(settings)
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in defaults.items()}
    return {
        name: value
        for name, value in settings.items()
        if name not in shown and (name not in plain or plain[name] != value)
    }


def _checkpoints(training: Training) -> list[dict[str, Any]]:
    """Checkpoints that can be read; a damaged one is left out."""
    from mayavi.errors import CheckpointError
    from mayavi.rl.training_runs.checkpoints import MANIFEST, read_checkpoint

    folder, found = training.folder, []
    places = [*folder.checkpoints_path.glob("*"), folder.final_path, folder.best_path]
    for place in places:
        if not (place / MANIFEST).is_file() or (place.parent == folder.checkpoints_path and not place.name.isdigit()):
            continue
        try:
            each = read_checkpoint(place, whole=False)
            found.append(
                {
                    "name": each.name,
                    "steps": each.steps,
                    "mean_reward": each.facts.get("mean_reward"),
                    "resumable": bool(each.facts.get("only_to_resume")),
                }
            )
        except (CheckpointError, KeyError, TypeError, ValueError):
            continue
    return sorted(found, key=lambda each: (each["steps"], not each["name"].isdigit(), each["name"]))


def _method(training: Training) -> str:
    config = training.config
    memory = " with memory" if config.get("recurrent") else ""
    return f"{config.get('framework', '')} {config.get('algorithm', '')}{memory}".strip()


def _steps(training: Training) -> str:
    done, asked = training.record.get("steps"), training.config.get("timesteps")
    if not isinstance(done, int) or not isinstance(asked, int):
        return ""
    return f"{done:,}" if done >= asked else f"{done:,} of {asked:,}"


def _rewards(score: Score) -> str:
    return ", ".join(f"{role} {_number(mean)}".strip() for role, mean in score.mean_reward.items())


def _time(written: Any) -> str:
    return str(written).replace("T", " ").removesuffix("Z") if written else ""


def _finite(value: float) -> float | None:
    """`value`; None for NaN and infinity, which JSON does not have."""
    return value if math.isfinite(value) else None


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) else ""


def _value(value: Any) -> str:
    if isinstance(value, str):  # of a scenario, its first line
        first, *rest = value.splitlines() or [""]
        return f"{first} … ({len(rest) + 1} lines)" if rest else first
    if isinstance(value, float):
        return _number(value)
    text = "none" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"

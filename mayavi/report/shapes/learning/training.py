"""The page of a training: learning curves over seeds, evaluation with verdicts, and what the policy does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mayavi.errors import MayaviError
from mayavi.report.numbers import bounds, short, written_numbers
from mayavi.report.page import Block, Chart, Column, Page, Provenance, Section, Table, Text, Tile, Verdict
from mayavi.report.shapes.learning.comparisons import TONES, difference_line, differences_chart
from mayavi.report.shapes.learning.evaluation import page_verdict, part_sections, tiles_of, warnings_of
from mayavi.report.shapes.learning.learning_curves import learning_chart, seeds_chart
from mayavi.report.shapes.learning.policy_chart import policy_section
from mayavi.report.sources.policy_map import PolicyMap, policy_maps
from mayavi.report.sources.trainings import PooledComparison, TrainingData, pooled_comparisons, read_training
from mayavi.rl.evaluation.document import parts_of
from mayavi.rl.training.cost import describe_cost
from mayavi.rl.training.hardware import describe_hardware

_IDENTITY = ("env", "framework", "algorithm")


def training_page(named: str, models: Path) -> Page:
    """Build the page of a training and of its repetitions with other seeds."""
    data = read_training(named, models)
    config = data.lead.config
    document = data.evaluations.get(int(config["seed"])) or next(iter(data.evaluations.values()), None)
    pooled = _pooled(data)
    curve = _validation_chart(data) or _training_chart(data)
    sections = [_curves(data, skip=curve)]
    if document is not None:
        sections += _evaluation_sections(data, document, pooled)
    maps, missing = _maps(data, document)
    sections += [policy_section(maps, missing, int(config["seed"])), _seeds(data), _settings(data)]
    who = f"{config['framework']} {config['algorithm']} on {config['env']}"
    return Page(
        title=f"Training of {who}: {data.lead.run_id}",
        subject=f"Training of {who}, {data.steps:,} steps, {_seeds_text(data)}",
        verdict=_verdict(data, document, pooled),
        tiles=_tiles(data, document, pooled),
        summary=tuple(_summary(data, document, pooled)),
        hero=curve,
        sections=tuple(section for section in sections if section.blocks),
        provenance=_provenance(data),
        notes=tuple(_notes(data, document)),
    )


def _seeds_text(data: TrainingData) -> str:
    seeds = [int(each.config["seed"]) for each in data.seeds]
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds):,} seeds ({', '.join(map(str, seeds))})"


def _pooled(data: TrainingData) -> list[PooledComparison]:
    if len(data.evaluations) < 2:
        return []
    parts = {seed: next(iter(parts_of(document).values())) for seed, document in data.evaluations.items()}
    settings = next(iter(data.evaluations.values()))["settings"]
    return pooled_comparisons(parts, settings)


def _verdict(data: TrainingData, document: Mapping[str, Any] | None, pooled: list[PooledComparison]) -> Verdict:
    if document is None:
        sentence = f"The training is {data.lead.status} after {data.steps:,} steps, and has no evaluation yet."
        return Verdict(sentence, "NOT EVALUATED", "warn")
    if not pooled:
        return page_verdict(document)
    part = next(iter(parts_of(document).values()))
    others = [each for each in pooled if each.against != "optimum"] or pooled
    best = max(others, key=lambda each: float(part[each.against]["mean_reward"]))
    word = best.verdict.word
    name, against = data.lead.config["algorithm"], f"{best.against}, the strongest baseline"
    sentence = {
        "better": f"{name} earns more than {against}, over {best.trainings} training seeds",
        "worse": f"{name} earns less than {against}, over {best.trainings} training seeds",
        "indistinguishable": f"{best.trainings} training seeds do not tell {name} from {against}",
        "saturated": f"No claim about {name}: too few distinct trajectories",
    }[word]
    return Verdict(f"{sentence}.", word, TONES[word], difference_line(best.difference.to_json()))


def _tiles(data: TrainingData, document: Mapping[str, Any] | None, pooled: list[PooledComparison]) -> tuple[Tile, ...]:
    found: list[Tile] = []
    if document is not None:
        part = next(iter(parts_of(document).values()))
        rows = list(part["comparisons"])
        others = [each for each in rows if each["against"] != "optimum"] or rows
        best = max(others, key=lambda each: float(part[each["against"]]["mean_reward"]), default=None)
        alone = tiles_of(part, best, document["settings"])
        if pooled and best is not None:
            own = [
                next(iter(parts_of(each).values()))[best["strategy"]]["mean_reward"]
                for each in data.evaluations.values()
            ]
            mean = sum(own) / len(own)
            found.append(
                Tile(
                    "mean reward over seeds",
                    short(mean),
                    interval=f"seeds from {short(min(own))} to {short(max(own))}",
                    change=f"{len(own):,} trainings on the same episodes",
                    exact=repr(mean),
                )
            )
            together = next((each for each in pooled if each.against == best["against"]), pooled[0])
            found.append(alone[1])
            found.append(
                Tile(
                    "paired difference",
                    short(together.difference.value),
                    interval=bounds(together.difference.low, together.difference.high) or "no interval",
                    change=f"{together.verdict.word}, over {together.trainings} seeds",
                    exact=repr(together.difference.value),
                    tone=TONES[together.verdict.word],
                )
            )
            found.append(alone[4])
        else:
            found += alone
    best_validation = [(each.record["best"]["mean_reward"], each) for each in data.seeds if each.record.get("best")]
    if best_validation and len(found) < 6:
        value, training = max(best_validation, key=lambda pair: pair[0])
        found.append(
            Tile(
                "best validation",
                short(value),
                change=f"seed {training.config['seed']}, after {training.record['best']['steps']:,} steps",
                exact=repr(value),
            )
        )
    if len(found) < 6:
        wanted = int(data.lead.config["timesteps"])
        change = "as asked" if data.steps == wanted else f"of {wanted:,}"
        if data.steps > wanted:
            change = f"{wanted:,} asked"
        found.append(Tile("steps", f"{data.steps:,}", change=change, tone="plain" if data.steps >= wanted else "warn"))
    return tuple(found[:6])


def _summary(data: TrainingData, document: Mapping[str, Any] | None, pooled: list[PooledComparison]) -> list[str]:
    found = []
    for each in pooled:
        found.append(f"All {each.trainings} seeds against {each.against}: {each.verdict.word}, {each.verdict.reason}.")
    if document is not None and not pooled:
        part = next(iter(parts_of(document).values()))
        for each in part["comparisons"]:
            found.append(
                f"{each['strategy']} against {each['against']}: {each['verdict']}, {written_numbers(each['reason'])}."
            )
    if not found:
        found.append("There is no evaluation yet, so that nothing can be said about the policy.")
    return found


def _notes(data: TrainingData, document: Mapping[str, Any] | None) -> list[str]:
    found = []
    for each in data.seeds:
        if each.status != "finished":
            why = each.problem or str(each.record.get("error") or "")
            found.append(f"Seed {each.config['seed']} is {each.status}{f': {why}' if why else ''}.")
    if not data.tensorboard:
        found.append("Curves of the training are not shown: `pip install 'mayavi-sim[rl]'` installs tensorboard.")
    if document is None:
        found.append(f"`mayavi eval {data.lead.run_id}` evaluates the policy.")
    elif len(data.seeds) > len(data.evaluations):
        missing = [str(each.config["seed"]) for each in data.seeds if int(each.config["seed"]) not in data.evaluations]
        found.append(f"Seeds without the same evaluation: {', '.join(missing)}.")
    if len(data.seeds) == 1:
        found.append("One training seed says nothing about others: train with more values of `--seed`.")
    return [*found, *(warnings_of(document) if document is not None else [])]


def _validation_chart(data: TrainingData) -> Chart | None:
    many = f"{data.validation_episodes:,} " if data.validation_episodes else ""
    return learning_chart(
        data.validation_curves, "validation reward", f"Mean reward of {many}episodes of the validation split", wide=True
    )


def _training_chart(data: TrainingData) -> Chart | None:
    return learning_chart(
        data.training_curves, "training reward", "Mean reward of the last training episodes, as trained on"
    )


def _curves(data: TrainingData, skip: Chart | None) -> Section:
    by_seed = seeds_chart(data.validation_curves, "validation reward", "Mean reward on the validation split by seed")
    charts = [_training_chart(data), by_seed]
    blocks: tuple[Block, ...] = tuple(
        chart for chart in charts if chart is not None and (skip is None or chart.title != skip.title)
    )
    return Section("curves", "Learning curves", blocks)


def _evaluation_sections(
    data: TrainingData, document: Mapping[str, Any], pooled: list[PooledComparison]
) -> list[Section]:
    sections = []
    if pooled:
        rows = [
            {
                "strategy": data.lead.config["algorithm"], "against": each.against, "trainings": each.trainings,
                "difference": each.difference.to_json(), "verdict": each.verdict.word,
            }
            for each in pooled
        ]  # fmt: skip
        chart = differences_chart(rows, pooled[0].episodes, document["settings"]["confidence"])
        sections.append(Section("pooled", "All seeds against the baselines", (chart, _verdicts_by_seed(data))))
    for role, part in parts_of(document).items():
        own = part_sections(document, role, part)
        if pooled:
            seed = document["models"][0]["seed"]
            own = [Section(each.id, f"{each.title}, seed {seed}", each.blocks, each.lead) for each in own]
        sections += own
    return sections


def _verdicts_by_seed(data: TrainingData) -> Table:
    rows = []
    for seed, document in sorted(data.evaluations.items()):
        part = next(iter(parts_of(document).values()))
        for each in part["comparisons"]:
            found = each["difference"]
            own = part[each["strategy"]]
            rows.append(
                (seed, own["mean_reward"], each["against"], found["value"], found["low"], found["high"],
                 each["verdict"], own["effective_sample_size"])
            )  # fmt: skip
    columns = (
        Column("seed", "count"), Column("mean reward", "number"), Column("against"), Column("difference", "number"),
        Column("low", "number"), Column("high", "number"), Column("verdict"), Column("effective sample size", "count"),
    )  # fmt: skip
    return Table(columns, tuple(rows), title="Verdict of every seed")


def _maps(data: TrainingData, document: Mapping[str, Any] | None) -> tuple[list[PolicyMap], str]:
    """Return the policy maps of the lead training, or why there are none."""
    from mayavi.rl.models import Model

    if data.lead.config.get("recurrent"):
        return [], "A policy with memory has no map: its action depends on what it saw before."
    try:
        found = policy_maps(Model(data.lead.folder), document)
    except MayaviError as error:
        return [], f"The policy cannot be played here: {error.message}."
    except ImportError as error:
        return [], f"The policy cannot be played here: {error.name} is missing; `pip install 'mayavi-sim[rl]'` adds it."
    return found, "Fewer than two observations vary in the evaluation, so that there is no map."


def _seeds(data: TrainingData) -> Section:
    rows = []
    for each in data.seeds:
        best = each.record.get("best") or {}
        rows.append(
            (
                each.config["seed"], each.run_id, each.status, each.record.get("steps"), each.record.get("episodes"),
                each.record.get("mean_reward"), best.get("mean_reward"), best.get("steps"), each.record.get("seconds"),
                each.record.get("steps_per_second"), _hardware(each.record), describe_cost(each.record) or None,
            )
        )  # fmt: skip
    columns = (
        Column("seed", "count"), Column("training", "code"), Column("status"), Column("steps", "count"),
        Column("episodes", "count"), Column("training reward", "number"), Column("best validation", "number"),
        Column("after steps", "count"), Column("seconds", "number"), Column("steps a second", "number"),
        Column("hardware"), Column("cost"),
    )  # fmt: skip
    return Section("seeds", "Trainings", (Table(columns, tuple(rows)),))


def _hardware(record: Mapping[str, Any]) -> str | None:
    """Machines that a training ran on; None for a record of an older version."""
    found = dict.fromkeys(describe_hardware(each["hardware"]) for each in record.get("sessions") or ())
    return "; ".join(found) or None


def _settings(data: TrainingData) -> Section:
    rows = tuple((name, _value(value), _value(default)) for name, (value, default) in data.changed.items())
    columns = (Column("setting", "code"), Column("value"), Column("default"))
    table = Table(columns, rows, title="Different from the defaults", empty="Every setting has its default.")
    more = Text((f"`mayavi trainings show {data.lead.run_id} --json` lists all settings.",))
    return Section("settings", "Settings", (table, more))


def _value(value: Any) -> str | None:
    if isinstance(value, str):  # of a scenario, its first line
        first, *rest = value.splitlines() or [""]
        return f"{first} … ({len(rest) + 1} lines)" if rest else first
    return None if value is None else json.dumps(value, ensure_ascii=False)


def training_command(
    config: Mapping[str, Any], changed: Mapping[str, tuple[Any, Any]], seeds: Sequence[int] = ()
) -> str:
    """Return the command that repeats a training; with several `seeds`, the loop that repeats them all."""
    parts = [f"mayavi train --env {config['env']} --framework {config['framework']}"]
    parts += [f"--algorithm {config['algorithm']}"] if config["algorithm"] != "ppo" else []
    parts += [f"--timesteps {config['timesteps']}", f"--seed {'$seed' if len(seeds) > 1 else config['seed']}"]
    named = {"timesteps", *_IDENTITY}
    parts += ["--recurrent"] if config.get("recurrent") else []
    for name, (value, _) in changed.items():
        if name not in named and name != "recurrent" and value is not None:
            text = isinstance(value, str) and "\n" in value  # a scenario, which `run.json` holds
            parts.append(f"--set {name}={'FILE' if text else _value(value)}")
    command = " ".join(parts)
    return f"for seed in {' '.join(map(str, seeds))}; do {command}; done" if len(seeds) > 1 else command


_REPEATABLE = "The same command on the same version and processor repeats the training; results of a GPU may differ."
_ON_A_GPU = "The command repeats the training with other numbers: GPU arithmetic is not reproducible."


def _provenance(data: TrainingData) -> Provenance:
    record, config = data.lead.record, data.lead.config
    seeds = [int(each.config["seed"]) for each in data.seeds]
    facts = [
        *((f"training of seed {each.config['seed']}", each.run_id) for each in data.seeds),
        ("environment", str(config["env"])),
        ("world", " ".join(filter(None, (str(config.get("source", "replica")), record.get("world"))))),
        ("world digest", str(record.get("world_digest") or "")),
        ("device", str(record.get("device") or "")),
        ("hardware", _hardware(record) or ""),
        ("started", str(record.get("started_at") or "")),
        ("finished", str(record.get("finished_at") or "")),
        ("training time", f"{record['seconds']:,.1f} s" if record.get("seconds") else ""),
        ("steps a second", f"{record['steps_per_second']:,.1f}" if record.get("steps_per_second") else ""),
        ("cost", describe_cost(record)),
        *((f"version of {name}", str(version)) for name, version in (record.get("versions") or {}).items()),
    ]
    digest = str(record.get("world_digest") or "")[:12]
    summary = f"{_seeds_text(data)} · {config.get('source', 'replica')}, world digest {digest}…"
    return Provenance(
        tuple((name, value) for name, value in facts if value), training_command(config, data.changed, seeds), summary,
        _REPEATABLE if str(record.get("device") or "cpu").startswith("cpu") else _ON_A_GPU,
    )  # fmt: skip

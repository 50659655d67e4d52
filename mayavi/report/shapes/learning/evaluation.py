"""The page of an evaluation: policies against baselines, with paired differences, intervals and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mayavi.report.charts.axes import Axis, Xs
from mayavi.report.charts.intervals import intervals
from mayavi.report.charts.lines import Line, lines
from mayavi.report.numbers import bounds, percent, short, written_numbers
from mayavi.report.page import Block, Column, Page, Provenance, Section, Table, Tile, Verdict
from mayavi.report.shapes.learning.comparisons import (
    TONES,
    comparisons_table,
    decisive,
    difference_line,
    differences_chart,
    means_chart,
    more_less_equal,
    pairs_chart,
    strategies_table,
    strongest,
    verdict_of,
)
from mayavi.rl.evaluation.document import parts_of
from mayavi.rl.evaluation.noise import Noise


def evaluation_page(document: Mapping[str, Any], runs: Sequence[str] = ()) -> Page:
    """Build the page of a document that `mayavi eval` wrote; `runs` are the trainings it is about, where known."""
    settings, env = document["settings"], document["env"]
    parts = parts_of(document)
    first = next(iter(parts.values()))
    found = decisive(first)
    best = strongest(first, found)
    hero = differences_chart(found, settings["episodes"], settings["confidence"]) if found else None
    subject = f"Evaluation on {env['name']}, {settings['episodes']:,} episodes of the {env['config']['split']} split"
    models = ", ".join(policy_text(each) for each in document["models"])
    return Page(
        title=f"Evaluation on {env['name']}: {', '.join(each['name'] for each in document['models']) or 'baselines'}",
        subject=f"{subject}: {models}" if models else f"{subject}: baselines",
        verdict=page_verdict(document),
        tiles=tiles_of(first, best, settings),
        summary=tuple(summary_of(document)),
        hero=hero,
        sections=tuple(section for role, part in parts.items() for section in part_sections(document, role, part)),
        provenance=_provenance(document, runs),
        notes=(*warnings_of(document), *_unnamed(document, runs)),
    )


def page_verdict(document: Mapping[str, Any]) -> Verdict:
    """The verdict of the first role; of baselines alone, that of the best against the next."""
    first = next(iter(parts_of(document).values()))
    if document["models"] or document.get("rivals"):
        found = decisive(first)
        return verdict_of(found, strongest(first, found))
    names = sorted(first["strategies"], key=lambda name: -float(first[name]["mean_reward"]))
    for each in first["comparisons"]:
        if len(names) > 1 and {each["strategy"], each["against"]} == set(names[:2]):
            mean = short(first[names[0]]["mean_reward"])
            sentence = f"{names[0]} has the highest mean reward, {mean} an episode: {written_numbers(each['reason'])}."
            return Verdict(sentence, each["verdict"], TONES[each["verdict"]], difference_line(each["difference"]))
    return verdict_of((), None)


def tiles_of(part: Mapping[str, Any], best: Mapping[str, Any] | None, settings: Mapping[str, Any]) -> tuple[Tile, ...]:
    """Tiles of one role: rewards, the difference to the strongest baseline, and how much evidence there is."""
    if best is None:
        return ()
    own, other = part[best["strategy"]], part[best["against"]]
    difference = best["difference"]
    distinct = own.get("effective_sample_size", best["distinct_pairs"])
    enough = distinct >= settings["minimum_distinct"]
    return (
        _reward_tile(f"mean reward of {best['strategy']}", own),
        _reward_tile(f"mean reward of {best['against']}", other),
        Tile(
            "paired difference",
            short(difference["value"]),
            interval=bounds(difference["low"], difference["high"]) or "no interval",
            change=f"{best['verdict']} than {best['against']}"
            if best["verdict"] in {"better", "worse"}
            else best["verdict"],
            exact=repr(difference["value"]),
            tone=TONES[best["verdict"]],
        ),
        _wins_tile(part, best),
        Tile(
            "effective sample size",
            f"{distinct:,}",
            change=f"distinct of {settings['episodes']:,} episodes; a claim needs {settings['minimum_distinct']:,}",
            tone="plain" if enough else "warn",
        ),
    )


def _wins_tile(part: Mapping[str, Any], best: Mapping[str, Any]) -> Tile:
    """Count the episodes with more, less and the same reward; without rewards, the probability of improvement."""
    wins, counted = best["probability_of_improvement"], more_less_equal(part, best)
    chance = f"{percent(wins['value'])} {bounds(wins['low'], wins['high'], 'percent')}".strip()
    if counted is None:
        return Tile("probability of improvement", chance, change="ties count half", exact=repr(wins["value"]))
    more, less, equal = counted
    return Tile(
        f"earns more than {best['against']} in",
        f"{more:,} of {sum(counted):,} episodes",
        change=f"less in {less:,}, the same in {equal:,}",
        exact=f"probability of improvement, ties half: {chance}",
    )


def _reward_tile(label: str, one: Mapping[str, Any]) -> Tile:
    mean = one["mean"]
    return Tile(
        label,
        short(mean["value"]),
        interval=bounds(mean["low"], mean["high"]) or "no interval",
        change=f"standard deviation {short(one['std_reward'])}",
        exact=repr(mean["value"]),
    )


def summary_of(document: Mapping[str, Any]) -> list[str]:
    """Sentences made from the comparisons of every role."""
    found = []
    for role, part in parts_of(document).items():
        head = f"As {role}: " if role else ""
        for each in decisive(part)[:8]:
            text = f"{head}{each['strategy']} against {each['against']}: {each['verdict']}, {each['reason']}."
            found.append(written_numbers(text))
            head = ""
        if part["regret"] is not None:
            shares = [
                f"{name} attains {percent(one['share_of_attainable']['value'])} of what is attainable"
                for name, one in part["regret"]["strategies"].items()
                if name != "optimum" and one["share_of_attainable"] is not None
            ]
            found += [f"{'; '.join(shares)}."] if shares else []
    return found


def part_sections(document: Mapping[str, Any], role: str, part: Mapping[str, Any], at: str = "") -> list[Section]:
    """Sections of one role; `at` starts their addresses."""
    settings = document["settings"]
    found = decisive(part)
    best = strongest(part, found)
    key, head = (f"{role}-" if role else "") + at, f"{role}: " if role else ""
    blocks: list[Block] = []
    if role and found:
        blocks.append(differences_chart(found, settings["episodes"], settings["confidence"]))
    if best is not None and (chart := pairs_chart(part, best)) is not None:
        blocks.append(chart)
    blocks.append(comparisons_table(part, found))
    sections = [Section(f"{key}comparisons", _title(head, "Paired differences"), tuple(blocks))]
    strategies: list[Block] = [
        means_chart(part, settings["episodes"], settings["confidence"]),
        strategies_table(part),
    ]
    if part["pooled"]:
        strategies.append(comparisons_table(part, part["comparisons"], "Each training alone"))
    sections.append(Section(f"{key}strategies", _title(head, "What each strategy earns"), tuple(strategies)))
    if part["regret"] is not None:
        sections.append(_regret(key, head, part["regret"]))
    if part["checkpoints"] is not None:
        sections.append(_checkpoints(key, head, part["checkpoints"]))
    return sections


def _regret(key: str, head: str, regret: Mapping[str, Any]) -> Section:
    rows = [
        (name, *(one["regret"][each] for each in ("value", "low", "high")))
        for name, one in regret["strategies"].items()
        if one["regret"] is not None
    ]
    exact = regret["method"] == "exhaustive"
    what = "the optimum in hindsight" if exact else f"the best found by a beam of width {regret['width']}"
    ordered = sorted(rows, key=lambda row: row[1])
    title = f"{ordered[-1][0]} leaves most to {what}" if ordered else "No regret is known"
    chart = intervals(
        title, f"Reward less than that of {what}", ordered, Axis("regret", "number"), reference=(0.0, "optimum")
    )
    return Section(f"{key}regret", _title(head, "Regret"), (chart,))


def _checkpoints(key: str, head: str, settled: Mapping[str, Any]) -> Section:
    steps = settled["steps"]
    chart = lines(
        settled["sentence"][:1].upper() + settled["sentence"][1:],
        "Mean reward of each checkpoint on the same episodes",
        Xs([each["step"] for each in steps], "training steps", "count"),
        [Line("mean reward", [each["mean_reward"] for each in steps], markers=True)],
        Axis("mean reward", "number"),
    )
    rows = tuple(
        (
            each["step"], each["mean_reward"], each["difference_to_last"]["value"], each["difference_to_last"]["low"],
            each["difference_to_last"]["high"], each["effective_sample_size"],
            "same trajectories" if each["same_trajectories_as_last"] else each["verdict_against_last"],
        )
        for each in steps
    )  # fmt: skip
    columns = (
        Column("steps", "count"), Column("mean reward", "number"), Column("to the last", "number"),
        Column("low", "number"), Column("high", "number"), Column("effective sample size", "count"),
        Column("against the last"),
    )  # fmt: skip
    return Section(f"{key}checkpoints", _title(head, "Checkpoints"), (chart, Table(columns, rows)))


def warnings_of(document: Mapping[str, Any]) -> list[str]:
    """What limits the evaluation: contamination, settings that differ between trainings, saturated comparisons."""
    found = [
        f"{each['name']} {each['seen']}, so this says nothing about episodes that are new to it."
        for each in [*document["models"], *document.get("rivals", [])]
        if "seen" in each
    ]
    for setting, values in document.get("differing_settings", {}).items():
        listed = ", ".join(f"{name} {value}" for name, value in values.items())
        found.append(f"The trainings differ in more than their seed: {setting} is {listed}.")
    for part in parts_of(document).values():
        saturated = [each for each in decisive(part) if each["verdict"] == "saturated"]
        if saturated:
            many = "1 comparison is" if len(saturated) == 1 else f"{len(saturated):,} comparisons are"
            found.append(f"{many} saturated: {written_numbers(saturated[0]['reason'])}.")
    return found


def policy_text(facts: Mapping[str, Any]) -> str:
    """Describe a policy: `ppo (sb3, seed 3, 8,192 steps)`."""
    return f"{facts['name']} ({facts['framework']}, seed {facts['seed']}, {facts['steps']:,} steps)"


def evaluation_command(document: Mapping[str, Any], runs: Sequence[str] = ()) -> str:
    """Return the command that repeats an evaluation; runs that are not known are written as `RUN`."""
    settings, env = document["settings"], document["env"]
    named = " ".join(runs) or (" ".join("RUN" for _ in document["models"]) if document["models"] else "-")
    parts = [f"mayavi eval {named}"] + ([] if document["models"] else [f"--env {env['name']}"])
    if settings["against"]:
        parts.append(f"--against {','.join(settings['against'])}")
    parts += [f"--episodes {settings['episodes']}", f"--split {env['config']['split']}"]
    parts += [] if settings["deterministic"] else ["--stochastic"]
    noise = Noise(**settings.get("noise", {}))
    parts += [f"--noise-actions {noise.actions:g}"] if noise.actions else []
    parts += [f"--noise-observations {noise.observations:g}"] if noise.observations else []
    parts += [f"--seed {settings['seed']}"] if settings["seed"] else []
    return " ".join(parts)


def evidence_facts(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Facts that identify an evaluation."""
    settings, env = document["settings"], document["env"]
    facts = [
        ("environment", env["name"]),
        *([("world", env["world"])] if env.get("world") else []),
        ("world digest", env["world_digest"]),
        ("episodes", f"{settings['episodes']:,} of the {env['config']['split']} split"),
        ("play", "deterministic" if settings["deterministic"] else "stochastic"),
        *([("noise", Noise(**settings["noise"]).describe())] if settings.get("noise") else []),
        ("bootstrap", f"seed {settings['seed']}, {settings['resamples']:,} resamples"),
        ("schema", f"{document['schema']} {document['version']}"),
    ]
    facts += [(f"policy {each['name']}", policy_text(each)) for each in document["models"]]
    return [*facts, *((f"version of {name}", version) for name, version in document["versions"].items())]


def settings_table(config: Mapping[str, Any]) -> Table:
    """Settings of an environment."""
    rows = tuple((name, str(value)) for name, value in config.items() if value is not None)
    return Table((Column("setting", "code"), Column("value")), rows, title="Settings of the environment")


def _unnamed(document: Mapping[str, Any], runs: Sequence[str]) -> list[str]:
    """Say what `RUN` stands for in the command, if the trainings are not known."""
    if runs or not document["models"]:
        return []
    listed = ", ".join(policy_text(each) for each in document["models"])
    return [f"The document does not name its trainings: `RUN` in the command stands for the id of {listed}."]


def _provenance(document: Mapping[str, Any], runs: Sequence[str]) -> Provenance:
    env, command = document["env"], evaluation_command(document, runs)
    facts = [("training", run) for run in runs] + evidence_facts(document)
    world = f"{env['world']}, digest" if env.get("world") else "world digest"
    summary = f"{env['name']} · {world} {str(env['world_digest'])[:12]}… · {document['schema']} {document['version']}"
    return Provenance(tuple(facts), command, summary)


def _title(head: str, title: str) -> str:
    return f"{head}{title[:1].lower()}{title[1:]}".capitalize() if head else title

"""Readable output of `mayavi eval`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mayavi.cli.console.output import Column, print_note, print_table


def print_evaluation(document: dict[str, Any]) -> None:
    """Print an evaluation."""
    from mayavi.rl.evaluation.document import parts_of
    from mayavi.rl.evaluation.noise import Noise

    env, settings = document["env"], document["settings"]
    how = "deterministic" if settings["deterministic"] else "stochastic"
    subject = ", ".join(_policy(each) for each in document["models"])
    rivals = document.get("rivals", [])
    config = env["config"]
    facts = [env["name"], f"{config['split']} split", f"{config['start']} start"]
    facts += [f"reward {config['reward']}"] if "reward" in config else []
    facts += [f"{settings['episodes']:,} episodes", how]
    if noise := settings.get("noise"):
        facts.append(Noise(**noise).describe())
    facts += [subject] if subject else []
    print(" · ".join([*facts, *(f"against {_policy(each)}" for each in rivals)]))
    _print_contamination([*document["models"], *rivals])
    for each in rivals:
        _print_rival_settings(each)
    _print_differing_settings(document)
    parts = parts_of(document)
    for role, part in parts.items():
        if role:
            _print_role(env["name"], role, part)
    _print_strategies(parts, f"{settings['confidence'] * 100:g} %")
    for role, part in parts.items():
        _print_comparisons(f"{role}: " if role else "", part, settings["episodes"])


def _print_role(env: str, role: str, part: Mapping[str, Any]) -> None:
    from mayavi.gym_env.registry import entry

    others = " and ".join(f"{each}s" for each in entry(env).load().role_names if each != role)
    many = f"the mean of {part['agents']} {role}s" if part["agents"] > 1 else f"that of one {role}"
    print_note(f"  {role}: {many}, while the {others} play {part['others']}")


def _policy(facts: Mapping[str, Any]) -> str:
    method = "" if facts["name"].partition("@")[0] == facts["algorithm"] else f" {facts['algorithm']}"
    return f"{facts['name']} ({facts['framework']}{method}, seed {facts['seed']}, {facts['steps']:,} steps)"


def _print_rival_settings(rival: Mapping[str, Any]) -> None:
    """Print in which settings the two trainings differ; nothing if only their seeds do."""
    for setting, values in rival.get("differing_settings", {}).items():
        print_note(f"  {setting}: {', '.join(f'{name} {value}' for name, value in values.items())}")


def _print_contamination(models: Sequence[Mapping[str, Any]]) -> None:
    """Warn about contamination, once per kind."""
    known: dict[str, list[str]] = {}
    for each in models:
        if "seen" in each:
            known.setdefault(each["seen"], []).append(each["name"])
    for how, names in known.items():
        them = names[0] if len(names) == 1 else f"each of {', '.join(names)}"
        print(f"warning: {them} {how}, so this says nothing about episodes that are new to it")
        if "split" in how:
            # Who was trained on the test split finds no new ones there.
            print_note(f"  {'another --split' if 'test' in how else '--split test'} has such")
        elif "hours" in how:
            print_note("  play later ones: --set begin=… and boundaries")


def _print_differing_settings(document: dict[str, Any]) -> None:
    for setting, values in document.get("differing_settings", {}).items():
        each = ", ".join(f"{name} {value}" for name, value in values.items())
        print(f"warning: the trainings differ in more than their seed: {setting} is {each}")
    if document.get("differing_settings"):
        print_note("  their common interval is not that of one training with another seed")


def _print_strategies(parts: Mapping[str, Mapping[str, Any]], share: str) -> None:
    rows = []
    for role, part in parts.items():
        for name in part["strategies"]:
            one = part[name]
            rows.append(
                (
                    f"{role}: {name}" if role else name,
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


def _print_comparisons(role: str, part: Mapping[str, Any], episodes: int) -> None:
    for each in (*part["comparisons"], *part["pooled"]):
        together = f" (all {each['trainings']} trainings)" if each["trainings"] > 1 else ""
        print(f"{role}{each['strategy']}{together} against {each['against']}: {each['verdict']}")
        wins = f"; it earns more in {_percent(each['probability_of_improvement'], 0)} of them, ties counting half"
        equal = each["verdict"] == "saturated" or each["equal_episodes"] == episodes
        print_note(f"  {each['reason']}{'' if equal else wins}")
        if "wins" in each:
            print_note(f"  of {episodes:,} episodes {each['wins']:,} won, {each['losses']:,} lost")
    _print_regret(part["regret"])
    settled = part["checkpoints"]
    if settled is None:
        return
    shown = [
        (
            f"{each['step']:,}",
            _number(each["mean_reward"]),
            _number(each["difference_to_last"]["value"]),
            "same" if each["same_trajectories_as_last"] else each["verdict_against_last"],
        )
        for each in settled["steps"]
    ]
    print_table([Column(f"{role}step"), Column("mean"), Column("to the last"), Column("", right=False)], shown)
    print(f"{role}{settled['sentence']}")


def _print_regret(regret: dict[str, Any] | None) -> None:
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
        attained = (
            "nothing is attainable"
            if share is None
            else f"{'' if exact else 'at most '}{_percent(share, 1)} of attainable"
        )
        interval = _interval(one["regret"]).replace("–", "")
        print(f"{name}: {attained}, regret {_number(one['regret']['value'])} {interval}".rstrip())
    reference = f"beyond {regret['reference']}" if regret["reference"] else "beyond zero"
    print_note(f"  {found}; attainable is what can be had {reference}")


def _percent(share: dict[str, float], digits: int) -> str:
    return f"{100 * share['value']:.{digits}f} %"


def _number(value: float) -> str:
    return f"{value:.6g}"


def _interval(estimate: dict[str, float | None]) -> str:
    """Interval of an estimate; `–` where none can be trusted."""
    low, high = estimate["low"], estimate["high"]
    return "–" if low is None or high is None else f"[{_number(low)}, {_number(high)}]"

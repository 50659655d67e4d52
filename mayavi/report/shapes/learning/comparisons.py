"""Parts that pages of evaluations and trainings share: paired differences, verdicts, strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mayavi.report.charts.axes import Axis
from mayavi.report.charts.distributions import FEW, distribution
from mayavi.report.charts.intervals import intervals
from mayavi.report.numbers import bounds, short
from mayavi.report.page import Chart, Column, Table, Tone, Verdict

TONES: dict[str, Tone] = {"better": "good", "worse": "bad", "indistinguishable": "warn", "saturated": "warn"}
Comparison = Mapping[str, Any]


def decisive(part: Mapping[str, Any]) -> list[Comparison]:
    """The comparisons that a verdict rests on: pooled trainings where there are any, else single ones."""
    return list(part["pooled"] or part["comparisons"])


def strongest(part: Mapping[str, Any], found: Sequence[Comparison]) -> Comparison | None:
    """The comparison with the baseline that earns most; with `optimum` only if there is no other."""
    known = [each for each in found if each["against"] in part]
    others = [each for each in known if each["against"] != "optimum"] or known
    return max(others, key=lambda each: float(part[each["against"]]["mean_reward"]), default=None)


def verdict_of(found: Sequence[Comparison], best: Comparison | None) -> Verdict:
    """Judge the policy against the baseline that earns most, and count its other verdicts."""
    if best is None:
        return Verdict("There is one strategy, and nothing to compare it with.", "NO CLAIM", "warn")
    word, against, difference = best["verdict"], best["against"], best["difference"]
    sentence = {
        "better": f"{_subject(best)} earns more than {against}, the strongest baseline",
        "worse": f"{_subject(best)} earns less than {against}, the strongest baseline",
        "indistinguishable": f"{_subject(best)} is not distinguishable from {against}, the strongest baseline",
        "saturated": f"No claim about {_subject(best)}: only {best['distinct_pairs']:,} distinct trajectories",
    }[word]
    others = [each["verdict"] for each in found if each is not best]
    counted = [f"{other} than {others.count(other):,}" for other in ("better", "worse") if other in others]
    if "indistinguishable" in others:
        counted.append(f"indistinguishable from {others.count('indistinguishable'):,}")
    if word != "saturated" and len(counted) == 1 and len(set(others)) == 1:
        also = "also " if others[0] == word else ""
        sentence += f"; it is {also}{counted[0].rsplit(' ', 1)[0]} {_the_others(len(others))}"
    elif word != "saturated" and counted:
        sentence += f"; of the other {len(others):,} baselines it is {' and '.join(counted)}"
    return Verdict(f"{sentence}.", word, TONES[word], difference_line(difference))


def difference_line(difference: Mapping[str, Any]) -> str:
    """Write a paired difference with its interval: `paired difference 0.12 [0.1, 0.14] in reward an episode`."""
    known = bounds(difference["low"], difference["high"])
    return f"paired difference {short(difference['value'])} {known or 'without an interval'} in reward an episode"


def differences_chart(found: Sequence[Comparison], episodes: int, confidence: float) -> Chart:
    """Draw every paired difference with its interval; zero means equal."""
    rows = [(_pair(each), *(each["difference"][key] for key in ("value", "low", "high"))) for each in found]
    better = sum(each["verdict"] == "better" for each in found)
    worse = sum(each["verdict"] == "worse" for each in found)
    name = found[0]["strategy"]
    title = f"{name} is better than {better:,} of {len(found):,} baselines and worse than {worse:,}"
    if {each["verdict"] for each in found} == {"saturated"}:
        title = f"Too few distinct trajectories to tell {name} from any baseline"
    elif not better and not worse:
        which = "its baseline" if len(found) == 1 else f"any of its {len(found):,} baselines"
        title = f"{name} is not distinguishable from {which}"
    if len({each["strategy"] for each in found}) > 1:
        title = f"{better + worse:,} of {len(found):,} comparisons are decided"
    return intervals(
        title,
        f"Paired difference of the reward, {confidence * 100:g} % intervals, over the same {episodes:,} episodes",
        rows,
        Axis("reward, policy less baseline", "number"),
        reference=(0.0, "equal"),
    )


def means_chart(part: Mapping[str, Any], episodes: int, confidence: float) -> Chart:
    """Draw the mean reward of every strategy with its interval, the best on top."""
    names = sorted(part["strategies"], key=lambda name: -float(part[name]["mean_reward"]))
    rows = [(name, *(part[name]["mean"][key] for key in ("value", "low", "high"))) for name in names]
    mean = short(part[names[0]]["mean_reward"])
    return intervals(
        f"{names[0]} has the highest mean reward, {mean} an episode{_overlapping(rows)}",
        f"Mean reward with its {confidence * 100:g} % interval, {episodes:,} episodes",
        rows,
        Axis("mean reward", "number"),
    )


def _overlapping(rows: Sequence[tuple[str, float | None, float | None, float | None]]) -> str:
    """Say how many intervals overlap that of the first row; a missing bound excludes nothing."""
    low = rows[0][2]
    reach = sum(1 for _, _, _, high in rows[1:] if low is None or high is None or high >= low)
    return f"; the intervals of {reach:,} of {len(rows) - 1:,} others overlap its own" if reach else ""


def more_less_equal(part: Mapping[str, Any], each: Comparison) -> tuple[int, int, int] | None:
    """Episodes in which the policy earns more, less, and exactly the same; None if their rewards are not stored."""
    one, other = part.get(each["strategy"], {}), part.get(each["against"], {})
    if "rewards" not in one or "rewards" not in other:
        return None
    differences = np.array(one["rewards"]) - np.array(other["rewards"])
    return int((differences > 0).sum()), int((differences < 0).sum()), int((differences == 0).sum())


def pairs_chart(part: Mapping[str, Any], best: Comparison) -> Chart | None:
    """Draw the differences of single episodes between a policy and its strongest baseline."""
    one, other = part.get(best["strategy"], {}), part.get(best["against"], {})
    if "rewards" not in one or "rewards" not in other:
        return None
    values = (np.array(one["rewards"]) - np.array(other["rewards"])).tolist()
    more, less, equal = more_less_equal(part, best) or (0, 0, 0)
    how = "one dot an episode" if len(values) < FEW else "histogram"
    return distribution(
        f"{best['strategy']} earns more than {best['against']} in {more:,} of {len(values):,} episodes, "
        f"less in {less:,}, the same in {equal:,}",
        f"Difference of the reward of each of {len(values):,} episodes, {how}",
        values,
        Axis("reward, policy less baseline", "number"),
        marks=[(0.0, "equal")],
    )


def comparisons_table(part: Mapping[str, Any], found: Sequence[Comparison], title: str = "Verdicts") -> Table:
    """Every comparison with its verdict, and the episodes in which the policy earns more, less and the same."""
    rows = tuple(
        (
            _subject(each),
            each["against"],
            each["verdict"],
            *(each["difference"][key] for key in ("value", "low", "high")),
            *(more_less_equal(part, each) or (None, None, None)),
            each["distinct_pairs"],
        )
        for each in found
    )
    columns = (
        Column("policy"), Column("against"), Column("verdict"), Column("difference", "number"),
        Column("low", "number"), Column("high", "number"), Column("more", "count"),
        Column("less", "count"), Column("equal", "count"), Column("distinct pairs", "count"),
    )  # fmt: skip
    return Table(columns, rows, title=title, empty="There is nothing to compare with.")


def strategies_table(part: Mapping[str, Any]) -> Table:
    """Every strategy: rewards, effective sample size, early ends."""
    rows = []
    for name in part["strategies"]:
        one = part[name]
        mean, middle = one["mean"], one["interquartile_mean"]
        rows.append(
            (
                name, mean["value"], mean["low"], mean["high"], middle["value"], one["std_reward"],
                one["effective_sample_size"], one["episodes"], one["terminated"], one["mean_length"],
            )
        )  # fmt: skip
    columns = (
        Column("strategy"), Column("mean reward", "number"), Column("low", "number"), Column("high", "number"),
        Column("interquartile mean", "number"), Column("standard deviation", "number"),
        Column("effective sample size", "count"), Column("episodes", "count"), Column("ended early", "count"),
        Column("mean length", "count"),
    )  # fmt: skip
    return Table(columns, tuple(rows), title="Strategies")


def _subject(each: Comparison) -> str:
    return f"{each['strategy']} ({each['trainings']} trainings)" if each["trainings"] > 1 else str(each["strategy"])


def _the_others(count: int) -> str:
    return "the other baseline" if count == 1 else f"the other {count:,} baselines"


def _pair(each: Comparison) -> str:
    return f"{_subject(each)} against {each['against']}"

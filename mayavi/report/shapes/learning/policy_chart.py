"""Heat maps of a policy: its action over two observations."""

from __future__ import annotations

from collections import Counter

from mayavi.report.charts.axes import Axis
from mayavi.report.charts.heat_map import heat_map
from mayavi.report.numbers import short
from mayavi.report.page import Chart, Column, Section, Table, Text
from mayavi.report.sources.policy_map import PolicyMap


def policy_chart(found: PolicyMap, seed: int) -> Chart:
    """Draw one map of the policy of a training seed: the number of a discrete action, or a continuous one's value."""
    xs, ys = [short(value) for value in found.x], [short(value) for value in found.y]
    used = Counter(int(value) for row in found.cells for value in row) if found.actions else Counter[int]()
    cells = sum(len(row) for row in found.cells)
    if found.actions:
        commonest, times = used.most_common(1)[0]
        title = f"The policy always does the same here: {found.actions[commonest]}"
        if found.distinct > 1:
            title = f"The policy mostly does “{found.actions[commonest]}”: {times:,} of {cells:,} cells"
        meaning = ", ".join(f"{at} {found.actions[at]}" for at in sorted(used))
        what = f"Action over {found.x_name} and {found.y_name}: {meaning}"
    else:
        values = [value for row in found.cells for value in row]
        title = f"{found.component.capitalize()} from {short(min(values))} to {short(max(values))}"
        what = f"{found.component.capitalize()} over {found.x_name} and {found.y_name}"
    who = f"{found.role}: " if found.role else ""
    return heat_map(
        f"{who}{title}",
        f"{what}. Policy of seed {seed}; "
        f"other observations at their median of {found.seen:,} steps in {found.episodes:,} episodes",
        (found.x_name, xs),
        (found.y_name, ys),
        [list(row) for row in found.cells],
        Axis(found.component, "count" if found.actions else "short"),
        diverging=not found.actions and any(value < 0 for row in found.cells for value in row),
    )


def policy_section(found: list[PolicyMap], missing: str, seed: int) -> Section:
    """The maps with the values that the other observations are held at; or why there are none."""
    if not found:
        return Section("policy", "What the policy does", (Text((missing,)),))
    rows = tuple((name, value) for name, value in found[0].medians)
    table = Table(
        (Column("observation"), Column("held at", "number")), rows, title="Other observations, at their median"
    )
    lead = "The two observations that move the action most, each over the values that occur in the evaluation."
    return Section(
        "policy",
        f"What the policy of seed {seed} does",
        (*(policy_chart(each, seed) for each in found), table),
        lead=lead,
    )

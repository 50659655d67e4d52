"""Text summary of a run: what happened, what failed, KPIs and price moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mayavi.scenarios.models.config import ScenarioConfig
    from mayavi.scenarios.run.result import Run

IN_FIRST_LINE = {"actions", "failed", "raised", "transactions", "gas_used", "fees_wei"}
"""KPIs that the first line covers."""
SHOWN_IF_ZERO = {"largest_difference_from_record"}
POOL_MOVES = ("price_impact", "pool_change")
REASONS_SHOWN = 3

Facts = list[tuple[str, str]]
"""Titles and values."""


def summary_lines(run: Run, config: ScenarioConfig) -> list[str]:
    """Describe a run: number of steps and transactions, failures, KPIs, price moves, notes."""
    from mayavi.scenarios.figures.formatting import shown, title_of
    from mayavi.scenarios.figures.notes import NOTED

    lines = [f"{plural(run.steps, 'step')}, {describe_agents(config)}, {describe_transactions(run)}"]
    if raised := int(run.kpis.get("raised", 0)):
        agents = ", ".join(sorted(run.highlights.raised)[:REASONS_SHOWN]) if run.highlights else ""
        lines.append(
            f"agent code raised {plural(raised, 'time')} ({agents}); `mayavi runs show {run.run_id}` says where"
        )
    facts, covered = lending_facts(run)
    moves, named = price_facts(run)
    covered |= named | IN_FIRST_LINE | {name for name in run.kpis if name.partition(".")[0] in NOTED}
    facts += [
        (title_of(row.name), shown(row, run.chain))
        for row in run.kpis.rows()
        if row.name not in covered and (row.number or row.name in SHOWN_IF_ZERO)
    ]
    facts += moves
    width = max((len(name) for name, _ in facts), default=0)
    return lines + [f"{name.ljust(width)}  {value}" for name, value in facts] + [f"note: {each}" for each in run.notes]


def lending_facts(run: Run) -> tuple[Facts, set[str]]:
    """Return liquidated value and bad debt, and the names of the KPIs they cover."""
    from mayavi.scenarios.figures.formatting import shown

    kpis = run.kpis
    if not {"liquidated", "liquidated_accounts", "bad_debt", "bad_debt_accounts"} <= set(kpis):
        return [], set()
    liquidated, bad = shown(kpis.exact("liquidated")), shown(kpis.exact("bad_debt"))
    if accounts := int(kpis["liquidated_accounts"]):
        liquidated += f" of debt in {plural(accounts, 'account')}"
    if accounts := int(kpis["bad_debt_accounts"]):
        bad += f" in {plural(accounts, 'account')}"
    if kpis.get("deficit"):
        burnt = kpis.exact("deficit")
        part = "all" if burnt.value == kpis.exact("bad_debt").value else shown(burnt)
        bad += f", {part} of it burnt as Aave's deficit"
    names = {
        "liquidated",
        "liquidated_accounts",
        "liquidations",
        "liquidations_failed",
        "bad_debt",
        "bad_debt_accounts",
        "deficit",
    }
    return [("liquidated", liquidated), ("bad debt", bad)], names


def price_facts(run: Run) -> tuple[Facts, set[str]]:
    """Return price moves, `WETH/USDC.500: 2,562.92 → 1,873.41 (oracle −25.0 %, pool −26.9 %)`, and their KPIs."""
    from mayavi.scenarios.figures.formatting import percent, plain

    facts: Facts = []
    names: set[str] = set()
    for name, number in run.kpis.items():
        kind, _, of = name.partition(".")
        if kind not in {*POOL_MOVES, "oracle_change"} or run.highlights is None:
            continue
        names.add(name)
        token = of.partition("/")[0]
        oracle = run.kpis.get(f"oracle_change.{token}")
        if kind == "oracle_change" and any(
            f".{token}/" in f".{each}" for each in run.kpis if each.startswith(POOL_MOVES)
        ):
            continue  # shown with the pool
        ends = run.highlights.prices(f"UniswapV3.{of}" if kind in POOL_MOVES else None, token)
        changes = [f"oracle {percent(oracle, sign=True)}"] if oracle is not None else []
        changes += [f"pool {percent(number, sign=True)}"] if kind in POOL_MOVES else []
        if ends and any((oracle, number)):
            facts.append((of, f"{plain(ends[0])} → {plain(ends[1])} ({', '.join(changes)})"))
    return facts, names


def describe_agents(config: ScenarioConfig) -> str:
    """Count the agents: `100 borrowers, 2 liquidators`."""
    counts = {name: getattr(agent, "count", 1) for name, agent in config.agents.items()}
    return ", ".join(f"{count:,} {name}" if count != 1 else name for name, count in counts.items())


def describe_transactions(run: Run) -> str:
    """Count transactions, failures and decisions by reason: `1,204 transactions (37 actions failed: 31 × …, 6 × …)`."""
    text = plural(int(run.kpis.get("transactions", 0)), "transaction")
    if run.highlights is None:
        return text
    parts = [
        f"{plural(count, 'action')} {what}: {_by_reason(reasons)}"
        for what, reasons in (("failed", run.highlights.failures), ("declined", run.highlights.declined))
        if (count := sum(reasons.values()))
    ]
    return f"{text} ({'; '.join(parts)})" if parts else text


def _by_reason(counts: Mapping[str, int]) -> str:
    from collections import Counter

    reasons: Counter[str] = Counter()
    for reason, count in counts.items():
        reasons[short_reason(reason)] += count
    parts = [f"{count:,} × {reason}" for reason, count in reasons.most_common(REASONS_SHOWN)]
    if len(reasons) > REASONS_SHOWN:
        others = reasons.total() - sum(count for _, count in reasons.most_common(REASONS_SHOWN))
        parts.append(f"{others:,} others")
    return ", ".join(parts)


def short_reason(reason: str, limit: int = 100) -> str:
    """Shorten a failure reason to its first line, without the contract and the explanation of an error name."""
    line = reason.partition("\n")[0]
    line = line.partition(" reverted: ")[2] or line
    name, colon, _ = line.partition(": ")
    line = name if colon and name.split()[-1].isupper() else line
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def last_line(run: Run) -> str:
    """Return the digest, the time, and the next command."""
    identity = f"digest {run.digest[:4]}…{run.digest[-4:]} · {run.timings.get('total', 0.0):.1f} s"
    if run.highlights and run.highlights.first_liquidated:
        account = run.highlights.first_liquidated
        return f"{identity} · `mayavi runs explain {run.run_id} --agent {account}` shows why it was liquidated"
    return f"{identity} · `mayavi runs show {run.run_id}` shows more"


def plural(count: int, what: str) -> str:
    """Return `1 step`, `48 steps`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"

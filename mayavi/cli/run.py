"""`mayavi run`: a scenario, once, and what came of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.output import is_styled, print_json, print_note
from mayavi.cli.position import block_of
from mayavi.cli.progress import activity, counted

if TYPE_CHECKING:
    from mayavi.scenarios.models.config import ScenarioConfig
    from mayavi.scenarios.run.results import Run
    from mayavi.worlds.source import WorldSource

COUNTED = {"actions", "failed", "raised", "transactions", "gas_used", "fees_wei"}
"""Figures that the first line tells."""
TOLD_EVEN_IF_ZERO = {"largest_difference_from_record"}
"""Where nothing is the news."""
POOL_MOVES = ("price_impact", "pool_change")
"""The figures that tell where a pool went."""
REASONS_SHOWN = 3

ScenarioName = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="A name of `mayavi scenarios list`, or the path of a YAML file.")
]
ChainOption = Annotated[str | None, typer.Option("--chain", help="The chain; by default the one the scenario names.")]
StepsOption = Annotated[int | None, typer.Option("--steps", help="How many steps; by default as the scenario says.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="A.B=C", help="Change a value of the scenario; may be given again.")
]
SourceOption = Annotated[
    str | None, typer.Option("--source", metavar="replica|rpc|snapshot", help="Where the world comes from.")
]
SnapshotOption = Annotated[
    Path | None, typer.Option("--snapshot", metavar="FILE", help="Start from this snapshot file.")
]
RpcUrlOption = Annotated[
    str | None, typer.Option("--rpc-url", metavar="URL", help="The node to read from; by default MAYAVI_RPC_URL.")
]
BlockOption = Annotated[
    str | None, typer.Option("--block", metavar="N", help="With a node: a number, a block hash or `latest`.")
]
StoreOption = Annotated[
    Path | None, typer.Option("--store", metavar="FILE", help="The database of runs; by default data/runs/runs.duckdb.")
]


def run(
    scenario: ScenarioName,
    chain: ChainOption = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="What chance depends on: the same seed, the same run.")
    ] = None,
    steps: StepsOption = None,
    overrides: SetOption = None,
    source: SourceOption = None,
    snapshot: SnapshotOption = None,
    rpc_url: RpcUrlOption = None,
    block: BlockOption = None,
    store: StoreOption = None,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Threads of the kernel; changes the time it takes, no result.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run a scenario and keep every action in the database of runs.

    The same scenario, seed and world give the same rows, bit for bit: the digest at the end identifies them.
    """
    from mayavi.scenarios.loading import load_scenario
    from mayavi.scenarios.run.run import check_threads, halted, run_scenario
    from mayavi.sim.store import new_run_id, store_path
    from mayavi.sim.world_state import checked_seed
    from mayavi.worlds.source import WorldSource

    check_threads(threads)
    chosen = load_scenario(scenario, chain=chain, steps=steps, overrides=overrides or ())
    world = WorldSource.of(source, chain=chosen.config.chain, snapshot=snapshot, rpc_url=rpc_url, block=block_of(block))
    used_seed = checked_seed(chosen.config.seed if seed is None else seed)
    run_id = new_run_id()
    place = store_path(store)
    heading = f"{chosen.name} · {chosen.config.chain} · seed {used_seed} · run {run_id}"

    def begun() -> None:
        # As soon as there is such a run, so that whoever interrupts it knows what was interrupted.
        print(heading, file=sys.stderr if as_json else sys.stdout, flush=True)

    open_shown(world)
    with counted(f"running {chosen.name}", "steps", eta=True) as advance:
        done = run_scenario(
            chosen, world, seed=used_seed, store=place, threads=threads, run_id=run_id, progress=advance, built=begun
        )
    if as_json:
        print_json(document(done))
    elif done.status != "halted":
        for line in told(done, chosen.config):
            print(f"  {line}")
        print_note(f"  {last_line(done)}")
    if done.status == "halted":
        raise halted(done)


def open_shown(world: WorldSource) -> None:
    """Open `world` for the first time, and show what that takes: a replica that is not built yet is built."""
    if world.kind != "replica":
        with activity("opening the world"):
            world.open()
        return
    what = f"building the replica of {world.chain}"
    with counted(what, "steps") as advance:
        said = is_styled(sys.stderr)  # the bar says it

        def progress(_: str, done: int, total: int) -> None:
            nonlocal said
            if not said:
                print(f"{what}, {total:,} steps; it is kept for the next time …", file=sys.stderr, flush=True)
                said = True
            advance(done, total)

        world.open(progress)


def document(run: Run) -> dict[str, object]:
    """A run for programs."""
    return {
        "run_id": run.run_id,
        "scenario": run.scenario,
        "chain": run.chain,
        "seed": str(run.seed),
        "steps": run.steps,
        "status": run.status,
        "digest": run.digest,
        "kpis": {row.name: {"value": row.value, "number": row.number, "unit": row.unit} for row in run.kpis.rows()},
        "notes": run.notes,
        "timings": dict(run.timings),
        "store": str(run.store_path),
        "error": run.error,
    }


def told(run: Run, config: ScenarioConfig) -> list[str]:
    """What one wants to know of a run: how much happened, what failed, its figures, where prices went."""
    from mayavi.scenarios.run.figures import shown, title_of
    from mayavi.scenarios.run.notes import NOTED

    lines = [f"{plural(run.steps, 'step')}, {agents_of(config)}, {happened(run)}"]
    if raised := int(run.kpis.get("raised", 0)):
        who = ", ".join(sorted(run.headlines.raised)[:REASONS_SHOWN]) if run.headlines else ""
        lines.append(f"{plural(raised, 'time')} the code of an agent broke ({who}); `mayavi runs explain` shows where")
    facts, told_of = lending(run)
    moves, named = prices(run)
    told_of |= named | COUNTED | {name for name in run.kpis if name.partition(".")[0] in NOTED}
    facts += [
        (title_of(row.name), shown(row, run.chain))
        for row in run.kpis.rows()
        if row.name not in told_of and (row.number or row.name in TOLD_EVEN_IF_ZERO)
    ]
    facts += moves
    width = max((len(name) for name, _ in facts), default=0)
    return lines + [f"{name.ljust(width)}  {value}" for name, value in facts] + [f"note: {each}" for each in run.notes]


def lending(run: Run) -> tuple[list[tuple[str, str]], set[str]]:
    """What was liquidated and what went bad, and which figures that tells."""
    from mayavi.scenarios.run.figures import shown

    kpis = run.kpis
    if not {"liquidated", "liquidated_accounts", "bad_debt", "bad_debt_accounts"} <= set(kpis):
        return [], set()
    liquidated, bad = shown(kpis.exact("liquidated")), shown(kpis.exact("bad_debt"))
    if accounts := int(kpis["liquidated_accounts"]):
        liquidated += f" of debt in {plural(accounts, 'account')}"
    if accounts := int(kpis["bad_debt_accounts"]):
        bad += f" in {plural(accounts, 'account')}"
    names = {
        "liquidated",
        "liquidated_accounts",
        "liquidations",
        "liquidations_failed",
        "bad_debt",
        "bad_debt_accounts",
    }
    return [("liquidated", liquidated), ("bad debt", bad)], names


def plural(count: int, what: str) -> str:
    """`1 step`, `48 steps`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def agents_of(config: ScenarioConfig) -> str:
    """Who acts: `100 borrowers, 2 liquidators`."""
    counts = {name: getattr(agent, "count", 1) for name, agent in config.agents.items()}
    return ", ".join(f"{count:,} {name}" if count != 1 else name for name, count in counts.items())


def happened(run: Run) -> str:
    """The transactions, and why some failed: `1,204 transactions (37 actions failed: 31 × …, 6 × …)`."""
    text, failed = plural(int(run.kpis.get("transactions", 0)), "transaction"), int(run.kpis.get("failed", 0))
    if not failed or run.headlines is None:
        return text
    from collections import Counter

    reasons: Counter[str] = Counter()
    for reason, count in run.headlines.failures.items():
        reasons[short(reason)] += count
    shown = [f"{count:,} × {reason}" for reason, count in reasons.most_common(REASONS_SHOWN)]
    if len(reasons) > REASONS_SHOWN:
        shown.append(f"{failed - sum(count for _, count in reasons.most_common(REASONS_SHOWN)):,} others")
    return f"{text} ({plural(failed, 'action')} failed: {', '.join(shown)})"


def short(reason: str, limit: int = 60) -> str:
    """The gist of a reason: its first line, without the place in front and what is explained behind a name."""
    line = reason.partition("\n")[0]
    line = line.partition(" reverted: ")[2] or line
    name, colon, _ = line.partition(": ")
    line = name if colon and name.split()[-1].isupper() else line
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def prices(run: Run) -> tuple[list[tuple[str, str]], set[str]]:
    """Where prices went, `WETH/USDC.500: 2,562.92 → 1,873.41 (oracle −25.0 %, pool −26.9 %)`, and what that tells."""
    from mayavi.scenarios.run.figures import percent, plain

    lines: list[tuple[str, str]] = []
    names: set[str] = set()
    for name, number in run.kpis.items():
        kind, _, of = name.partition(".")
        if kind not in {"price_impact", "pool_change", "oracle_change"} or run.headlines is None:
            continue
        names.add(name)
        token = of.partition("/")[0]
        oracle = run.kpis.get(f"oracle_change.{token}")
        if kind == "oracle_change" and any(
            f".{token}/" in f".{each}" for each in run.kpis if each.startswith(POOL_MOVES)
        ):
            continue  # told with the pool
        subject = f"UniswapV3.{of}" if kind in POOL_MOVES else None
        ends = run.headlines.prices(subject, token)
        changes = [f"oracle {percent(oracle, sign=True)}"] if oracle is not None else []
        changes += [f"pool {percent(number, sign=True)}"] if kind in POOL_MOVES else []
        if ends and any((oracle, number)):
            lines.append((of, f"{plain(ends[0])} → {plain(ends[1])} ({', '.join(changes)})"))
    return lines, names


def last_line(run: Run) -> str:
    """The digest, the time, and what to do next with the run."""
    identity = f"digest {run.digest[:4]}…{run.digest[-4:]} · {run.timings.get('total', 0.0):.1f} s"
    if run.headlines and run.headlines.liquidated:
        who = run.headlines.liquidated
        return f"{identity} · `mayavi runs explain {run.run_id} --agent {who}` tells why it was liquidated"
    return f"{identity} · `mayavi runs show {run.run_id}` tells more"

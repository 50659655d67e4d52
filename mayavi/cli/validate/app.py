"""`mayavi validate`: check EVM and protocols against real chain data, and runs for determinism."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.group import command_group
from mayavi.cli.console.output import Column, print_json, print_table
from mayavi.cli.console.progress import counted
from mayavi.cli.position import block_of
from mayavi.cli.run import (
    BlockOption,
    ChainOption,
    RpcUrlOption,
    ScenarioName,
    SetOption,
    SnapshotOption,
    SourceOption,
    StepsOption,
)
from mayavi.cli.validate.gates import add_gate_commands
from mayavi.cli.validate.witness import witness

if TYPE_CHECKING:
    from mayavi.replay.blocks import BlockReport, Report
    from mayavi.replay.quotes import QuotesReport
    from mayavi.scenarios.run.determinism import DeterminismReport

app = command_group("Check against real chain data, and for determinism.")
app.command("witness", short_help="Prove pre-states, execute blocks and compare state roots.")(witness)


@app.command("blocks", short_help="Re-execute mainnet blocks and compare receipts.")
def blocks(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of cases: one sub-folder per block number.")],
    only: Annotated[list[int] | None, typer.Option("--block", help="Only this block; may be repeated.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Re-execute complete mainnet blocks and compare every receipt with the chain's.

    Per transaction: status, gas used, logs. Per block: gas used, logs bloom, receipts root. The first difference of
    each block is printed. Exit code 1 if anything differs.
    """
    from mayavi.replay.blocks import validate

    wanted = list(dict.fromkeys(only)) if only else None  # a block named twice is still one block
    with counted("replaying", "blocks") as advance:
        report = validate(folder, only=wanted, progress=lambda _, done, total: advance(done, total))
    if as_json:
        print_json(report.to_json())
    else:
        print_report(report)
    if not report.exact:
        raise typer.Exit(1)


def print_report(report: Report) -> None:
    """Print one row per block, then differences, then totals."""
    columns = [
        Column("block"),
        Column("hard fork", right=False),
        Column("transactions"),
        Column("exact"),
        Column("gas"),
        Column("result", right=False, style="bold"),
    ]
    print_table(columns, [cells(block) for block in report.blocks])
    print()
    for block in report.blocks:
        if block.first_difference:
            print(f"block {block.number}, {block.first_difference}")
    partly = sum(block.partly for block in report.blocks)
    if partly:
        share = f"in {partly} of {len(report.blocks)} blocks"
        print(f"{share} the pre-state allows withdrawals or system calls only in part; --json lists them")
    totals = report.to_json()
    print(f"{totals['exact_blocks']} of {totals['blocks']} blocks exact")
    print(
        f"{totals['exact_transactions']:,} of {totals['transactions']:,} transactions exact, {totals['gas_used']:,} gas"
    )


def cells(block: BlockReport) -> list[str]:
    """Table row of a block."""
    return [
        str(block.number),
        block.hardfork,
        f"{block.transactions:,}",
        f"{block.exact_transactions:,}",
        f"{block.gas_used:,}",
        "exact" if block.exact else "differs",
    ]


@app.command("quotes", short_help="Rebuild recorded pools and compare their quotes.")
def quotes(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of recorded pools and quotes, as JSON.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Rebuild recorded pools and compare their quotes with the chain's.

    Uniswap V3 pools are rebuilt from their tick map on Uniswap's own code, Curve pools on ours. Exit code 1 if any
    quote differs.
    """
    from mayavi.replay.quotes import validate_quotes

    with counted("asking", "pools") as advance:
        report = validate_quotes(folder, progress=advance)
    if as_json:
        print_json(report.to_json())
    else:
        print_quotes(report)
    if not report.exact:
        raise typer.Exit(1)


def print_quotes(report: QuotesReport) -> None:
    """Print one row per pool, then differences, then totals."""
    columns = [Column("pool", right=False), Column("protocol", right=False), Column("block"), Column("quotes")]
    columns += [Column("exact"), Column("result", right=False, style="bold")]
    print_table(
        columns,
        [
            (
                pool.name,
                pool.protocol,
                str(pool.block),
                str(pool.quotes),
                str(pool.exact_quotes),
                "exact" if pool.exact else "differs",
            )
            for pool in report.pools
        ],
    )
    print()
    for pool in report.pools:
        if not pool.exact:
            print(f"{pool.name} at block {pool.block}, {pool.problem or pool.first_difference}")
    totals = report.to_json()
    print(f"{totals['exact_quotes']} of {totals['quotes']} quotes exact")


@app.command("determinism")
def determinism(
    scenario: ScenarioName,
    chain: ChainOption = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed; by default the scenario's own.")] = None,
    steps: StepsOption = None,
    overrides: SetOption = None,
    source: SourceOption = None,
    snapshot: SnapshotOption = None,
    rpc_url: RpcUrlOption = None,
    block: BlockOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Run a scenario in different ways and compare digests.

    A second run, two threads, agents in reverse order and another process must give the same rows and final world.
    Another seed must give other rows if the scenario draws anything. An agent that raises stops the check. Nothing is
    stored. Exit code 1 if a comparison fails.
    """
    from mayavi.scenarios.loading import load_scenario
    from mayavi.scenarios.models.world import WorldOptions
    from mayavi.scenarios.run.determinism import check_determinism
    from mayavi.sim.world_state import checked_seed

    options = WorldOptions(source, snapshot, rpc_url, block_of(block))
    chosen = load_scenario(scenario, chain=chain, steps=steps, overrides=overrides or (), world=options)
    used_seed = checked_seed(chosen.config.seed if seed is None else seed)
    with counted(f"running {chosen.name}", "runs", eta=True) as advance:
        report = check_determinism(chosen, chosen.world(rpc_url), used_seed, progress=advance)
    if as_json:
        print_json(report.to_json())
    else:
        print_determinism(report)
    if not report.passed:
        raise typer.Exit(1)


def print_determinism(report: DeterminismReport) -> None:
    """Print one row per comparison, then what differs."""
    print(f"{report.scenario} · {report.chain} · seed {report.seed} · digest {report.digest[:16]}…\n")
    columns = [Column("run", right=False), Column("digest", right=False), Column("must be", right=False)]
    columns += [Column("result", right=False, style="bold")]
    print_table(
        columns,
        [
            (
                each.name,
                f"{each.digest[:16]}…",
                each.expected,
                "as expected" if each.passed else "UNEXPECTED",
            )
            for each in report.comparisons
        ],
    )
    print()
    for each in report.comparisons:
        if not each.passed:
            print(f"{each.name}: {each.difference}")
    if not report.seed_matters:
        print("all seeds give the same result: this scenario has no randomness")
    print("deterministic" if report.passed else "not deterministic")


add_gate_commands(app)

"""`mayavi validate` without a gate, and the gates that have no command file of their own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.output import Column, print_json, print_table
from mayavi.cli.console.progress import counted
from mayavi.cli.doctor import IS_CHECKOUT, ROOT
from mayavi.cli.position import block_of
from mayavi.cli.run import BlockOption, RpcUrlOption, SnapshotOption
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.validation.gate import Gate, GateContext
    from mayavi.validation.run import GateResult, ValidationReport

OFF = {"", "0", "false", "no", "off"}

CasesOption = Annotated[
    Path | None,
    typer.Option("--cases", metavar="DIR", help="Recorded chain data; by default MAYAVI_CASES, else ../shared."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]


def add_gate_commands(app: typer.Typer) -> None:
    """Add the command that runs every gate, and one command for each gate of this file."""
    summary = "Check against real chain data, and for determinism; without a gate, run all of them."
    app.callback(invoke_without_command=True, no_args_is_help=False, help=summary)(validate)
    app.command("official", short_help="Play the official Ethereum tests.")(official)
    app.command("quoter", short_help="Compare quotes with executed trades.")(quoter)
    app.command("contracts", short_help="Compare our contracts with mainnet's bytecode.")(contracts)
    app.command("cache", short_help="Compare cached state with what it must hold.")(cache)
    app.command("envs", short_help="Check every environment.")(envs)
    app.command("artifacts", short_help="Write, verify and damage bundles.")(artifacts)


def validate(
    context: typer.Context,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="GATE", help="Only this gate, with its data; repeatable."),
    ] = None,
    cases: CasesOption = None,
    require_all: Annotated[
        bool, typer.Option("--require-all", help="Fail if a gate lacks its data (also MAYAVI_REQUIRE_CASES=1).")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run every gate and print one table; exit code 1 if a gate failed."""
    if context.invoked_subcommand is not None:
        if only or cases or require_all or as_json:
            raise UsageError(
                "options of `mayavi validate` stand before a gate",
                f"write them after it: `mayavi validate {context.invoked_subcommand} …`",
            )
        return
    from mayavi.validation.registry import GATES, gate
    from mayavi.validation.run import ValidationReport, run_gate

    chosen = [gate(name) for name in dict.fromkeys(only or GATES)]
    # Who names a gate wants it checked.
    required = bool(only) or require_all or os.environ.get("MAYAVI_REQUIRE_CASES", "").strip().lower() not in OFF
    data = _context(cases_folder(cases))
    results = []
    for each in chosen:
        with counted(f"gate {each.name}", "cases", eta=True) as advance:
            results.append(run_gate(each, data, require=required, progress=advance))
    report = ValidationReport(tuple(results))
    if as_json:
        print_json({"cases": None if data.cases is None else str(data.cases), **report.to_json()})
    else:
        print_report(report)
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def print_report(report: ValidationReport) -> None:
    """Print one row for each gate, then first differences and reasons, then the totals and the exit code."""
    columns = [Column("gate", right=False), Column("compared", right=False), Column("cases"), Column("seconds")]
    columns += [Column("verdict", right=False, style="bold")]
    print_table(
        columns,
        [
            (each.name, each.report.compared, f"{each.report.cases:,}", f"{each.seconds:.1f}", each.report.verdict)
            for each in report.results
        ],
    )
    print()
    for each in report.results:
        _print_findings(each)
    counts = ", ".join(f"{report.count(verdict)} {verdict}" for verdict in ("passed", "failed", "skipped"))
    gates = "1 gate" if len(report.results) == 1 else f"{len(report.results)} gates"
    print(f"{gates}: {counts}; exit code {report.exit_code}")


def _print_findings(result: GateResult) -> None:
    report = result.report
    if report.first_difference:
        print(f"{result.name}, first difference: {report.first_difference}")
    elif report.reason:
        word = "skipped" if report.verdict == "skipped" else "not checked"
        print(f"{result.name} {word}: {report.reason}")
    for note in report.notes:
        print(f"{result.name}: {note}")


def _context(cases: Path | None = None) -> GateContext:
    from mayavi.validation.gate import GateContext

    return GateContext(cases=cases)


def cases_folder(given: Path | None) -> Path | None:
    """Return the folder of recorded chain data: `given`, MAYAVI_CASES, `shared` beside a checkout, or None."""
    if given is not None:
        if not given.is_dir():
            raise UsageError(f"'{given}' is not a folder", "give the folder of recorded chain data, around mainnet/")
        return given
    named = os.environ.get("MAYAVI_CASES", "").strip()
    if named:
        folder = Path(named).expanduser()
        if not folder.is_dir():
            raise UsageError(f"MAYAVI_CASES names '{named}', and there is no such folder", "unset or correct it")
        return folder
    folder = ROOT.parent / "shared" if IS_CHECKOUT else Path("..") / "shared"
    return folder if folder.is_dir() else None


def _run_one(gate: Gate, context: GateContext, as_json: bool) -> None:
    """Run one gate as a command of its own: its parts, its findings, its verdict."""
    from mayavi.errors import SetupError
    from mayavi.validation.gate import GateReport, GateSkipped
    from mayavi.validation.run import GateResult

    with counted(f"gate {gate.name}", "cases", eta=True) as advance:
        try:
            report = gate.run(context, advance)
        except (GateSkipped, SetupError) as error:
            reason = f"{error}; {error.hint}" if error.hint else str(error)
            report = GateReport("failed", gate.what, reason=reason)
    if report.verdict == "skipped":
        report = replace(report, verdict="failed")  # who names a gate wants it checked
    if as_json:
        print_json({"gate": gate.name, **report.to_json()})
    else:
        _print_parts(report.parts)
        _print_findings(GateResult(gate.name, report, 0.0))
        print(f"{report.cases:,} cases: {report.verdict}")
    if report.verdict == "failed":
        raise typer.Exit(1)


def _print_parts(parts: dict[str, int]) -> None:
    if parts:
        rows = [(part, f"{cases:,}") for part, cases in parts.items()]
        print_table([Column("part", right=False), Column("cases")], rows)
        print()


def quoter(
    chain: Annotated[
        list[str] | None, typer.Option("--chain", metavar="CHAIN", help="A replica; repeatable. By default all.")
    ] = None,
    snapshot: SnapshotOption = None,
    rpc_url: RpcUrlOption = None,
    block: BlockOption = None,
    pool: Annotated[
        list[str] | None,
        typer.Option("--pool", metavar="POOL", help="Label or address of a pool; repeatable. By default all."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare quotes with executed trades on every Uniswap V3 and Curve pool of a world.

    Both directions, exact input and exact output, from one unit to beyond the liquidity. Without options: all replicas,
    and pools of one tick, without liquidity and at extreme prices. Exit code 1 if any quote differs.
    """
    from mayavi.validation.gates.quoter import QuoterGate
    from mayavi.worlds.source import WorldSource

    if snapshot is not None or rpc_url is not None or block is not None:
        if len(chain or ()) > 1:
            raise UsageError("one world has one chain", "give --chain once")
        kind = None if snapshot is not None else "rpc"
        name = chain[0] if chain else None
        sources: Sequence[WorldSource] = [
            WorldSource.of(kind, chain=name, snapshot=snapshot, rpc_url=rpc_url, block=block_of(block))
        ]
    else:
        from mayavi.errors import UnknownName
        from mayavi.worlds import world_names

        for each in chain or ():
            if each not in world_names():
                raise UnknownName.of("chain", each, world_names(), "`mayavi world list` shows the replicas")
        sources = [WorldSource("replica", each) for each in dict.fromkeys(chain or ())]
    _run_one(QuoterGate(sources, pool or ()), _context(), as_json)


def contracts(
    cases: CasesOption = None,
    operations: Annotated[int, typer.Option("--operations", min=1, help="Random operations on each contract.")] = 250,
    as_json: JsonOption = False,
) -> None:
    """Run our own contracts beside mainnet's bytecode and compare everything visible.

    Curve's 3pool, Compound's cUSDCv3, WETH, USDC, DAI, USDT and a Chainlink feed; and Uniswap's code from npm, byte for
    byte. Exit code 1 if anything differs.
    """
    from mayavi.validation.gates.contracts import ContractsGate

    _run_one(ContractsGate(operations), _context(cases_folder(cases)), as_json)


def cache(
    snapshot: Annotated[
        list[Path] | None, typer.Option("--snapshot", metavar="FILE", help="Check this snapshot too; repeatable.")
    ] = None,
    cache_dir: Annotated[
        Path | None,
        typer.Option("--cache-dir", metavar="DIR", help="Folder of the caches; by default MAYAVI_CACHE_DIR."),
    ] = None,
    rpc_url: Annotated[
        str | None, typer.Option("--rpc-url", metavar="URL", help="Compare every cached word with this node.")
    ] = None,
    cases: CasesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare cached replicas, cached answers of nodes and snapshots with what they must hold.

    A replica is built again and compared word by word. Cached answers are checked against their checksums, block hashes
    and known storage. The first poisoned entry is named with address and slot; exit code 1 if there is one.
    """
    from mayavi.validation.gate import GateContext
    from mayavi.validation.gates.cache import CacheGate

    for path in snapshot or ():
        if not path.is_file():
            raise UsageError(f"there is no snapshot at '{path}'", "`mayavi world build --output FILE` writes one")
    if cache_dir is not None and not cache_dir.is_dir():
        raise UsageError(f"'{cache_dir}' is not a folder", "give the folder that holds replicas/ or rpc.sqlite3")
    _run_one(CacheGate(snapshot or (), rpc_url), GateContext(cases_folder(cases), cache_dir), as_json)


def official(
    cases: CasesOption = None,
    only: Annotated[
        str, typer.Option("--test", metavar="TEXT", help="Only files whose name has this text, such as stCreate2/.")
    ] = "",
    jobs: Annotated[
        int | None, typer.Option("--jobs", metavar="N", help="Worker processes; by default one for each core.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Play the official blockchain tests, and execute the state tests by the interpreter and by recorded paths.

    The tests are in the folder ethereum-tests of the cases, packed as tests.tar.xz or unpacked; --cases may also name
    that folder itself. Nothing is written there. Exit code 1 if anything differs, cannot be read or is missing.
    """
    from mayavi.parallel.cores import available_cores
    from mayavi.parallel.processes import check_jobs
    from mayavi.validation.gates.official import OfficialGate

    chosen = check_jobs(available_cores() if jobs is None else jobs)
    _run_one(OfficialGate(every=1, only=only, jobs=chosen), _context(cases_folder(cases)), as_json)


def envs(
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="ENV", help="An environment; repeatable. By default all.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run the checkers of Gymnasium and Stable-Baselines3 on every environment, and repeat a seeded episode.

    Environments of several agents are checked by the rules of RLlib. Exit code 1 if a check objects.
    """
    from mayavi.validation.gates.envs import EnvsGate

    _run_one(EnvsGate(env or ()), _context(), as_json)


def artifacts(cases: CasesOption = None, as_json: JsonOption = False) -> None:
    """Write bundles of a small run, a scan and a training to a temporary folder, verify them, and change single bytes.

    The scan needs a recorded block, the training the extra `rl`; without them a note says what was not compared.
    Nothing is stored. Exit code 1 if a repetition differs or a changed byte is not noticed.
    """
    from mayavi.validation.gates.artifacts import ArtifactsGate

    _run_one(ArtifactsGate(), _context(cases_folder(cases)), as_json)

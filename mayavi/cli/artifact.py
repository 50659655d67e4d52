"""`mayavi artifact`: write a run, a training or a scan to one file, and verify such a file by repeating it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayavi.cli.console.group import command_group
from mayavi.cli.console.output import Column, print_json, print_note, print_table
from mayavi.cli.console.progress import activity, counted, in_parts
from mayavi.cli.rl.options import ModelsOption
from mayavi.cli.runs.app import RunArgument, StoreOption
from mayavi.errors import UnknownRun, UsageError

if TYPE_CHECKING:
    from mayavi.rl.models import Model
    from mayavi.runs.bundle import Bundle, Check
    from mayavi.sim.store import RunRecord
    from mayavi.sim.store.artifact import BundledRun, Outcome
    from mayavi.worlds.source import WorldSource


SCAN = "scan-"
ALLOW_HINT = "read that code first; --allow-import-paths then runs the one of this folder or of an installed package"

app = command_group("Write a run, a training or a scan to a bundle, or verify one.", default="write")


@app.command("write", short_help="Write a run, a training or a scan to a bundle.")
def write(
    run: RunArgument,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Output file; by default NAME-RUN_ID.zip here."),
    ] = None,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Add the report as an HTML page.")] = True,
    store: StoreOption = None,
    models: ModelsOption = None,
    cases: Annotated[
        Path | None,
        typer.Option("--cases", metavar="DIR", help="For a scan of `mayavi replay history`: the folder of its cases."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a run to a bundle: its rows as Parquet, the scenario, its report, its versions, and a manifest of hashes.

    The bytes depend only on the run's rows and versions: the same run gives the same file. A training run becomes a
    bundle of its configuration, the evaluated checkpoints, and the evaluations. A scan becomes a bundle of its rows and
    of a case for every executed block. A run that was built in Python has no scenario to run it again from, and is
    refused.
    """
    from mayavi.sim.store import Store
    from mayavi.sim.store.artifact import write_artifact

    if run.startswith(SCAN):
        _write_scan(run, output, store, cases, as_json)
        return
    if cases is not None:
        raise UsageError(f"'{run}' is not a scan, and --cases is for scans", f"the ids of scans begin with {SCAN}")
    database = Store(store)
    if models is not None:
        _write_training(_training(run, models), output, report, as_json)
        return
    try:
        found = database.run(run)
    except UnknownRun as unknown:
        try:
            training = _training(run, None)
        except UnknownRun as untrained:
            hint = f"of scenarios: {unknown.hint}\nof trainings: {untrained.hint}"
            raise UnknownRun(unknown.message, hint) from None
        _write_training(training, output, report, as_json)
        return
    _check_scenario(found)
    path = _place(output or Path(f"{found.scenario}-{found.run_id}.zip"))
    with activity(f"bundling {found.run_id}"):
        digest = write_artifact(database, found.run_id, path, _run_report() if report else None)
    _print_bundle(found.run_id, path, digest, {"digest": found.digest}, as_json)


def _write_scan(scan_id: str, output: Path | None, store: Path | None, cases: Path | None, as_json: bool) -> None:
    from mayavi.cli.replay.history import history_path
    from mayavi.replay.history.scan_bundle import write_scan
    from mayavi.replay.history.store import HistoryStore

    if cases is None:
        raise UsageError("a scan needs the cases of its blocks", "name the folder that --cases of the scan named")
    if not cases.is_dir():
        raise UsageError(f"there is no folder '{cases}'", "name the folder that --cases of the scan named")
    database = history_path(store)
    if not database.is_file():
        raise UsageError(f"there is no database '{database}'", "name that of the scan with --store")
    path = _place(output or Path(f"{scan_id}.zip"))
    with activity(f"bundling {scan_id}"), HistoryStore(database) as history:
        digest = write_scan(history, history.find(scan_id), cases, path)
    _print_bundle(scan_id, path, digest, {"kind": "scan"}, as_json)


def _check_scenario(run: RunRecord) -> None:
    """Raise `UsageError` if the run's scenario cannot be loaded, so that its bundle could not be verified."""
    from mayavi.scenarios.loading import load_text
    from mayavi.sim.store.artifact import require_scenario

    require_scenario(run.scenario_text, f"run '{run.run_id}'")
    try:
        load_text(run.scenario_text, origin=f"scenario of run '{run.run_id}'")
    except UsageError as error:
        message = f"run '{run.run_id}' cannot be run again from its scenario, so that nobody could verify its bundle"
        raise UsageError(f"{message}: {error.message}", error.hint) from error


def _training(named: str, models: Path | None) -> Model:
    from mayavi.rl.models import Model
    from mayavi.rl.training_runs.folder import find_run, models_path

    return Model(find_run(named, models_path(models)))


def _run_report() -> Any:
    from mayavi.report.bundled import run_report

    return run_report


def _evaluation_report() -> Any:
    from mayavi.report.bundled import evaluation_report

    return evaluation_report


def _write_training(model: Model, output: Path | None, report: bool, as_json: bool) -> None:
    from mayavi.rl.evaluation.bundle import write_training

    path = _place(output or Path(f"{model.env_name}-{model.config.algorithm}-{model.run_id}.zip"))
    with activity(f"bundling {model.run_id}"):
        digest = write_training(model, path, _evaluation_report() if report else None)
    _print_bundle(model.run_id, path, digest, {"kind": "training"}, as_json)


def _place(path: Path) -> Path:
    if path.is_dir():
        raise UsageError(f"'{path}' is a folder", "name a file in it")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder '{path.absolute().parent}'", "create it, or name another place")
    return path


def _print_bundle(run_id: str, path: Path, digest: str, more: dict[str, Any], as_json: bool) -> None:
    if as_json:
        size = path.stat().st_size
        print_json({"run_id": run_id, "bundle": str(path), "bytes": size, "sha256": digest, **more})
        return
    print(f"{path}, {path.stat().st_size:,} bytes, sha256 {digest}")
    print_note(f"`mayavi artifact verify {path}` runs it again and compares")


@app.command("verify", short_help="Verify a bundle: hashes, and the run again.")
def verify(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A file that `mayavi artifact RUN_ID` wrote.")],
    snapshot: Annotated[
        Path | None, typer.Option("--snapshot", metavar="FILE", help="For a run on a snapshot: that snapshot file.")
    ] = None,
    rpc_url: Annotated[
        str | None, typer.Option("--rpc-url", metavar="URL", help="For a run on a node: the node to read from.")
    ] = None,
    block: Annotated[
        str | None,
        typer.Option("--block", metavar="N", help="For a run on a node: its block, if none is recorded."),
    ] = None,
    threads: Annotated[int | None, typer.Option("--threads", help="Kernel threads; no result depends on it.")] = None,
    import_paths: Annotated[
        bool,
        typer.Option("--allow-import-paths", help="Run code of this folder that the bundle names: `my_agents:Saver`."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check every hash of a bundle, run it again from its manifest and compare the digests.

    For a training, every evaluation is repeated with the policy in the bundle; for a scan, every block on the state in
    the bundle. A bundle may name code by an import path, such as `my_agents:Saver`; it is run only with
    --allow-import-paths, and is that of the current folder or of an installed package. Exit code 0 when everything is
    equal, 1 when something differs or the bundle is damaged, 2 when there is no bundle, or none that can be run again.
    """
    from mayavi.cli.position import block_of
    from mayavi.plugins.permission import forbid_import_paths
    from mayavi.runs.bundle import read_bundle
    from mayavi.worlds.source import WorldSource

    if not import_paths:
        forbid_import_paths(ALLOW_HINT)

    def world(kind: str, chain: str | None = None, recorded: int | str | None = None) -> WorldSource:
        chosen = recorded if block is None and kind != "snapshot" else block_of(block)
        return WorldSource.of(kind, chain=chain, snapshot=snapshot, rpc_url=rpc_url, block=chosen)

    read = read_bundle(bundle)
    if read.kind == "training":
        config = read.facts.get("training", {}).get("config", {})
        kind, _, place = str(config.get("source", "replica")).partition(":")
        recorded = int(place) if kind == "replica" and place else config.get("block")
        trained_on = world(kind, recorded=recorded)
        verified = _verify_training(read, trained_on, threads, as_json)
    elif read.kind == "scan":
        verified = _verify_scan(read, as_json)
    else:
        verified = _verify_run(bundle, world, threads, as_json)
    if not verified:
        raise typer.Exit(1)


def _verify_training(bundle: Bundle, world: WorldSource, threads: int | None, as_json: bool) -> bool:
    from mayavi.rl.evaluation.bundle import verify_training

    with in_parts() as say:
        result = verify_training(bundle, world=world, threads=threads, say=say, report=_evaluation_report())
    facts = bundle.facts["training"]
    if as_json:
        print_json(
            {
                "bundle": str(bundle.path),
                "verified": result.verified,
                "kind": bundle.kind,
                "env": facts["env"],
                "seed": str(facts["seed"]),
                **_checks_as_json(result.checks, result.versions),
                "differences": list(result.differences),
            }
        )
        return result.verified
    _print_checks(result.checks, result.versions)
    for each in result.differences:
        print_note(each)
    print(
        "verified: the evaluations gave the same results again"
        if result.verified
        else "NOT verified: an evaluation gave other results"
    )
    return result.verified


def _verify_scan(bundle: Bundle, as_json: bool) -> bool:
    from mayavi.replay.history.scan_bundle import verify_scan

    with counted("executing again", "blocks") as advance:
        result = verify_scan(bundle, advance)
    if as_json:
        facts = bundle.facts["scan"]
        print_json(
            {
                "bundle": str(bundle.path),
                "verified": result.verified,
                "kind": bundle.kind,
                "scan": facts,
                "blocks": result.blocks,
                "transactions": result.transactions,
                **_checks_as_json(result.checks, ()),
                "differences": list(result.differences),
            }
        )
        return result.verified
    _print_checks(result.checks, ())
    for each in result.differences:
        print_note(each)
    done = f"{result.transactions:,} transactions of {result.blocks:,} blocks"
    print(f"verified: {done} gave the same rows again" if result.verified else f"NOT verified: {done} were executed")
    return result.verified


def _verify_run(bundle: Path, world: Any, threads: int | None, as_json: bool) -> bool:
    from mayavi.sim.store.artifact import Outcome, verify_artifact

    def run_again(run: BundledRun) -> Outcome:
        from mayavi.scenarios.loading import load_text
        from mayavi.scenarios.run.request import RunListener, RunRequest, check_threads, versions
        from mayavi.scenarios.run.run import execute
        from mayavi.sim.recorder import MemoryRecorder

        try:
            scenario = load_text(run.scenario_text, origin=f"{bundle}: scenario.yaml")
        except UsageError as error:
            if "unknown kind" not in error.message:
                raise
            package = "install the package that adds this kind of agent; then the bundle can be verified"
            raise type(error)(error.message, f"{package}\n{error.hint}" if error.hint else package) from error
        with activity("opening the world"):
            fork = world(run.source, run.chain, scenario.config.block).open()
        recorder = MemoryRecorder()
        with counted(f"running {run.scenario} again", "steps") as advance:
            request = RunRequest(
                scenario=scenario, seed=run.seed, source=run.source, store=bundle, threads=check_threads(threads)
            )
            execute(request, fork, recorder, RunListener(advance))
        assert recorder.info is not None
        assert recorder.ended is not None
        end = recorder.ended
        return Outcome(end.digest, recorder.info.world_digest, end.final_world_digest, versions(scenario.config))

    result = verify_artifact(bundle, run_again, _run_report())
    if as_json:
        print_json(
            {
                "bundle": str(bundle),
                "verified": result.verified,
                "scenario": result.run.scenario,
                "chain": result.run.chain,
                "seed": str(result.run.seed),
                "digest": result.run.digest,
                **_checks_as_json(result.checks, result.versions),
            }
        )
        return result.verified
    _print_checks(result.checks, result.versions)
    print("verified: the run gave the same rows again" if result.verified else "NOT verified: the run gave other rows")
    return result.verified


def _checks_as_json(checks: Sequence[Check], versions: Sequence[Check]) -> dict[str, Any]:
    return {
        "checks": [
            {"name": each.name, "equal": each.equal, "expected": each.expected, "got": each.got} for each in checks
        ],
        "versions": {each.name: {"bundle": each.expected, "here": each.got} for each in versions},
    }


def _print_checks(checks: Sequence[Check], versions: Sequence[Check]) -> None:
    rows = [(each.name, each.expected, each.got, "yes" if each.equal else "NO") for each in checks]
    print_table(
        [Column("", right=False), Column("bundle", right=False), Column("now", right=False), Column("same")], rows
    )
    for each in versions:
        if not each.equal:
            print_note(f"{each.name} was {each.expected} when the bundle was written and is {each.got} here")

"""`mayavi snapshot warm`: write all state that an environment reads to a file, for offline training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mayavi.cli.console.output import print_facts, print_json, print_note
from mayavi.cli.console.progress import counted, in_parts
from mayavi.cli.position import block_of
from mayavi.cli.rl.eval import settings_of
from mayavi.cli.run import BlockOption, RpcUrlOption
from mayavi.cli.snapshot.prove import proof_object
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.evm.snapshot.proof import SnapshotProof


def warm(
    env: Annotated[str, typer.Option("--env", help="Environment, by name or Gymnasium id.")],
    rollouts: Annotated[int, typer.Option("--rollouts", metavar="N", help="Episodes per strategy and pass.")] = 100,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Output file; by default in data/snapshots.")
    ] = None,
    source: Annotated[
        str, typer.Option("--source", metavar="rpc|replica|snapshot:PATH", help="World to play on.")
    ] = "rpc",
    rpc_url: RpcUrlOption = None,
    block: BlockOption = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the environment; may be repeated."),
    ] = None,
    prove: Annotated[
        bool, typer.Option("--prove", help="Prove the state with eth_getProof and store the proofs in the file.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write all state that an environment reads to a snapshot file, for offline training.

    Plays every action on a fork until nothing new is read. `mayavi train --source snapshot:FILE` then makes no request;
    missing state raises an error with address and slot.
    """
    from mayavi.errors import SetupError
    from mayavi.setup_errors import RL_HINT

    try:
        from mayavi.rl.training.warming import warm as warmed
    except ModuleNotFoundError as error:
        raise SetupError(f"environments need {error.name}, which is not installed", RL_HINT) from None
    from mayavi.worlds.source import WorldSource

    world = WorldSource.named(source, rpc_url=rpc_url, block=block_of(block))
    if prove and world.kind != "rpc":
        raise UsageError(f"a world of source '{source}' has no node that proves it", "use --prove with --source rpc")
    with in_parts() as say:
        current = ""
        advance = say("reading")

        def progress(what: str, done: int, total: int) -> None:
            nonlocal current, advance
            if what != current:
                current, advance = what, say(f"{env}: {what}")
            advance(done, total)

        found = warmed(env, world, output, config=settings_of(overrides or []), rollouts=rollouts, progress=progress)
    proof = prove_written(found.path, world.rpc_url) if prove else None
    if as_json:
        print_json(
            {
                "path": str(found.path),
                "env": found.env,
                "chain_id": found.chain_id,
                "block": found.block,
                "digest": found.digest,
                "strategies": list(found.strategies),
                "rollouts": found.rollouts,
                "passes": found.passes,
                "facts": found.facts,
                "requests": found.requests,
                "file_bytes": found.path.stat().st_size,
                "proof": None if proof is None else proof_object(proof),
            }
        )
        return
    print_facts(
        [
            ("file", f"{found.path}, {found.path.stat().st_size:,} bytes"),
            ("digest", found.digest),
            ("chain", f"{found.chain_id}, block {found.block:,}"),
            ("played", f"{found.rollouts:,} episodes with each of {', '.join(found.strategies)}"),
            ("read", f"{found.facts:,} facts in {found.requests:,} requests; pass {found.passes} read nothing new"),
            *([("proven", f"{proof.accounts:,} accounts and {proof.slots:,} slots")] if proof else []),
        ]
    )
    print_note(f"mayavi train --env {found.env} --source snapshot:{found.path}")


def prove_written(path: Path, rpc_url: str | None) -> SnapshotProof:
    """Prove the snapshot just written and store the proofs in it; `ProofError` names the first value that differs."""
    from mayavi.evm.snapshot.proof import prove_snapshot

    with counted("proving", "accounts and slots") as advance:
        found = prove_snapshot(path, url=rpc_url, progress=advance)
    found.require()
    return found

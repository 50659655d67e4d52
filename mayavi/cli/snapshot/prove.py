"""`mayavi snapshot prove`: prove the contents of a snapshot against the state root of its block."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mayavi.cli.console.output import print_facts, print_json
from mayavi.cli.console.progress import counted
from mayavi.cli.run import RpcUrlOption
from mayavi.errors import UsageError

if TYPE_CHECKING:
    from mayavi.evm.snapshot.proof import SnapshotProof

SHOWN = 20


def prove(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A snapshot of a fork of a node.")],
    rpc_url: RpcUrlOption = None,
    offline: Annotated[bool, typer.Option("--offline", help="Use only the proofs in the file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Prove every account and slot of a snapshot against the state root of its block.

    Proofs in the file are used if it has any, without network. Otherwise, or with --rpc-url, they are fetched with
    `eth_getProof` and stored in the file once they prove it. Exit code 1 if a value differs, with its address and slot.
    """
    from mayavi.evm.snapshot.proof import prove_snapshot

    if path.is_dir() or not path.exists():
        raise UsageError(f"there is no snapshot at '{path}'", "`mayavi snapshot warm` writes one")
    if offline and rpc_url:
        raise UsageError("--offline and --rpc-url exclude each other", "leave one out")
    with counted("proving", "accounts and slots") as advance:
        found = prove_snapshot(path, url=rpc_url, offline=offline, progress=advance)
    print_proof(found, as_json)
    if not found.proven:
        raise typer.Exit(1)


def print_proof(found: SnapshotProof, as_json: bool) -> None:
    """Print the result as facts and differences, or as one JSON object."""
    if as_json:
        print_json(proof_object(found))
        return
    header = found.proof.parsed_header()
    checked = "" if found.proof.header_checked else " (stated by the node: this chain's headers are not Ethereum's)"
    source = f"{found.requests:,} requests to the node" if found.requests else "the file"
    print_facts(
        [
            ("file", str(found.path)),
            ("digest", found.digest),
            ("block", f"{header.number:,}, hash 0x{header.hash.hex()}{checked}"),
            ("state root", "0x" + header.state_root.hex()),
            ("proofs", f"{len(found.proof.nodes):,} trie nodes from {source}"),
            ("compared", f"{found.accounts:,} accounts and {found.slots:,} slots"),
            ("block hashes", f"{found.unproven_block_hashes:,} of earlier blocks are not proven"),
            ("result", "proven" if found.proven else f"{len(found.disproofs):,} values are not proven"),
        ]
    )
    for each in found.disproofs[:SHOWN]:
        print(each)
    if len(found.disproofs) > SHOWN:
        print(f"… {len(found.disproofs) - SHOWN:,} more, `--json` lists them")


def proof_object(found: SnapshotProof) -> dict[str, Any]:
    """JSON object of a result; large integers as text."""
    from mayavi.evm.address import checksum

    header = found.proof.parsed_header()
    return {
        "path": str(found.path),
        "digest": found.digest,
        "chain_id": found.proof.chain_id,
        "block": header.number,
        "block_hash": "0x" + header.hash.hex(),
        "header_checked": found.proof.header_checked,
        "state_root": "0x" + header.state_root.hex(),
        "proven": found.proven,
        "accounts": found.accounts,
        "slots": found.slots,
        "trie_nodes": len(found.proof.nodes),
        "unproven_block_hashes": found.unproven_block_hashes,
        "requests": found.requests,
        "differences": [
            {
                "address": None if each.address is None else checksum(each.address),
                "field": each.field,
                "slot": None if each.slot is None else f"{each.slot:#x}",
                "stated": text(each.stated),
                "proven": text(each.proven),
            }
            for each in found.disproofs
        ],
    }


def text(value: object) -> str:
    """Bytes in hex, everything else as text."""
    return "0x" + value.hex() if isinstance(value, bytes) else str(value)

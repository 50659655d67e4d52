"""Prove the contents of a snapshot against the state root of its block, from a node or from proofs in the file."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from mayavi.errors import ProofError, UnknownName, UsageError
from mayavi.evm.chains import chain
from mayavi.evm.rpc.client import RpcClient
from mayavi.evm.rpc.endpoint import url_from_environment
from mayavi.evm.snapshot.contents import WorldContents
from mayavi.evm.snapshot.file import read_info, read_snapshot, write_snapshot
from mayavi.evm.snapshot.proof_requests import Progress, fetch_proof
from mayavi.evm.snapshot.state_proof import Disproof, StateProof, disproofs, unproven_block_hashes


@dataclass(frozen=True, slots=True)
class SnapshotProof:
    """Result of proving a snapshot."""

    path: Path
    digest: str
    proof: StateProof
    accounts: int
    slots: int
    disproofs: tuple[Disproof, ...]
    unproven_block_hashes: int
    requests: int
    """HTTP requests to a node; 0 if the file had its proofs."""

    @property
    def proven(self) -> bool:
        """Whether every account and slot of the snapshot is proven."""
        return not self.disproofs

    def require(self) -> None:
        """Raise `ProofError` for the first value that is not proven."""
        for each in self.disproofs[:1]:
            raise ProofError(
                f"snapshot '{self.path}' is not proven: {each}",
                "the node gave other values than it proves, or the fork was changed before it was written",
            )


def prove_snapshot(
    path: str | Path,
    *,
    url: str | None = None,
    client: RpcClient | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> SnapshotProof:
    """Prove every account and slot of a snapshot of a fork of a node.

    Proofs in the file are used if there are any and neither `url` nor `client` is given. Otherwise they are fetched
    from the node (default: the environment's) and, if they prove the snapshot, stored in the file. `offline` forbids
    that.
    """
    file = Path(path)
    info = read_info(file)
    state, metadata = read_snapshot(file)
    world = WorldContents.of(state.dump())
    block_hash = _block_hash(file, world, metadata.get("source", {}))
    stored = metadata.get("proof")
    requests = 0
    if stored is not None and url is None and client is None:
        proof = StateProof.of_metadata(stored)
    elif offline:
        raise UsageError(f"snapshot '{file}' has no proofs", "`mayavi snapshot prove FILE --rpc-url URL` fetches them")
    else:
        with nullcontext(client) if client else RpcClient(url or _url(world.chain_id)) as node:
            before = node.requests
            wanted = {address: list(account.slots) for address, account in world.accounts.items()}
            proof = fetch_proof(node, block_hash, wanted, progress=progress)
            requests = node.requests - before
    if proof.hash != block_hash:
        raise ProofError(f"the proof is of block 0x{proof.hash.hex()}, snapshot '{file}' of block 0x{block_hash.hex()}")
    found = tuple(disproofs(world, proof))
    if requests and not found:
        write_snapshot(file, state.dump(), {**metadata, "proof": proof.to_metadata()})
    return SnapshotProof(
        file,
        info.digest,
        proof,
        len(world.accounts),
        sum(len(account.slots) for account in world.accounts.values()),
        found,
        unproven_block_hashes(world, proof),
        requests,
    )


def _url(chain_id: int) -> str:
    try:
        return url_from_environment(chain(chain_id).name)
    except UnknownName:
        return url_from_environment(None)


def _block_hash(file: Path, world: WorldContents, source: dict[str, object]) -> bytes:
    """Hash of the block that a snapshot was read from; `UsageError` if it is of no real block."""
    text = source.get("block_hash")
    if source.get("kind") != "rpc" or not isinstance(text, str):
        kind = source.get("kind", "an unknown source")
        raise UsageError(
            f"snapshot '{file}' is of no block of a real chain: its source is {kind}",
            "only snapshots of `Fork.from_rpc` can be proven",
        )
    if world.closed:
        raise UsageError(f"snapshot '{file}' claims to hold a whole chain, which no proof covers")
    return bytes.fromhex(text[2:])

"""Snapshots are proven by `eth_getProof` answers; a node that lies about one slot is caught."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mayavi.errors import BlockHashMismatch, ProofError, SnapshotCorrupt, UsageError
from mayavi.evm.fork import Fork
from mayavi.evm.snapshot.file import read_info, read_snapshot, write_snapshot
from mayavi.evm.snapshot.proof import prove_snapshot
from tests.evm.rpc.proving_node import ProvingNode, proving_node
from tests.evm.rpc.scripted_node import ALICE, POOL

NOBODY = bytes.fromhex("00000000000000000000000000000000000b0b0b")


@pytest.fixture
def node() -> Iterator[ProvingNode]:
    with proving_node() as running:
        yield running


@pytest.fixture
def fork(node: ProvingNode, tmp_path: Path) -> Iterator[Fork]:
    """Fork that has read two accounts, one that does not exist, and some slots."""
    opened = Fork.from_rpc(node.url, 90, cache_dir=tmp_path / "cache")
    assert (opened.balance(ALICE), opened.balance(NOBODY)) == (5 * 10**18, 0)
    for slot in (0, 1, 2, 299, 5000):
        opened.storage(POOL, slot)
    yield opened
    opened.close()


def test_a_snapshot_carries_its_proofs(node: ProvingNode, fork: Fork, tmp_path: Path) -> None:
    plain, proven = tmp_path / "plain.snapshot", tmp_path / "proven.snapshot"
    assert fork.dump_snapshot(plain) == fork.dump_snapshot(proven, prove=True)
    fork.close()
    node.close()  # from here on without network
    found = prove_snapshot(proven, offline=True)
    assert (found.proven, found.accounts, found.slots, found.requests) == (True, 3, 5, 0)
    assert found.proof.parsed_header().state_root == node.prover.root
    assert Fork.load_snapshot(proven).storage(POOL, 299) == 299_001
    with pytest.raises(UsageError, match="has no proofs"):
        prove_snapshot(plain, offline=True)


def test_proofs_are_fetched_once_and_kept_in_the_file(node: ProvingNode, fork: Fork, tmp_path: Path) -> None:
    file = tmp_path / "later.snapshot"
    digest = fork.dump_snapshot(file)
    done: list[tuple[int, int]] = []
    found = prove_snapshot(file, url=node.url, progress=lambda at, total: done.append((at, total)))
    assert found.proven
    assert found.requests > 0
    assert done[-1] == (8, 8)
    assert read_info(file).digest == digest == found.digest
    assert prove_snapshot(file).requests == 0


@pytest.mark.slow(0.3)
def test_many_slots_are_asked_in_parts(node: ProvingNode, tmp_path: Path) -> None:
    fork = Fork.from_rpc(node.url, 90, cache_dir=tmp_path / "cache")
    for slot in range(300):
        fork.storage(POOL, slot)
    fork.dump_snapshot(tmp_path / "all.snapshot", prove=True)
    fork.close()
    assert node.asked("eth_getProof") == 2
    assert prove_snapshot(tmp_path / "all.snapshot", offline=True).slots == 300


def test_a_slot_that_the_node_read_out_wrongly_is_named(node: ProvingNode, tmp_path: Path) -> None:
    node.storage["0x" + POOL.hex(), 2] += 1  # eth_getStorageAt lies, the trie does not
    fork = Fork.from_rpc(node.url, 90, cache_dir=tmp_path / "cache")
    for slot in range(4):
        fork.storage(POOL, slot)
    with pytest.raises(ProofError, match=r"0x9001\w+, slot 0x2: 0x7d2 is stated, 0x7d1 is proven"):
        fork.dump_snapshot(tmp_path / "lie.snapshot", prove=True)
    fork.close()
    found = prove_snapshot(tmp_path / "lie.snapshot", url=node.url)
    assert [(each.address, each.field, each.slot) for each in found.disproofs] == [(POOL, "slot", 2)]
    assert "proof" not in read_info(tmp_path / "lie.snapshot").metadata


def test_a_proof_that_contradicts_itself_names_the_slot(node: ProvingNode, fork: Fork, tmp_path: Path) -> None:
    honest = node.prover.answer

    def lying(who: str, slots: list[str], at: object) -> dict[str, object]:
        answer = honest(who, slots, at)
        for entry in answer["storageProof"]:
            if int(entry["key"], 16) == 299:
                entry["value"] = "0x1"
        return answer

    node.methods["eth_getProof"] = lying
    with pytest.raises(ProofError, match=r"states 0x1 in 0x9001\w+ slot 0x12b, its proof gives 0x48ff9"):
        fork.dump_snapshot(tmp_path / "lie.snapshot", prove=True)


@pytest.mark.parametrize("part", ["accountProof", "storageProof"])
def test_a_changed_or_missing_node_of_a_proof_is_caught(
    node: ProvingNode, fork: Fork, tmp_path: Path, part: str
) -> None:
    honest = node.prover.answer

    def broken(who: str, slots: list[str], at: object) -> dict[str, object]:
        answer = honest(who, slots, at)
        if part == "accountProof":
            answer[part].pop()
        elif answer[part]:
            nodes = answer[part][-1]["proof"]
            nodes[-1] = nodes[-1][:-1] + ("1" if nodes[-1][-1] != "1" else "2")
        return answer

    node.methods["eth_getProof"] = broken
    with pytest.raises(ProofError, match=r"does not prove its state: state of|gave a malformed proof of 0x"):
        fork.dump_snapshot(tmp_path / "broken.snapshot", prove=True)


@pytest.mark.slow(0.3)
def test_a_node_without_the_method_is_told_apart(node: ProvingNode, fork: Fork, tmp_path: Path) -> None:
    del node.methods["eth_getProof"]
    with pytest.raises(ProofError, match="refuses eth_getProof") as refused:
        fork.dump_snapshot(tmp_path / "none.snapshot", prove=True)
    assert refused.value.hint == "use a node that has eth_getProof, such as Geth, Reth or Nethermind"


def test_writes_of_a_fork_are_not_proven(fork: Fork, tmp_path: Path) -> None:
    fork.set_balance(ALICE, 1)
    fork.mine()
    with pytest.raises(ProofError, match="block, number: 91 is stated, 90 is proven"):
        fork.dump_snapshot(tmp_path / "written.snapshot", prove=True)


def test_a_changed_proof_in_the_file_is_caught(fork: Fork, tmp_path: Path) -> None:
    file = tmp_path / "proven.snapshot"
    fork.dump_snapshot(file, prove=True)
    state, metadata = read_snapshot(file)

    def rewritten(**changes: object) -> Path:
        proof = json.loads(json.dumps(metadata["proof"])) | changes
        write_snapshot(file, state.dump(), {**metadata, "proof": proof})
        return file

    header = metadata["proof"]["header"]
    with pytest.raises(BlockHashMismatch, match="states the hash"):
        prove_snapshot(rewritten(header=header | {"stateRoot": "0x" + "11" * 32}))
    with pytest.raises(SnapshotCorrupt, match="proof of the snapshot is malformed"):
        prove_snapshot(rewritten(nodes="AAAA"))
    with pytest.raises(SnapshotCorrupt, match="proof of the snapshot is malformed"):
        prove_snapshot(rewritten(bytes=-1))


def test_only_snapshots_of_a_real_block_can_be_proven(tmp_path: Path) -> None:
    fork = Fork.empty()
    fork.dump_snapshot(tmp_path / "empty.snapshot")
    with pytest.raises(UsageError, match="is of no block of a real chain: its source is empty"):
        prove_snapshot(tmp_path / "empty.snapshot")
    with pytest.raises(UsageError, match="this fork has no node"):
        fork.dump_snapshot(tmp_path / "again.snapshot", prove=True)

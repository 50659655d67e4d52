"""Snapshots of a real node are proven by its `eth_getProof` and its state root; one changed value is caught."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mayavi.errors import ProofError
from mayavi.evm.address import checksum
from mayavi.evm.fork import Fork
from mayavi.evm.snapshot.proof import prove_snapshot
from tests.evm.assembler import assemble
from tests.node.anvil import Anvil
from tests.node.editing_proxy import Edit, EditingProxy, editing_proxy

pytestmark = pytest.mark.node
RUNTIME = assemble("32 CALLDATALOAD 0 CALLDATALOAD SSTORE STOP")
"""Store the second word of the calldata in the slot that the first names."""
INITCODE = assemble(f"0x{RUNTIME.hex()} 0 MSTORE {len(RUNTIME)} {32 - len(RUNTIME)} RETURN")
SLOTS = {slot: slot * 7 + 1 for slot in range(40)}
NOBODY = "0x00000000000000000000000000000000000b0b0b"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Anvil]:
    running = Anvil.start(tmp_path_factory.mktemp("proofs"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def store(node: Anvil) -> bytes:
    """Contract with 40 slots, of which one was set and cleared."""
    sender = bytes.fromhex(node.rpc("eth_accounts")[0][2:])
    address = node.deploy(INITCODE, sender=sender)
    node.set_balance(address, 12_345)
    for slot, value in (*SLOTS.items(), (99, 5), (99, 0)):
        node.send(address, slot.to_bytes(32, "big") + value.to_bytes(32, "big"), sender=sender)
    return address


@pytest.fixture
def proxy(node: Anvil, store: bytes) -> Iterator[EditingProxy]:
    with editing_proxy(node) as running:
        yield running


def opened(proxy: EditingProxy, store: bytes, folder: Path) -> Fork:
    fork = Fork.from_rpc(proxy.url, "latest", cache_dir=folder)
    for slot in (0, 1, 17, 39, 99):
        fork.storage(store, slot)
    fork.balance(NOBODY)
    return fork


def test_the_nodes_own_proofs_prove_the_snapshot(
    proxy: EditingProxy, node: Anvil, store: bytes, tmp_path: Path, run_mayavi: Any
) -> None:
    fork = opened(proxy, store, tmp_path / "cache")
    fork.dump_snapshot(tmp_path / "proven.snapshot", prove=True)
    fork.close()
    asked = len(proxy.requests)
    assert proxy.asked("eth_getProof") >= 2
    done = run_mayavi("snapshot", "prove", str(tmp_path / "proven.snapshot"), "--offline", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["proven"], report["slots"], report["requests"]) == (True, 5, 0)
    assert report["header_checked"]
    assert report["state_root"] == node.head["stateRoot"]
    assert len(proxy.requests) == asked


def test_an_earlier_block_is_proven_by_its_own_root(
    proxy: EditingProxy, node: Anvil, store: bytes, tmp_path: Path, run_mayavi: Any
) -> None:
    """Slot 39 was written later: at this block the proof says that it is empty."""
    number = node.block_number - 20
    fork = Fork.from_rpc(proxy.url, number, cache_dir=tmp_path / "cache")
    assert (fork.storage(store, 1), fork.storage(store, 39)) == (SLOTS[1], 0)
    fork.dump_snapshot(tmp_path / "earlier.snapshot")
    fork.close()
    done = run_mayavi("snapshot", "prove", str(tmp_path / "earlier.snapshot"), "--rpc-url", node.url, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert (report["proven"], report["block"]) == (True, number)
    assert report["state_root"] != node.head["stateRoot"]
    assert prove_snapshot(tmp_path / "earlier.snapshot", offline=True).proven


def changed_slot(call: dict[str, Any], result: Any) -> Any:
    wanted = call["method"] == "eth_getStorageAt" and int(call["params"][1], 16) == 17
    return f"0x{1:064x}" if wanted else result


def changed_balance(call: dict[str, Any], result: Any) -> Any:
    return hex(12_346) if call["method"] == "eth_getBalance" and int(result, 16) == 12_345 else result


@pytest.mark.parametrize(
    ("lie", "told", "difference"),
    [
        (changed_slot, "slot 0x11: 0x1 is stated, 0x78 is proven", ("slot", "0x11", "1", "120")),
        (changed_balance, "balance: 12,346 is stated, 12,345 is proven", ("balance", None, "12346", "12345")),
    ],
    ids=["slot", "balance"],
)
def test_one_changed_value_is_caught_and_named(
    proxy: EditingProxy,
    store: bytes,
    tmp_path: Path,
    run_mayavi: Any,
    lie: Edit,
    told: str,
    difference: tuple[str | None, ...],
) -> None:
    proxy.edits.append(lie)
    fork = opened(proxy, store, tmp_path / "cache")
    file = tmp_path / "lie.snapshot"
    with pytest.raises(ProofError, match=f"{checksum(store)}, {told}"):
        fork.dump_snapshot(file, prove=True)
    fork.close()
    done = run_mayavi("snapshot", "prove", str(file), "--rpc-url", proxy.url, "--json")
    assert done.returncode == 1
    (found,) = json.loads(done.stdout)["differences"]
    assert found["address"] == checksum(store)
    assert (found["field"], found["slot"], found["stated"], found["proven"]) == difference
    assert not prove_snapshot(file, url=proxy.url).proven


def changed_proof_value(result: Any) -> None:
    result["storageProof"][2]["value"] = hex(int(result["storageProof"][2]["value"], 16) + 1)


def changed_node(result: Any) -> None:
    nodes = result["storageProof"][2]["proof"]
    nodes[-1] = nodes[-1][:-1] + ("1" if nodes[-1][-1] != "1" else "2")


def missing_node(result: Any) -> None:
    del result["storageProof"][2]["proof"][-1]


def changed_account_node(result: Any) -> None:
    nodes = result["accountProof"]
    nodes[-1] = nodes[-1][:-1] + ("1" if nodes[-1][-1] != "1" else "2")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (changed_proof_value, "states 0x79 in {store} slot 0x11, its proof gives 0x78"),
        (changed_node, "does not prove its state: .*{store} slot 0x11"),
        (missing_node, "does not prove its state: .*{store} slot 0x11"),
        (changed_account_node, "does not prove its state: .*account {store}"),
    ],
)
def test_one_changed_proof_is_refused_and_names_the_place(
    proxy: EditingProxy, store: bytes, tmp_path: Path, change: Any, told: str
) -> None:
    def edit(call: dict[str, Any], result: Any) -> Any:
        if call["method"] == "eth_getProof" and bytes.fromhex(call["params"][0][2:]) == store:
            assert int(result["storageProof"][2]["key"], 16) == 17
            change(result)
        return result

    proxy.edits.append(edit)
    fork = opened(proxy, store, tmp_path / "cache")
    with pytest.raises(ProofError, match=told.format(store=checksum(store))) as error:
        fork.dump_snapshot(tmp_path / "lie.snapshot", prove=True)
    fork.close()
    assert "do not trust this node" in str(error.value.hint)

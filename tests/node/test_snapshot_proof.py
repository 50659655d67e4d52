"""A real node's state root proves a snapshot; a proxy that changes one slot is caught.

Hardhat has no `eth_getProof`. The proxy answers it from tries of py-trie, whose root must equal the node's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mayavi.errors import ProofError
from mayavi.evm.fork import Fork
from mayavi.evm.snapshot.proof import prove_snapshot
from tests.evm.assembler import assemble
from tests.evm.rpc.proving_node import Prover
from tests.evm.witness.oracle_state import OracleAccount, OracleState
from tests.node.hardhat import Hardhat
from tests.node.proving_proxy import ProvingProxy

pytestmark = pytest.mark.node
RUNTIME = assemble("32 CALLDATALOAD 0 CALLDATALOAD SSTORE STOP")
"""Store the second word of the calldata in the slot that the first names."""
INITCODE = assemble(f"0x{RUNTIME.hex()} 0 MSTORE {len(RUNTIME)} {32 - len(RUNTIME)} RETURN")
SLOTS = {slot: slot * 7 + 1 for slot in range(40)}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hardhat]:
    """Node of its own: every account on it is known, so that its state trie can be rebuilt."""
    running = Hardhat.start(tmp_path_factory.mktemp("proofs"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def store(node: Hardhat) -> bytes:
    """Contract with 40 slots, of which one was set and cleared."""
    sender = bytes.fromhex(node.rpc("eth_accounts")[0][2:])
    address = node.deploy(INITCODE, sender=sender)
    for slot, value in (*SLOTS.items(), (99, 5), (99, 0)):
        node.send(address, slot.to_bytes(32, "big") + value.to_bytes(32, "big"), sender=sender)
    return address


@pytest.fixture
def proxy(node: Hardhat, store: bytes) -> Iterator[ProvingProxy]:
    state = OracleState()
    for address in [store, *(bytes.fromhex(each[2:]) for each in node.rpc("eth_accounts"))]:
        name = "0x" + address.hex()
        balance, nonce = (int(node.rpc(m, name, "latest"), 16) for m in ("eth_getBalance", "eth_getTransactionCount"))
        code = bytes.fromhex(node.rpc("eth_getCode", name, "latest")[2:])
        state.accounts[address] = OracleAccount(nonce, balance, code, dict(SLOTS) if address == store else {})
    running = ProvingProxy(node, Prover(state))
    yield running
    running.close()


def opened(proxy: ProvingProxy, store: bytes, folder: Path) -> Fork:
    fork = Fork.from_rpc(proxy.url, "latest", cache_dir=folder)
    for slot in (0, 1, 17, 39, 99):
        fork.storage(store, slot)
    fork.balance("0x00000000000000000000000000000000000b0b0b")
    return fork


def test_the_nodes_own_state_root_proves_the_snapshot(
    proxy: ProvingProxy, node: Hardhat, store: bytes, tmp_path: Path, run_mayavi: Any
) -> None:
    assert "0x" + proxy.prover.root.hex() == node.head["stateRoot"]
    fork = opened(proxy, store, tmp_path / "cache")
    fork.dump_snapshot(tmp_path / "proven.snapshot", prove=True)
    fork.close()
    asked = len(proxy.requests)
    done = run_mayavi("snapshot", "prove", str(tmp_path / "proven.snapshot"), "--offline", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["proven"], report["slots"], report["requests"]) == (True, 5, 0)
    assert report["state_root"] == node.head["stateRoot"]
    assert len(proxy.requests) == asked


def test_one_changed_slot_is_caught_and_named(
    proxy: ProvingProxy, store: bytes, tmp_path: Path, run_mayavi: Any
) -> None:
    proxy.lies = {17: 1}
    fork = opened(proxy, store, tmp_path / "cache")
    file = tmp_path / "lie.snapshot"
    with pytest.raises(ProofError, match="slot 0x11: 0x1 is stated, 0x78 is proven"):
        fork.dump_snapshot(file, prove=True)
    fork.close()
    done = run_mayavi("snapshot", "prove", str(file), "--rpc-url", proxy.url, "--json")
    assert done.returncode == 1
    (difference,) = json.loads(done.stdout)["differences"]
    assert (difference["field"], difference["slot"], difference["proven"]) == ("slot", "0x11", "120")
    assert not prove_snapshot(file, url=proxy.url).proven
